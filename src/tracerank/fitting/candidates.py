"""What a fit chooses between: the best vote, the selector that ships, and refits of its evidence table.

A candidate learns from pools, given by index, and decides others. Whatever needs no label is computed once and shared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tracerank.errors import TrainingError
from tracerank.evidence.fit import fit_model, labelled_tables
from tracerank.evidence.selector import EvidenceSelector
from tracerank.methods import EVIDENCE
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.base import Decision
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.folders import existing_folder
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to make a selector from labelled pools."""

    name: str
    fit: Callable[[Sequence[int]], Any]
    """The selector that learns from the labels of these pools, and of no others."""
    decide: Callable[[Any, int], Decision]
    """What such a selector decides on a pool."""


def correct(pool: Pool, decision: Decision) -> float:
    """How right the decision on a labelled pool is."""
    return choice(pool, decision.sample_id).correct or 0.0


def candidates_for(pools: Sequence[Pool], seed: int = 0) -> tuple[Candidate, ...]:
    """From simple to complex."""
    tables = [labelled_tables(pool, seed=seed) for pool in pools]
    voted = {vote.name: [vote.decide(pool) for pool in pools] for vote in VOTES}
    right = {name: list(map(correct, pools, decided)) for name, decided in voted.items()}
    shipped = EvidenceSelector.load(existing_folder(SHIPPED))  # without a confidence: only choices are compared

    def best_vote(train: Sequence[int]) -> FittedVote:
        return FittedVote(max(VOTES, key=lambda vote: sum(right[vote.name][index] for index in train)))

    def refitted(is_monotone: bool, train: Sequence[int]) -> EvidenceSelector:
        taught = [table for index in train for table in tables[index]]
        try:
            model = fit_model(taught, is_monotone=is_monotone)
        except TrainingError:  # no pool has right and wrong answers
            model = shipped.model
        return EvidenceSelector(model, training={"pools": len(train), "is_monotone": is_monotone})

    def decided(selector: EvidenceSelector, index: int) -> Decision:
        pool = pools[index]
        if not tables[index]:  # every rollout abstains
            return selector.decide(pool)
        return selector.decision(pool, pool.unlinked(ANSWERED), tables[index][0].table)

    return (
        Candidate(VOTE, best_vote, lambda selector, index: voted[selector.vote.name][index]),
        Candidate(SHIPPED, lambda train: shipped, decided),
        Candidate(MONOTONE, partial(refitted, True), decided),
        Candidate(FREE, partial(refitted, False), decided),
    )
