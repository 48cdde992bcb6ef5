"""The feature selector as a method: deciding, saving, refusing, stacking; fitted on pools with a planted signal."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tracerank.errors import CheckpointError
from tracerank.evidence.fit import FeatureFitPlan, TreePlan, fit_features, labelled_table, labelled_tables
from tracerank.pools.pool import Pool
from tracerank.selectors.features.model import MODEL_FILE, WEIGHTS_FILE, FeatureModel, LinearScorer
from tracerank.selectors.features.selector import NOBODY_ANSWERED, FeatureSelector
from tracerank.selectors.features.table import FEATURES, NAMES
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.voting import MajorityVote

pytest.importorskip("scipy")
CITIES = ("Paris", "Rome", "Oslo", "Bern", "Riga", "Kyiv")


def by(**weights: float) -> FeatureModel:
    """A model that looks at these features alone."""
    given = np.array([weights.get(name, 0.0) for name in NAMES])
    return FeatureModel(((LinearScorer(np.zeros(len(NAMES)), np.ones(len(NAMES)), given), 1.0),))


def planted(count: int, seed: int = 0) -> list[Pool]:
    """Pools whose right answer is the one that stands in its own evidence; votes say nothing."""
    rng = Random(seed)
    pools = []
    for number in range(count):
        right, *wrong = rng.sample(CITIES, 4)
        answers = [(right, 1.0), *((city, 0.0) for city in wrong)]
        rng.shuffle(answers)
        rollouts = [
            rollout(city, ranked(f"q{number}", f"It is {city}." if label else "Nothing."), label=label)
            for city, label in answers
        ]
        pools.append(pool_of(*rollouts, question=f"Which city is number {number}?"))
    return pools


def fitted(**changes: object) -> FeatureModel:
    plan = replace(FeatureFitPlan(folds=2), **changes)
    return fit_features([table for each in planted(60) for table in labelled_tables(each)], plan)


def test_a_model_of_votes_decides_as_the_vote_does() -> None:
    selector, vote = FeatureSelector(by(log_votes=1.0)), MajorityVote(DefaultGroups())
    for each in (pool("Paris", "Rome", "Rome"), pool("a", "b", "c"), pool("3", "three", "Oslo"), pool()):
        ours, theirs = selector.decide(each), vote.decide(each)
        assert (ours.sample_id, ours.group) == (theirs.sample_id, theirs.group)


def test_the_group_is_chosen_before_its_form() -> None:
    # Alone, "Rome" is the shortest; together the forms of Paris have more chance.
    each = pool("Paris, France", "Paris", "Rome")
    decision = FeatureSelector(by(is_shortest=0.5)).decide(each)
    assert (decision.answer, decision.group) == ("Paris", (0, 1))
    assert sum(decision.scores.values()) == pytest.approx(1.0)


def test_every_answered_rollout_is_a_candidate_and_has_a_score() -> None:
    each = pool_of(rollout("Paris"), rollout(None), rollout("I don't know"), rollout("Rome", ranked("x", "y")))
    decision = FeatureSelector(by(log_votes=1.0)).decide(each)
    assert set(decision.scores) == {0, 2, 3}
    assert decision.scores[2] == 0
    assert set(decision.dropped) == {1}


def test_when_everybody_abstains_the_first_is_returned_with_a_note() -> None:
    decision = FeatureSelector(by()).decide(pool("unknown", "I don't know"))
    assert (decision.sample_id, decision.note) == (0, NOBODY_ANSWERED)


@pytest.mark.parametrize("with_trees", [False, True])
def test_a_fitted_model_finds_what_votes_cannot_see(with_trees: bool) -> None:
    if with_trees:
        pytest.importorskip("lightgbm")
    changes = {"linear": None, "trees": TreePlan(rounds=30, least_in_leaf=5)} if with_trees else {}
    selector = FeatureSelector(fitted(**changes))
    unseen = planted(40, seed=9)
    chosen = [selector.decide(each) for each in unseen]
    right = [each.rollouts[made.sample_id or 0].label for each, made in zip(unseen, chosen, strict=True)]
    assert sum(filter(None, right)) >= 38
    assert all(made.confidence is not None and made.confidence > 0.7 for made in chosen)


def test_a_family_that_is_left_out_has_no_weight_anywhere() -> None:
    model = fitted(dropped_families=("support", "cross_support"))
    places = [place for place, feature in enumerate(FEATURES) if feature.family in ("support", "cross_support")]
    assert model.calibration is not None
    assert not np.any(model.scorers[0][0].arrays()["weights"][places])
    assert not np.any(model.calibration.weights[places])


def test_a_saved_selector_decides_the_same(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    selector = FeatureSelector(fitted(trees=TreePlan(rounds=10, least_in_leaf=5)))
    selector.save(tmp_path)
    loaded = FeatureSelector.load(tmp_path)
    unseen = planted(10, seed=2)
    assert list(loaded.iter_decisions(unseen)) == selector.decide_many(unseen)
    assert loaded.model.training == selector.model.training


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": "other"}, "format is 'other'"),
        ({"features": 0}, "fit again"),
        ({"names": ["votes"]}, "fit again"),
        ({"names": 3}, "no list"),
        ({"equality": "semantic"}, "equality"),
        ({"scorers": []}, "no scorer"),
        ({"scorers": [{"kind": "oracle", "weight": 1}]}, "unknown"),
        ({"scorers": [{"kind": "linear", "weight": -1}]}, "weight"),
        ({"scorers": [{"kind": "trees", "weight": 1}]}, "do not fit"),
        ({"is_calibrated": True}, "do not fit"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    FeatureSelector(by(log_votes=1.0)).save(tmp_path)
    about = json.loads((tmp_path / MODEL_FILE).read_text())
    (tmp_path / MODEL_FILE).write_text(json.dumps(about | change))
    with pytest.raises(CheckpointError, match=complaint):
        FeatureSelector.load(tmp_path)


def test_missing_and_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no feature selector here"):
        FeatureSelector.load(tmp_path)
    FeatureSelector(by(log_votes=1.0)).save(tmp_path)
    (tmp_path / WEIGHTS_FILE).write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match="damaged"):
        FeatureSelector.load(tmp_path)
    (tmp_path / WEIGHTS_FILE).unlink()
    with pytest.raises(CheckpointError, match="missing"):
        FeatureSelector.load(tmp_path)
    (tmp_path / MODEL_FILE).write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        FeatureSelector.load(tmp_path)


def test_subsets_of_a_pool_share_one_weight_and_unjudged_pools_are_left_out() -> None:
    sizes = [len(each.table.rollouts) for each in labelled_tables(planted(1)[0], budgets=(2, 3, 8))]
    assert sizes == [4, 2, 3]
    assert labelled_table(pool("Paris"), pool("Paris").rollouts) is None
