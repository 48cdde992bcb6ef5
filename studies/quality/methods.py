"""The methods that are compared: votes, what ships, and every rung of the ladder fitted on given pools."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import tracerank as tr
from studies.quality.figures import STRONGEST
from tracerank.embedding.base import Embedder
from tracerank.fitting.networks import network_rungs
from tracerank.fitting.rungs import feature_rungs
from tracerank.methods.answer_groups import ContainmentGroups, DefaultGroups, ExactGroups
from tracerank.methods.base import Method
from tracerank.methods.simple import FewestTools, SingleRollout
from tracerank.methods.voting import MajorityVote, WithoutAbstentions
from tracerank.methods.weighted_vote import WeightedVote
from tracerank.selectors.base import DEFAULT, load_selector

MAJORITY, CONTAINMENT = "majority", "majority, containment clusters (a)"
"""The paper's vote, and the "best vote" of the feasibility study: abstentions left out, first form."""
SHIPPED, SHIPPED_BROWSING = "shipped default", "shipped browsing"
PAPER, PLUS = "trace-paper, fitted", "trace-plus, fitted"
OVER_VOTES = ((SHIPPED, CONTAINMENT), (SHIPPED, STRONGEST))

_VOTES: dict[str, Method] = {
    MAJORITY: MajorityVote(ExactGroups()),
    "majority without abstentions": MajorityVote(WithoutAbstentions()),
    "majority, equal answers": MajorityVote(DefaultGroups()),
    "majority, equal answers, shortest": MajorityVote(DefaultGroups(), "shortest"),
    "majority, equal answers, longest": MajorityVote(DefaultGroups(), "longest"),
    CONTAINMENT: MajorityVote(ContainmentGroups(), "first"),
    "majority, containment clusters, shortest": MajorityVote(ContainmentGroups(), "shortest"),
    "majority, containment clusters, longest": MajorityVote(ContainmentGroups(), "longest"),
    "weighted by confidence": WeightedVote(),
}
VOTES = tuple(_VOTES)


def unfitted() -> dict[str, Method]:
    """What needs no training here."""
    return {
        "single rollout": SingleRollout(),
        **_VOTES,
        "fewest tools": FewestTools(),
        SHIPPED: load_selector(DEFAULT),
    }


def fitted(pools: Sequence[tr.Pool], embedder: Embedder, folder: Path) -> dict[str, Method]:
    """Every rung of the ladder, fitted on these pools alone."""
    # Networks are kept under the places of their pools: a folder of other pools would be taken for theirs.
    shutil.rmtree(folder, ignore_errors=True)
    rungs = (*feature_rungs(pools, seed=0), *network_rungs(pools, embedder, 0, folder))
    return {f"{rung.name}, fitted": rung.fit(range(len(pools)), folder / rung.name) for rung in rungs}
