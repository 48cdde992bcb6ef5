"""Records of every method on every K, and the rows folded from them."""

from collections.abc import Iterable, Iterator

import pytest

from tests.worlds import generate_pools
from tracerank.endpoints.chat import Usage
from tracerank.evaluation.evaluate import Row, evaluate, fold, mean_sample, oracle
from tracerank.evaluation.records import Record
from tracerank.pools.correctness import Outcome
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.votes.base import Decision
from tracerank.votes.voting import MajorityVote


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
    assert records[-1] == Record("q", "tests", "oracle", 3, "b", 1, 1.0, None, group_correct=1.0)


def test_a_single_rollout_is_the_first_of_browsing_pools_too_and_their_mean_has_a_name_of_its_own() -> None:
    browsing = pool("a", "b", None, "b", right="b", setting=BROWSING)
    assert outcomes(evaluate([], [browsing], [2, 4])) == {
        ("single", 2): 0.0,
        ("mean-single", 2): 0.5,
        ("oracle", 2): 1.0,
        ("single", 4): 0.0,
        ("mean-single", 4): 0.5,
        ("oracle", 4): 1.0,
    }


def test_the_mean_single_rollout_looks_at_all_samples_whatever_k_is() -> None:
    browsing = pool("a", "b", "b", "b", right="b", setting=BROWSING)
    found = outcomes(evaluate([], [browsing], [1, 2, 4]))
    assert [found["mean-single", k] for k in (1, 2, 4)] == [0.75, 0.75, 0.75]


def test_the_mean_single_rollout_of_ranked_pools_is_there_when_it_is_asked_for() -> None:
    ranked = pool("a", "b", "b", "b", right="b")
    assert ("mean-single", 4) not in outcomes(evaluate([], [ranked], [4]))
    assert outcomes(evaluate([], [ranked], [4], has_means=True))["mean-single", 4] == 0.75


def test_a_group_is_right_when_one_of_its_members_is() -> None:
    def grouped(group: tuple[int, ...]) -> Record:
        class Grouping:
            name = "grouping"

            def decide(self, pool: Pool) -> Decision:
                return Decision(pool.question.id, "a", 0, group=group)

        return next(r for r in evaluate([Grouping()], [pool("a", "b", "c", right="b")], [3]) if r.method == "grouping")

    assert (grouped((0, 1)).correct, grouped((0, 1)).group_correct) == (0.0, 1.0)
    assert grouped((0, 2)).group_correct == 0.0
    assert grouped(()).group_correct == 0.0


def test_a_record_says_what_deciding_cost_and_what_was_dropped() -> None:
    class Asking:
        name = "asking"

        def decide(self, pool: Pool) -> Decision:
            return Decision(
                pool.question.id, None, None, dropped={0: "no answer"}, usage=Usage(100, 7, 3), note="forced"
            )

    [record] = [r for r in evaluate([Asking()], [pool(None, right="a")], [1]) if r.method == "asking"]
    assert (record.prompt_tokens, record.completion_tokens, record.calls) == (100, 7, 3)
    assert (record.note, record.dropped) == ("forced", {"no answer": 1})
    assert record.seconds is not None
    assert record.seconds >= 0


def test_random_subsets_are_recorded_apart_and_not_folded_into_the_first_k() -> None:
    pools = [pool("a", "b", "b", "b", right="b", name=str(number)) for number in range(30)]
    records = list(evaluate([MajorityVote()], pools, [1, 4], subsets=3))
    votes = [record for record in records if record.method == "majority" and record.k == 1]
    assert sorted({record.subset for record in votes}) == [0, 1, 2, 3]
    drawn = [record.correct or 0.0 for record in votes if record.subset]
    assert 0.5 < sum(drawn) / len(drawn) < 1
    assert next(row.accuracy for row in fold(records) if row.method == "majority" and row.k == 1) == 0.0


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


def test_a_world_gives_one_record_per_question_method_and_k() -> None:
    records = list(evaluate([MajorityVote()], generate_pools(70, seed=1, k=4), [2, 4]))
    assert len(records) == 70 * 3 * 2
    by_k = {(row.method, row.k): row.accuracy or 0.0 for row in fold(records)}
    assert by_k["single", 2] == by_k["single", 4]
    assert by_k["oracle", 2] < by_k["oracle", 4]
    assert by_k["majority", 4] <= by_k["oracle", 4]


class _Clock:
    """Stands still but for what a method takes."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_of_a_block_is_shared_by_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    monkeypatch.setattr("tracerank.evaluation.evaluate.time", clock)

    class Blocks(LastRollout):
        def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
            waiting = list(pools)
            clock.now += 8.0
            yield from map(self.decide, waiting)

    pools = [pool("x", right="x", name=str(number)) for number in range(4)]
    found = [record.seconds for record in evaluate([Blocks()], pools, [1]) if record.method == "last"]
    assert found == [2.0] * 4


def test_a_method_that_decides_one_by_one_has_each_decisions_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    monkeypatch.setattr("tracerank.evaluation.evaluate.time", clock)
    took = iter((9.0, 1.0, 2.0))

    class Slow:
        name = "slow"

        def decide(self, pool: Pool) -> Decision:
            clock.now += next(took)
            return Decision(pool.question.id, "x", 0, confidence=0.7)

    pools = [pool("x", right="x", name=str(number)) for number in range(3)]
    records = [record for record in evaluate([Slow()], pools, [1]) if record.method == "slow"]
    assert [record.seconds for record in records] == [9.0, 1.0, 2.0]
    assert {record.confidence for record in records} == {0.7}


def test_the_mean_of_samples_is_over_the_judged_ones_with_failed_ones_wrong() -> None:
    mixed = Pool.of(Question("q", "?"), [*pool("a", "b", None, right="a").rollouts, Rollout(3, "c")])
    assert mean_sample(mixed) == Outcome(None, None, 1 / 3, None)


def test_the_oracle_looks_at_every_sample_and_is_unknown_while_an_unjudged_one_may_be_right() -> None:
    assert oracle(pool("a", "b", right="b")) == Outcome("b", 1, 1.0, None)
    assert oracle(pool("a", right="b")) == Outcome(None, None, 0.0, None)
    wrong, right = (Rollout(0, "a", label=label) for label in (0.0, 1.0))
    unjudged = Rollout(1, "b")
    assert oracle(Pool.of(Question("q", "?"), [wrong, unjudged])).correct is None
    assert oracle(Pool.of(Question("q", "?"), [right, unjudged])).correct == 1.0
    wine = Pool.of(Question("q", "?", ("white wine",)), [Rollout(0, "red wine"), Rollout(1, "white wine sauce")])
    assert (oracle(wine).correct, oracle(wine).f1) == (0.0, pytest.approx(0.8))
