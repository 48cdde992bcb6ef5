"""Fitting an evidence model on labelled pools."""

from random import Random

import numpy as np
import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tracerank.errors import TrainingError
from tracerank.evidence.fit import fit_model, folds_of, labelled_table, labelled_tables, question_weights
from tracerank.evidence.selector import EvidenceSelector
from tracerank.evidence.table import FEATURES
from tracerank.pools.pool import Pool

CITIES = ("Paris", "Rome", "Oslo", "Bern", "Riga", "Kyiv")


def planted(count: int, seed: int = 0) -> list[Pool]:
    """Pools whose right answer is the one that stands in its own evidence; votes say nothing."""
    rng = Random(seed)
    pools = []
    for number in range(count):
        right, *wrong = rng.sample(CITIES, 4)
        answers = [(right, 1.0), *((city, 0.0) for city in wrong)]
        rng.shuffle(answers)
        rollouts = [
            rollout(city, ranked(f"q{number}", f"City number {number}: {city}." if label else "Nothing."), label=label)
            for city, label in answers
        ]
        pools.append(pool_of(*rollouts, question=f"Which city is number {number}?"))
    return pools


@pytest.mark.parametrize("is_monotone", [True, False])
def test_a_fitted_model_finds_what_votes_cannot_see(is_monotone: bool) -> None:
    tables = [table for each in planted(60) for table in labelled_tables(each)]
    selector = EvidenceSelector(fit_model(tables, is_monotone=is_monotone))
    unseen = planted(40, seed=9)
    right = [each.rollouts[selector.decide(each).sample_id or 0].label for each in unseen]
    assert sum(filter(None, right)) >= 38


def test_votes_and_evidence_never_count_against_an_answer_in_a_monotone_model() -> None:
    # The lonely answer is the right one, so that free signs turn votes round.
    text = "Rome is the capital."
    pools = [
        pool_of(
            *(rollout("Rome", ranked("capital", text), label=0.0) for _ in range(3)),
            rollout("Oslo", ranked("capital", text), label=1.0),
            question=f"What is the capital of {number}?",
        )
        for number in range(10)
    ]
    tables = [table for each in pools for table in labelled_tables(each)]
    against = [
        sum(model.weights[feature.name] * feature.direction < 0 for feature in FEATURES)
        for model in (fit_model(tables, is_monotone=False), fit_model(tables))
    ]
    assert against[0] > 0
    assert against[1] == 0
    assert fit_model(tables).weights["log_votes"] == 0  # held at its bound


def test_pools_without_a_choice_teach_nothing() -> None:
    tables = [table for each in planted(20) for table in labelled_tables(each)]
    alike = labelled_table(pool_of(rollout("a", label=1.0), rollout("b", label=1.0)), [rollout("a", label=1.0)])
    assert alike is not None
    assert fit_model([*tables, alike]) == fit_model(tables)
    with pytest.raises(TrainingError, match="both right and wrong"):
        fit_model([alike])


def test_subsets_of_a_pool_share_one_weight_and_unjudged_pools_are_left_out() -> None:
    tables = labelled_tables(planted(1)[0], budgets=(2, 3, 8))
    assert [len(each.table.rollouts) for each in tables] == [4, 2, 3]
    assert question_weights(tables).tolist() == pytest.approx([1 / 3] * 3)
    assert labelled_table(pool("Paris"), pool("Paris").rollouts) is None
    again = labelled_tables(planted(1)[0], budgets=(2, 3, 8))
    assert all(np.array_equal(one.table.values, other.table.values) for one, other in zip(tables, again, strict=True))


def test_a_pool_is_cut_into_subsets_of_the_sizes_of_users_pools() -> None:
    large = pool_of(*(rollout(CITIES[number % 2], label=number % 2) for number in range(17)))
    assert [each.table.votes.sum() for each in labelled_tables(large)] == [17, 2, 3, 4, 6, 8, 16]
    assert [each.table.votes.sum() for each in labelled_tables(large.first(3))] == [3, 2]


def test_a_meaning_is_right_when_half_of_its_labels_say_so() -> None:
    rollouts = [rollout("Paris", label=1.0), rollout("paris", label=0.0), rollout("Rome", label=0.0)]
    table = labelled_table(pool_of(*rollouts), rollouts)
    assert table is not None
    assert dict(zip(table.table.rollouts, table.right, strict=True)) == {(0, 1): 1.0, (2,): 0.0}


def test_equal_keys_share_a_fold_and_folds_are_of_equal_size() -> None:
    keys = [f"question {number // 3}" for number in range(300)]
    folds = folds_of(keys, 5)
    assert all(folds[index] == folds[index - index % 3] for index in range(300))
    assert np.bincount(folds).tolist() == [60] * 5
