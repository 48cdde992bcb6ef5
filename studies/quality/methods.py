"""The methods that are compared: votes, what ships, and every rung of the ladder fitted on given pools."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tracerank as tr
from studies.quality.figures import GENERATOR, STRONGEST
from tracerank.embedding.base import Embedder
from tracerank.fitting.networks import network_rungs
from tracerank.fitting.rungs import feature_rungs
from tracerank.selectors.meaning.selector import MeaningSelector
from tracerank.votes.answer_groups import AnswerGrouping, ContainmentGroups, DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.base import Method
from tracerank.votes.selector import DEFAULT, load_selector
from tracerank.votes.simple import FewestTools, SingleRollout
from tracerank.votes.voting import FORMS, MajorityVote, WithoutAbstentions
from tracerank.votes.weighted_vote import WeightedVote

MAJORITY, ABSTENTIONS_OUT = "majority", "majority without abstentions (a)"
"""The paper's vote, and the same but that abstentions have no vote."""
SHIPPED, SHIPPED_SHORTEST, SHIPPED_BROWSING = "shipped default", "shipped default, --form shortest", "shipped browsing"
PAPER, PLUS = "trace-paper, fitted", "trace-plus, fitted"
COMPARED = (ABSTENTIONS_OUT, STRONGEST, GENERATOR)
"""What the shipped selector is compared with, in this order."""
OVER_ALL = (*((SHIPPED, over) for over in COMPARED), (SHIPPED_SHORTEST, STRONGEST))


@dataclass(frozen=True, slots=True)
class Remembered:
    """A grouping that groups the same answers once: votes in several forms share their groups."""

    grouping: AnswerGrouping
    _made: dict[tuple[str, tuple[str | None, ...]], tuple[int, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.grouping.name

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        key = question, tuple(answers)
        if key not in self._made:
            self._made[key] = self.grouping.groups(question, answers)
        return self._made[key]


def _in_every_form(title: str, grouping: AnswerGrouping) -> dict[str, Method]:
    once = Remembered(grouping)
    return {title if form == "first" else f"{title}, {form}": MajorityVote(once, form) for form in FORMS}


_VOTES: dict[str, Method] = {
    MAJORITY: MajorityVote(ExactGroups()),
    ABSTENTIONS_OUT: MajorityVote(WithoutAbstentions()),
    **_in_every_form("majority, equal answers", DefaultGroups()),
    **_in_every_form("majority, containment clusters", ContainmentGroups()),
    **_in_every_form("majority, same meaning", MeaningGroups()),
    "weighted by confidence": WeightedVote(),
}
VOTES = tuple(_VOTES)


def votes() -> dict[str, Method]:
    """By name, for all rules of labels the same."""
    return dict(_VOTES)


def shipped() -> MeaningSelector:
    selector = load_selector(DEFAULT)
    if not isinstance(selector, MeaningSelector):
        raise TypeError("what ships is no selector by meaning any more: compare it as a method of its own")
    return selector


def unfitted() -> dict[str, Method]:
    """What needs no training here."""
    ours = shipped()
    return {
        "single rollout": SingleRollout(),
        **_VOTES,
        "fewest tools": FewestTools(),
        SHIPPED: ours,
        SHIPPED_SHORTEST: ours.of_form("shortest"),
    }


def fitted(pools: Sequence[tr.Pool], embedder: Embedder, folder: Path) -> dict[str, Method]:
    """Every rung of the ladder, fitted on these pools alone."""
    # Networks are kept under the places of their pools: a folder of other pools would be taken for theirs.
    shutil.rmtree(folder, ignore_errors=True)
    rungs = (*feature_rungs(pools, seed=0), *network_rungs(pools, embedder, 0, folder))
    return {f"{rung.name}, fitted": rung.fit(range(len(pools)), folder / rung.name) for rung in rungs}
