"""Nested cross-validation: no label of a fold reaches what decides it, and only sure gains leave what ships."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.builders import pool
from tracerank.errors import UsageError
from tracerank.fitting.candidates import SHIPPED, Candidate
from tracerank.fitting.nested import FIT, MIN_QUESTIONS, Comparison, NestedValidation, Row
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question
from tracerank.votes.base import Decision

QUESTIONS = 60


def labelled(number: int, *labels: bool) -> Pool:
    """A pool whose rollouts are right or wrong as given."""
    rollouts = pool(*(f"answer {position}" for position in range(len(labels)))).rollouts
    labelled = (replace(one, label=float(label)) for one, label in zip(rollouts, labels, strict=True))
    return Pool(Question(f"q{number}", f"Question number {number}?"), tuple(labelled))


def noisy(seed: int = 0) -> list[Pool]:
    """The first rollout is seldom right; the second and third are right at random, in half of the pools."""
    rng = Random(seed)
    return [labelled(n, rng.random() < 0.1, *(rng.random() < 0.5 for _ in range(2))) for n in range(QUESTIONS)]


def position(name: str, pools: Sequence[Pool], *positions: int) -> Candidate:
    """Chooses the rollout at a position; of several, the one that was right most often in training."""

    def fit(train: Sequence[int]) -> int:
        return max(positions, key=lambda at: sum(pools[index].rollouts[at].label or 0 for index in train))

    return Candidate(name, fit, lambda selector, index: Decision(pools[index].question.id, "", selector))


def memory(pools: Sequence[Pool]) -> Candidate:
    """Knows the right rollout of every pool that it was fitted on, and takes the first of any other."""

    def decide(selector: set[int], index: int) -> Decision:
        labels = [one.label or 0.0 for one in pools[index].rollouts]
        return Decision(pools[index].question.id, "", labels.index(max(labels)) if index in selector else 0)

    return Candidate("memory", set, decide)


def spies(pools: Sequence[Pool]) -> list[Candidate]:
    chosen = {SHIPPED: (0,), "second": (1,), "third": (2,), "learned": (1, 2)}
    return [position(name, pools, *positions) for name, positions in chosen.items()]


def compared(pools: Sequence[Pool], folds: int = 4) -> tuple[NestedValidation, Comparison]:
    validation = NestedValidation(pools, spies(pools), folds)
    return validation, validation.run()


def flipped(pools: Sequence[Pool], indices: Sequence[int]) -> list[Pool]:
    """The same pools with every label of some of them turned round."""
    changed = list(pools)
    for index in indices:
        rollouts = tuple(replace(one, label=1 - (one.label or 0)) for one in pools[index].rollouts)
        changed[index] = replace(pools[index], rollouts=rollouts)
    return changed


@pytest.mark.parametrize("seed", range(3))
def test_the_labels_of_a_fold_change_nothing_about_its_own_decisions(seed: int) -> None:
    pools = noisy(seed)
    validation, before = compared(pools)
    elsewhere = 0
    for fold, (train, held_out) in enumerate(validation.parts):
        _, after = compared(flipped(pools, held_out))
        assert after.picks[fold] == before.picks[fold]
        for name, decisions in before.decisions.items():
            assert [decisions[index] for index in held_out] == [after.decisions[name][index] for index in held_out]
        elsewhere += sum(before.decisions[FIT][index] != after.decisions[FIT][index] for index in train)
    assert elsewhere  # what is picked and fitted does depend on labels, so the above says something


def test_a_memorised_label_is_worth_nothing() -> None:
    pools = noisy()
    found = NestedValidation(pools, [position(SHIPPED, pools, 0), memory(pools)]).run()
    assert found.rows["memory"].gain == 0
    assert (found.winner, found.rows[FIT].gain) == (SHIPPED, 0)


def test_a_sure_gain_is_picked_and_its_figure_is_of_the_outer_folds() -> None:
    rng = Random(1)
    pools = [labelled(n, rng.random() < 0.3, rng.random() < 0.8) for n in range(QUESTIONS)]
    found = NestedValidation(pools, [position(SHIPPED, pools, 0), position("second", pools, 1)]).run()
    assert found.winner == found.final == "second"
    assert set(found.picks) == {"second"}
    right = sum(bool(one.rollouts[1].label) for one in pools) / QUESTIONS
    assert found.rows[FIT].accuracy == found.rows["second"].accuracy == pytest.approx(right)
    assert found.rows[FIT].low > 0


def test_a_gain_that_is_not_sure_keeps_what_ships() -> None:
    pools = [labelled(n, n % 2 == 0, n % 2 == 1 or n < 6) for n in range(QUESTIONS)]
    found = NestedValidation(pools, [position(SHIPPED, pools, 0), position("second", pools, 1)]).run()
    assert found.rows["second"].gain > 0 > found.rows["second"].low
    assert (found.winner, set(found.picks)) == (SHIPPED, {SHIPPED})


def test_a_pick_whose_procedure_is_not_surely_better_keeps_what_ships() -> None:
    rows = {FIT: Row(FIT, 0.55, 0.05, -0.01, 0.1)}
    assert Comparison(rows, ("second", SHIPPED), "second", {}).winner == SHIPPED


def test_pools_of_one_question_share_a_fold_and_a_weight() -> None:
    again = replace(labelled(0, False, True), question=Question("other", "question  NUMBER 0 ?"))
    pools = [*(labelled(n, True, False) for n in range(QUESTIONS)), again]
    validation = NestedValidation(pools, [position(SHIPPED, pools, 0), position("second", pools, 1)])
    assert validation.questions == QUESTIONS
    assert all(((0 in held_out) == (QUESTIONS in held_out)) for _, held_out in validation.parts)
    found = validation.run()
    assert found.rows[SHIPPED].accuracy == pytest.approx((QUESTIONS - 0.5) / QUESTIONS)


def test_too_few_questions_are_refused() -> None:
    pools = [labelled(n, True, False, False) for n in range(MIN_QUESTIONS)]
    assert NestedValidation(pools, spies(pools)).questions == MIN_QUESTIONS
    with pytest.raises(UsageError, match="too few to fit"):
        NestedValidation(pools[1:], spies(pools))
