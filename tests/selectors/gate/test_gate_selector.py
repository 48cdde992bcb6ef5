"""The gate between vote and selector: when it opens, which member is returned, and the folder it is kept in."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders import pool
from tracerank.errors import CheckpointError
from tracerank.pools.pool import Pool
from tracerank.selectors.features.model import FeatureModel, LinearScorer
from tracerank.selectors.features.selector import FeatureSelector
from tracerank.selectors.features.table import NAMES
from tracerank.selectors.gate.selector import (
    BY_SELECTOR,
    BY_VOTE,
    SELECTOR_FOLDER,
    CalibratedVote,
    Chance,
    Gate,
    GatedSelector,
    ballot_of,
    sides_of,
)
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups
from tracerank.votes.base import Decision
from tracerank.votes.selector import ABOUT, load_selector
from tracerank.votes.voting import MajorityVote

BY_SCORE = Chance((1.0, 0.0, 0.0, 0.0))
"""Looks at the lead of the scores alone: 0.5 where there is none."""
BY_VOTES = Chance((0.0, 3.0, 0.0, 0.0))


class Scored:
    """A selector that says what it is told to, without groups, as TRACE does."""

    name = "scored"

    def __init__(self, *scores: float) -> None:
        self.scores: Mapping[int, float] = dict(enumerate(scores))

    def decide(self, pool: Pool) -> Decision:
        best = max(self.scores, key=self.scores.__getitem__)
        return Decision(pool.question.id, pool.rollouts[best].answer, best, self.scores)


def gated(*scores: float, threshold: float | None = 0.0, member: str = BY_VOTE, form: str = "first") -> GatedSelector:
    vote = MajorityVote(DefaultGroups(), form)
    return GatedSelector(vote, Scored(*scores), Gate(threshold, member, BY_SCORE, BY_VOTES))


def features() -> FeatureSelector:
    weights = np.array([1.0 if name == "log_votes" else 0.0 for name in NAMES])
    return FeatureSelector(FeatureModel(((LinearScorer(np.zeros(len(NAMES)), np.ones(len(NAMES)), weights), 1.0),)))


def test_the_vote_stands_until_the_expected_gain_passes_the_threshold() -> None:
    asked = pool("Paris", "Paris", "Rome")
    assert gated(0, 0, 1, threshold=0.4).decide(asked).answer == "Rome"
    assert gated(0, 0, 1, threshold=0.5).decide(asked).answer == "Paris"
    assert gated(0, 0, 1, threshold=None).decide(asked).answer == "Paris"


def test_a_decision_says_whether_it_left_the_vote() -> None:
    asked = pool("Paris", "Paris", "Rome")
    assert "leaves the vote: expected gain +46 points" in (gated(0, 0, 1).decide(asked).note or "")
    assert gated(1, 0, 0).decide(asked).note is None


def test_a_choice_below_the_top_score_is_explained_by_the_gate() -> None:
    asked = pool("Paris", "Paris", "Rome")
    kept = gated(0, 0, 1, threshold=0.9).decide(asked)
    assert (kept.sample_id, kept.scores[2]) == (0, 1)
    assert kept.note == (
        "keeps to the vote; the selector prefers rollout 2, expected gain +46 points; the gate asks for more than 90"
    )
    assert (gated(0, 0, 1, threshold=None).decide(asked).note or "").endswith("but here the group is always the vote's")
    other = gated(0, 1, 0).decide(asked)
    assert other.sample_id == 0
    assert other.note == (
        "agrees with the vote, whose rule chooses among the rollouts of one meaning; another scores higher"
    )
    assert gated(0, 1, 0, member=BY_SELECTOR).decide(asked).note is None
    assert next(iter(gated(0, 1, 0).explain_stream([asked])))[1].decision.note == other.note


def test_group_and_member_are_two_decisions() -> None:
    asked = pool("3", "three", "Rome")
    by_vote = gated(1, 0, 0, form="longest").decide(asked)
    by_selector = gated(1, 0, 0, member=BY_SELECTOR, form="longest").decide(asked)
    assert by_vote.group == by_selector.group == (0, 1)
    assert (by_selector.answer, by_vote.answer) == ("3", "three")


def test_where_it_leaves_the_vote_the_votes_rule_still_chooses_the_form() -> None:
    asked = pool("Rome", "Rome", "Rome", "15 May 1990", "May 15, 1990")
    assert gated(0, 0, 0, 1, 0, form="longest").decide(asked).answer == "May 15, 1990"
    assert gated(0, 0, 0, 1, 0, form="longest", member=BY_SELECTOR).decide(asked).answer == "15 May 1990"


def test_another_spelling_of_the_vote_is_no_other_group() -> None:
    asked, vote = pool("3", "three", "Rome"), MajorityVote()
    sides = sides_of(ballot_of(asked), vote, vote.decide(asked), Scored(0, 1, 0).decide(asked))
    assert sides is not None
    assert not sides.differ


def test_an_exact_vote_for_an_abstention_can_be_left() -> None:
    asked = pool("I don't know", "I don't know", "Rome")
    selector = GatedSelector(MajorityVote(ExactGroups()), Scored(0, 0, 1), Gate(0.0, BY_VOTE, BY_SCORE, BY_VOTES))
    assert selector.decide(asked).answer == "Rome"
    assert replace_threshold(selector, None).decide(asked).answer == "I don't know"


def replace_threshold(selector: GatedSelector, threshold: float | None) -> GatedSelector:
    return GatedSelector(selector.vote, selector.selector, replace(selector.gate, threshold=threshold))


@pytest.mark.parametrize("asked", [pool(), pool(None, ""), pool("I don't know", "unknown")], ids=str)
def test_pools_without_an_answer_are_settled_as_the_vote_does(asked: Pool) -> None:
    vote = MajorityVote(DefaultGroups())
    ours = GatedSelector(vote, features(), Gate(0.0, BY_SELECTOR, BY_SCORE, BY_VOTES)).decide(asked)
    assert ours.sample_id == vote.decide(asked).sample_id


def test_confidence_grows_with_the_lead_of_the_votes() -> None:
    vote = CalibratedVote(MajorityVote(DefaultGroups()), BY_VOTES)
    found = [vote.decide(each).confidence or 0 for each in (pool("a", "b"), pool("a", "a", "b"), pool("a", "a", "a"))]
    assert found == sorted(set(found))


def test_a_stream_is_decided_in_order_like_single_pools() -> None:
    pools = [pool("Paris", "Paris", f"Rome {number}") for number in range(70)]
    vote = MajorityVote(DefaultGroups())
    selector = GatedSelector(vote, features(), Gate(0.0, BY_SELECTOR, BY_SCORE, BY_VOTES))
    assert list(selector.iter_decisions(iter(pools))) == [selector.decide(each) for each in pools]


def test_a_saved_gate_decides_the_same(tmp_path: Path) -> None:
    made = GatedSelector(
        MajorityVote(DefaultGroups(), "shortest"), features(), Gate(0.1, BY_SELECTOR, BY_SCORE, BY_VOTES)
    )
    made.save(tmp_path)
    loaded = load_selector(tmp_path)
    assert isinstance(loaded, GatedSelector)
    assert (loaded.gate, loaded.vote.name) == (made.gate, made.vote.name)
    asked = pool("Paris", "Paris", "Rome")
    assert loaded.decide(asked) == made.decide(asked)
    assert load_selector(tmp_path).encoder is None


@pytest.mark.parametrize(("vote", "answer"), [(MajorityVote(), "Rome"), (MajorityVote(ExactGroups()), "unknown")])
def test_a_saved_vote_decides_the_same(vote: MajorityVote, answer: str, tmp_path: Path) -> None:
    made = CalibratedVote(vote, BY_VOTES)
    made.save(tmp_path)
    asked = pool("unknown", "unknown", "Rome")
    assert load_selector(tmp_path).decide(asked) == made.decide(asked)
    assert made.decide(asked).answer == answer
    assert load_selector(tmp_path).encoder is None


@pytest.mark.parametrize(
    "change",
    [
        {"vote": {"equality": "psychic", "form": "first"}},
        {"vote": {"equality": "exact", "form": "loudest"}},
        {"vote": None},
        {"gate": {}},
        {"gate": {"threshold": "NaN", "member": "vote", "group": {"weights": [0] * 4}, "answer": {"weights": [0] * 4}}},
        {"gate": {"threshold": 0, "member": "mine", "group": {"weights": [0] * 4}, "answer": {"weights": [0] * 4}}},
        {"gate": {"threshold": 0, "member": "vote", "group": {"weights": [0]}, "answer": {"weights": [0] * 4}}},
        {"format": "tracerank-gated/99"},
    ],
    ids=str,
)
def test_a_damaged_description_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    GatedSelector(MajorityVote(), features(), Gate(0.1, BY_VOTE, BY_SCORE, BY_VOTES)).save(tmp_path)
    about = json.loads((tmp_path / ABOUT).read_text())
    (tmp_path / ABOUT).write_text(json.dumps({**about, **change}))
    with pytest.raises(CheckpointError, match=ABOUT):
        load_selector(tmp_path)


def test_a_gate_before_a_gate_is_refused(tmp_path: Path) -> None:
    GatedSelector(MajorityVote(), features(), Gate(0.1, BY_VOTE, BY_SCORE, BY_VOTES)).save(tmp_path)
    CalibratedVote(MajorityVote(), BY_VOTES).save(tmp_path / SELECTOR_FOLDER)
    with pytest.raises(CheckpointError, match="not before 'vote'"):
        load_selector(tmp_path)


def test_a_method_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be saved"):
        gated(1, 0).save(tmp_path)
