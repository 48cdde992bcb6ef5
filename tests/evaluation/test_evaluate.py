"""Records of every method on every K, and the rows folded from them."""

from collections.abc import Iterable, Iterator

import pytest

from tracerank.evaluation.evaluate import Record, Row, decide_stream, evaluate, fold
from tracerank.methods.base import Decision
from tracerank.methods.voting import MajorityVote
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.rollouts.world import generate_pools


def pool(*answers: str | None, right: str | None = None, name: str = "q", setting: str = "webqa") -> Pool:
    rollouts = [
        Rollout(number, answer, label=None if right is None else float(answer == right), setting=setting)
        for number, answer in enumerate(answers)
    ]
    return Pool.of(Question(name, "?", dataset="tests"), rollouts)


class LastRollout:
    """Takes the last sample, in batches of three."""

    name = "last"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def decide(self, pool: Pool) -> Decision:
        return Decision(pool.question.id, pool.rollouts[-1].answer, pool.rollouts[-1].sample_id)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        waiting: list[Pool] = []
        for pool in pools:
            waiting.append(pool)
            if len(waiting) == 3:
                self.batches.append(3)
                yield from map(self.decide, waiting)
                waiting.clear()
        yield from map(self.decide, waiting)


class Writer:
    """Answers in its own words."""

    name = "writer"

    def decide(self, pool: Pool) -> Decision:
        return Decision(pool.question.id, "Paris", None)


def outcomes(records: Iterable[Record]) -> dict[tuple[str, int], float | None]:
    return {(record.method, record.k): record.correct for record in records}


def test_every_method_is_judged_on_the_first_k_rollouts() -> None:
    records = list(evaluate([MajorityVote(), LastRollout()], [pool("a", "b", "b", "c", right="b")], [1, 2, 3]))
    assert outcomes(records) == {
        ("single", 1): 0.0,
        ("majority", 1): 0.0,
        ("last", 1): 0.0,
        ("oracle", 1): 0.0,
        ("single", 2): 0.0,
        ("majority", 2): 0.0,  # a tie goes to the first
        ("last", 2): 1.0,
        ("oracle", 2): 1.0,
        ("single", 3): 0.0,
        ("majority", 3): 1.0,
        ("last", 3): 1.0,
        ("oracle", 3): 1.0,
    }
    assert records[-1] == Record("q", "tests", "oracle", 3, "b", 1, 1.0, None)


def test_browsing_pools_average_their_samples_for_the_single_rollout() -> None:
    browsing = pool("a", "b", None, "b", right="b", setting=BROWSING)
    assert outcomes(evaluate([], [browsing], [2, 4])) == {
        ("single", 2): 0.5,
        ("oracle", 2): 1.0,
        ("single", 4): 0.5,
        ("oracle", 4): 1.0,
    }


def test_an_empty_pool_counts_as_wrong_and_stays_in_the_denominator() -> None:
    rows = fold(evaluate([MajorityVote()], [pool(None, None, right="a"), pool("a", right="a")], [2]))
    assert [(row.method, row.accuracy, row.questions) for row in rows] == [
        ("single", 0.5, 2),
        ("majority", 0.5, 2),
        ("oracle", 0.5, 2),
    ]


def test_questions_that_nobody_judged_are_counted_apart() -> None:
    unknown = pool("a", None, name="unknown")
    rows = fold(evaluate([MajorityVote()], [unknown, pool("a", right="a")], [1]))
    assert {(row.accuracy, row.questions, row.unjudged) for row in rows} == {(1.0, 1, 1)}


def test_when_nothing_is_judged_there_is_no_accuracy() -> None:
    assert fold(evaluate([], [pool("a")], [1])) == [
        Row("single", 1, None, None, 0, 1),
        Row("oracle", 1, None, None, 0, 1),
    ]


def test_f1_is_folded_where_there_are_references() -> None:
    referenced = Pool.of(Question("q", "?", ("white wine",)), [Rollout(0, "wine")])
    row = fold(evaluate([], [referenced, pool("a", right="a")], [1]))[0]
    assert row.accuracy == 0.5
    assert row.f1 == pytest.approx(2 / 3)


def test_a_newly_written_answer_is_judged_by_its_text() -> None:
    referenced = Pool.of(Question("q", "?", ("Paris",)), [Rollout(0, "Rome")])
    assert outcomes(evaluate([Writer()], [referenced], [1]))["writer", 1] == 1.0


def test_batching_methods_get_the_stream_and_keep_its_order() -> None:
    method = LastRollout()
    pools = [pool(str(number), name=str(number)) for number in range(7)]
    decided = list(decide_stream(method, iter(pools)))
    assert [(given.question.id, decision.answer) for given, decision in decided] == [(str(n), str(n)) for n in range(7)]
    assert method.batches == [3, 3]


def test_pools_are_taken_from_the_stream_as_records_are_asked_for() -> None:
    taken = []

    def stream() -> Iterator[Pool]:
        for number in range(1000):
            taken.append(number)
            yield pool("a", right="a", name=str(number))

    next(evaluate([MajorityVote()], stream(), [1]))
    assert len(taken) < 100


def test_a_world_gives_one_record_per_question_method_and_k() -> None:
    records = list(evaluate([MajorityVote()], generate_pools(70, seed=1, k=4), [2, 4]))
    assert len(records) == 70 * 3 * 2
    by_k = {(row.method, row.k): row.accuracy or 0.0 for row in fold(records)}
    assert by_k["single", 2] == by_k["single", 4]
    assert by_k["oracle", 2] < by_k["oracle", 4]
    assert by_k["majority", 4] <= by_k["oracle", 4]
