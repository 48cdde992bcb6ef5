"""Records of every method on every K, and the rows folded from them."""

from collections.abc import Iterable

import pytest

from tests.evaluation.folders import Last, Writer
from tracerank.evaluation.evaluate import evaluate, oracle
from tracerank.evaluation.records import Record
from tracerank.evaluation.scores import Row, fold
from tracerank.pools.correctness import Outcome
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.votes.voting import MajorityVote


def pool(*answers: str | None, right: str | None = None, name: str = "q", setting: str = "webqa") -> Pool:
    rollouts = [
        Rollout(number, answer, label=None if right is None else float(answer == right), setting=setting)
        for number, answer in enumerate(answers)
    ]
    return Pool.of(Question(name, "?", dataset="tests"), rollouts)


def outcomes(records: Iterable[Record]) -> dict[tuple[str, int], float | None]:
    return {(record.method, record.k): record.correct for record in records}


def test_every_method_is_judged_on_the_first_k_rollouts() -> None:
    records = list(evaluate([MajorityVote(), Last()], [pool("a", "b", "b", "c", right="b")], [1, 2, 3]))
    found = outcomes(records)
    assert [found["single", k] for k in (1, 2, 3)] == [0.0, 0.0, 0.0]
    assert [found["majority", k] for k in (1, 2, 3)] == [0.0, 0.0, 1.0]  # a tie goes to the first
    assert [found["trace", k] for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert [found["oracle", k] for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert records[-1] == Record("q", "tests", "oracle", 3, "b", 1, 1.0, None)


@pytest.mark.parametrize(("setting", "has_means", "wanted"), [(BROWSING, False, 0.75), ("webqa", True, 0.75)])
def test_mean_single_is_over_all_samples_whatever_k_is(setting: str, has_means: bool, wanted: float) -> None:
    made = pool("a", "b", "b", "b", right="b", setting=setting)
    found = outcomes(evaluate([], [made], [1, 4], has_means=has_means))
    assert [found["mean-single", k] for k in (1, 4)] == [wanted] * 2
    assert found["single", 4] == found["oracle", 1] == 0.0
    assert ("mean-single", 4) not in outcomes(evaluate([], [pool("a", "b", right="b")], [4]))


def test_empty_pools_count_as_wrong_and_unjudged_ones_apart() -> None:
    made = [pool(None, None, right="a", name="1"), pool("a", right="a", name="2"), pool("a", name="3")]
    rows = fold(evaluate([MajorityVote()], made, [2]))
    wanted = (0.5, None, 2, 1)
    assert rows == [Row(method, 2, *wanted) for method in ("single", "majority", "oracle")]
    assert fold(evaluate([], [pool("a")], [1]))[0] == Row("single", 1, None, None, 0, 1)


def test_references_give_f1_and_judge_what_a_method_wrote() -> None:
    referenced = Pool.of(Question("q", "?", ("x wine",)), [Rollout(0, "wine")])
    rows = {row.method: row for row in fold(evaluate([Writer()], [referenced, pool("a", right="a", name="2")], [1]))}
    assert rows["single"].f1 == pytest.approx(2 / 3)
    exact = Pool.of(Question("q", "?", ("x",)), [Rollout(0, "Rome")])
    assert outcomes(evaluate([Writer()], [exact], [1]))["writer", 1] == 1.0


def test_the_oracle_looks_at_every_sample_and_is_unknown_while_an_unjudged_one_may_be_right() -> None:
    assert oracle(pool("a", "b", right="b")) == Outcome("b", 1, 1.0, None)
    assert oracle(pool("a", right="b")) == Outcome(None, None, 0.0, None)
    for label, known in ((0.0, None), (1.0, 1.0)):
        mixed = Pool.of(Question("q", "?"), [Rollout(0, "a", label=label), Rollout(1, "b")])
        assert oracle(mixed).correct == known
    wine = Pool.of(Question("q", "?", ("white wine",)), [Rollout(0, "red wine"), Rollout(1, "white wine sauce")])
    assert (oracle(wine).correct, oracle(wine).f1) == (0.0, pytest.approx(0.8))
