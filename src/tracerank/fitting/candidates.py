"""What a fit chooses between: the best vote, the selector that ships, and refits of its evidence table.

A candidate learns from pools, given by index, and decides others. Whatever needs no label is computed once and shared.
"""

from collections.abc import Sequence
from typing import Protocol

from tracerank.errors import TrainingError
from tracerank.evidence.fit import LabelledTable, fit_model, labelled_tables
from tracerank.evidence.selector import EvidenceSelector
from tracerank.methods import EVIDENCE, load_selector
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.base import Decision
from tracerank.votes.fitted_vote import FittedVote
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
    tables = Tables(pools, seed)
    return BestVote(pools), Shipped(pools), Refit(MONOTONE, tables, True), Refit(FREE, tables, False)


def correct(pool: Pool, decision: Decision) -> float:
    """How right the decision on a labelled pool is."""
    return choice(pool, decision.sample_id).correct or 0.0


class BestVote:
    """The vote that is right most often on the training pools."""

    name = VOTE

    def __init__(self, pools: Sequence[Pool]) -> None:
        self._decisions: dict[str, list[Decision]] = {
            vote.name: [vote.decide(pool) for pool in pools] for vote in VOTES
        }
        self._right = {
            name: [correct(pool, decision) for pool, decision in zip(pools, decisions, strict=True)]
            for name, decisions in self._decisions.items()
        }

    def fit(self, train: Sequence[int]) -> FittedVote:
        return FittedVote(max(VOTES, key=lambda vote: sum(self._right[vote.name][index] for index in train)))

    def decide(self, selector: Selector, index: int) -> Decision:
        assert isinstance(selector, FittedVote)
        return self._decisions[selector.vote.name][index]


class Shipped:
    """The shipped selector, which learns nothing."""

    name = SHIPPED

    def __init__(self, pools: Sequence[Pool]) -> None:
        self._selector = load_selector(SHIPPED)
        self._selector.calibrator = None
        self._decisions = self._selector.decide_many(pools)

    def fit(self, train: Sequence[int]) -> Selector:
        return self._selector

    def decide(self, selector: Selector, index: int) -> Decision:
        return self._decisions[index]


class Tables:
    """The evidence tables of pools and of random subsets, computed once."""

    def __init__(self, pools: Sequence[Pool], seed: int) -> None:
        self.pools = pools
        self._made = [labelled_tables(pool, seed=seed) for pool in pools]

    def of(self, indices: Sequence[int]) -> list[LabelledTable]:
        return [table for index in indices for table in self._made[index]]

    def decide(self, selector: EvidenceSelector, index: int) -> Decision:
        """The decision on the whole pool, whose table comes first; a pool of abstentions has none."""
        pool, tables = self.pools[index], self._made[index]
        return selector.decision(pool, pool.unlinked(ANSWERED), tables[0].table) if tables else selector.decide(pool)


class Refit:
    """The evidence model with weights of the user's labels; as shipped where there is nothing to learn from."""

    def __init__(self, name: str, tables: Tables, is_monotone: bool) -> None:
        self.name, self._tables, self._is_monotone = name, tables, is_monotone

    def fit(self, train: Sequence[int]) -> EvidenceSelector:
        try:
            model = fit_model(self._tables.of(train), is_monotone=self._is_monotone)
        except TrainingError:
            shipped = load_selector(SHIPPED)
            assert isinstance(shipped, EvidenceSelector)
            model = shipped.model
        return EvidenceSelector(model, training={"pools": len(train), "is_monotone": self._is_monotone})

    def decide(self, selector: Selector, index: int) -> Decision:
        assert isinstance(selector, EvidenceSelector)
        return self._tables.decide(selector, index)
