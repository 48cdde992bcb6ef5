"""What a fit chooses between: the best vote, the selector that ships, and refits of its evidence table.

A candidate learns from pools, given by index, and decides others. Whatever needs no label is computed once and shared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tracerank.errors import TrainingError
from tracerank.evidence.fit import LabelledTable, fit_model, labelled_tables
from tracerank.evidence.selector import EvidenceSelector
from tracerank.methods import EVIDENCE
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.base import Decision
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.folders import existing_folder
from tracerank.votes.selector import Selector
from tracerank.votes.voting import ANSWERED, FORMS, MajorityVote

VOTE, SHIPPED, MONOTONE, FREE = "vote", EVIDENCE, "monotone refit", "free refit"
ABOUT = {
    VOTE: "the majority vote, with the equality and the form that are best on the training questions",
    SHIPPED: "the selector that ships, as it is",
    MONOTONE: "its features weighted anew; more votes and more evidence can only help an answer",
    FREE: "its features weighted anew, with any signs",
}
VOTES: tuple[MajorityVote, ...] = (
    MajorityVote(ExactGroups()),
    MajorityVote(),
    *(MajorityVote(DefaultGroups(), form) for form in FORMS),
    MajorityVote(MeaningGroups(), "commonest"),
)
"""The votes among which the best is chosen; the paper's first."""


class Candidate(Protocol):
    """One way to make a selector from labelled pools."""

    @property
    def name(self) -> str: ...

    def fit(self, train: Sequence[int]) -> Selector:
        """The selector that learns from the labels of these pools, and of no others."""
        ...

    def decide(self, selector: Selector, index: int) -> Decision:
        """What a selector of this candidate decides on a pool."""
        ...


def candidates_for(pools: Sequence[Pool], seed: int = 0) -> tuple[Candidate, ...]:
    """From simple to complex."""
    tables = [labelled_tables(pool, seed=seed) for pool in pools]
    learning = {SHIPPED: None, MONOTONE: True, FREE: False}
    return BestVote(pools), *(OnTables(name, pools, tables, learns) for name, learns in learning.items())


def correct(pool: Pool, decision: Decision) -> float:
    """How right the decision on a labelled pool is."""
    return choice(pool, decision.sample_id).correct or 0.0


class BestVote:
    """The vote that is right most often on the training pools."""

    name = VOTE

    def __init__(self, pools: Sequence[Pool]) -> None:
        self._decisions = {vote.name: [vote.decide(pool) for pool in pools] for vote in VOTES}
        self._right = {name: list(map(correct, pools, decided)) for name, decided in self._decisions.items()}

    def fit(self, train: Sequence[int]) -> FittedVote:
        return FittedVote(max(VOTES, key=lambda vote: sum(self._right[vote.name][index] for index in train)))

    def decide(self, selector: Selector, index: int) -> Decision:
        assert isinstance(selector, FittedVote)
        return self._decisions[selector.vote.name][index]


@dataclass(frozen=True, slots=True)
class OnTables:
    """A selector that reads evidence tables, with the weights that ship or with weights of the user's labels."""

    name: str
    pools: Sequence[Pool]
    tables: Sequence[Sequence[LabelledTable]]
    """Of each pool whole, then of random subsets of it; a pool of abstentions has none."""
    is_monotone: bool | None
    """How weights are fitted; None: what ships stays as it is."""

    def fit(self, train: Sequence[int]) -> EvidenceSelector:
        shipped = EvidenceSelector.load(existing_folder(SHIPPED))
        shipped.calibrator = None  # only choices are compared
        if self.is_monotone is None:
            return shipped
        try:
            taught = [table for index in train for table in self.tables[index]]
            model = fit_model(taught, is_monotone=self.is_monotone)
        except TrainingError:  # no pool has right and wrong answers
            model = shipped.model
        return EvidenceSelector(model, training={"pools": len(train), "is_monotone": self.is_monotone})

    def decide(self, selector: Selector, index: int) -> Decision:
        assert isinstance(selector, EvidenceSelector)
        pool, tables = self.pools[index], self.tables[index]
        return selector.decision(pool, pool.unlinked(ANSWERED), tables[0].table) if tables else selector.decide(pool)
