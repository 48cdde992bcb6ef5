"""What methods choose on subsets, judged; ``studies/quality/figures.py``."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from studies.quality.figures import DRAWS, GENERATOR, STRONGEST, Settled, View, agent_of, cut, groups_of, verdicts
from tracerank.evaluation.labels import CONTAINS, EM
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.base import Decision

FIRST, LAST = 0, -1


class Place:
    """Chooses by place and counts how often it is asked."""

    def __init__(self, place: int) -> None:
        self.name, self.place, self.asked = f"place {place}", place, 0

    def decide(self, pool: Pool) -> Decision:
        self.asked += 1
        chosen = pool.rollouts[self.place]
        return Decision(pool.question.id, chosen.answer, chosen.sample_id)


class Abstaining:
    """Chooses nobody."""

    name = "nobody"

    def decide(self, pool: Pool) -> Decision:
        return Decision(pool.question.id, None, None)


def answered(number: int, reference: str, *answers: str, files: Sequence[str] = ()) -> Pool:
    sources = [f"folder/{file}.jsonl.gz:1" for file in files] or [None] * len(answers)
    rollouts = [
        Rollout(place, answer, source=source)
        for place, (answer, source) in enumerate(zip(answers, sources, strict=True))
    ]
    return Pool.of(Question(str(number), f"Which city is number {number}?", (reference,)), rollouts)


def view_of(pools: Sequence[Pool], methods: dict[str, object], rule: str = EM, k: int = 2) -> View:
    settled = Settled(pools, (k,), methods)  # type: ignore[arg-type]
    return View(settled, rule, np.ones(len(pools), np.bool_), tuple(methods))


def test_a_group_is_right_when_any_equal_answer_is() -> None:
    pool = answered(1, "Paris", "Paris, France", "Paris", "Rome")
    found = verdicts(pool, groups_of(pool), EM)
    assert found.tolist() == [[0, 1], [1, 1], [0, 0]]


def test_one_decision_is_judged_by_every_rule() -> None:
    pools = [answered(n, "Paris", "Paris, France", "Rome", "Oslo") for n in range(3)]
    first = Place(FIRST)
    settled = Settled(pools, (2,), {"first": first})
    exact, lenient = settled.outcomes("first", 2, EM), settled.outcomes("first", 2, CONTAINS)
    assert first.asked == 3 * DRAWS
    assert exact[:, 0].sum() == 0
    right = [np.mean([cut(p, 2, d).rollouts[0].answer == "Paris, France" for d in range(DRAWS)]) for p in pools]
    assert lenient[:, 0] == pytest.approx(right)


def test_whoever_chooses_nobody_is_wrong_and_the_oracle_is_right() -> None:
    view = view_of([answered(1, "Paris", "Paris", "Rome")], {"nobody": Abstaining()})
    assert view.of("nobody", 2).tolist() == [[0, 0]]
    assert view.oracle(2).tolist() == [[1, 1]]


def test_only_the_questions_of_a_view_count() -> None:
    pools = [answered(1, "Paris", "Paris", "Paris"), answered(2, "Paris", "Rome", "Rome")]
    view = view_of(pools, {"first": Place(FIRST)})
    right = replace(view, where=np.array([True, False]))
    assert (len(view), len(right)) == (2, 1)
    assert right.of("first", 2).tolist() == [[1, 1]]


def test_the_strongest_vote_is_the_best_of_its_column() -> None:
    pools = [answered(n, "Paris", *answers) for n, answers in enumerate([("Paris", "Rome")] * 5)]
    view = view_of(pools, {"first": Place(FIRST), "last": Place(LAST), "nobody": Abstaining()})
    means = [view.of(name, 2).mean(axis=0) for name in ("first", "last")]
    assert view.of(STRONGEST, 2).mean(axis=0).tolist() == np.max(means, axis=0).tolist()


def test_the_best_generator_is_right_most_often_and_judged_where_it_answered() -> None:
    pools = [
        answered(1, "Paris", "Paris", "Rome", files=("nq_strong", "nq_weak")),
        answered(2, "Paris", "Paris", "Paris", files=("nq_strong", "nq_weak")),
        answered(3, "Paris", "Rome", "Oslo", files=("nq_strong", "nq_weak")),
        answered(4, "Paris", "Paris", "Rome", files=("nq_rare", "nq_weak")),
    ]
    best = view_of(pools, {}).best_generator()
    assert best is not None
    assert best.name == "strong"  # the rare one is always right, but on one question
    assert best.figures[:, 0].tolist() == [1, 1, 0]
    assert best.answered.tolist() == [0, 1, 2]


def test_a_gain_over_the_best_generator_is_where_it_answered() -> None:
    pools = [
        answered(1, "Paris", "Rome", "Rome", files=("nq_rare", "nq_weak")),
        answered(2, "Paris", "Paris", "Paris", files=("nq_strong", "nq_weak")),
        answered(3, "Paris", "Paris", "Rome", files=("nq_strong", "nq_weak")),
    ]
    found = view_of(pools, {"nobody": Abstaining()}).differences("nobody", GENERATOR, 2)
    assert found is not None
    assert found[:, 0].tolist() == [-1, -1]


def test_there_is_no_gain_over_the_best_of_one_generator() -> None:
    view = view_of([answered(1, "Paris", "Paris", "Rome")], {"first": Place(FIRST)})
    assert view.differences("first", GENERATOR, 2) is None


def test_rollouts_without_a_file_are_one_generators() -> None:
    assert view_of([answered(1, "Paris", "Paris", "Rome")], {}).best_generator() is None


@pytest.mark.parametrize(
    ("source", "agent"),
    [
        ("a/fireact/hotpotqa_llama2_7b.json.gz:[12]", "llama2_7b"),
        ("a/hotpot_agent/eval_live_bge_v3.json.gz:per_item[0]", "eval_live_bge_v3"),
        ("b/exp2_qwen2.5_32b_n500.json.gz:3", "exp2_qwen2.5_32b_n500"),
        (None, ""),
    ],
)
def test_the_file_tells_the_agent_without_the_questions(source: str | None, agent: str) -> None:
    assert agent_of(Rollout(0, "Paris", source=source)) == agent
