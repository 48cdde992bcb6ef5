"""Which search and evidence rows each candidate reads, in buckets of similar length.

A candidate reads only its own rollouts (the paper's C_i). Buckets keep the attention dense with little padding.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.selectors.trace.graphs.batch import GraphBatch
from tracerank.selectors.trace.graphs.nodes import Nodes
from tracerank.selectors.trace.graphs.packed import Longs


@dataclass(frozen=True, slots=True)
class ContextBucket:
    """Candidates whose contexts have about the same length."""

    candidates: Longs
    rows: Longs
    """[candidates, length] into searches followed by evidence nodes; padding repeats row 0."""
    padding: NDArray[np.bool_] | None
    """True where ``rows`` is padding; None: no padding at all."""


def context_buckets(batch: GraphBatch, nodes: Nodes, *, merged_evidence: bool) -> tuple[ContextBucket, ...]:
    """Buckets that cover every candidate with a nonempty context."""
    rows, candidate = _memberships(batch, nodes, merged_evidence)
    order = np.argsort(candidate, kind="stable")
    rows = rows[order]
    lengths = np.bincount(candidate, minlength=batch.candidates)
    begins = np.cumsum(lengths) - lengths
    padded = _padded(lengths)
    buckets = []
    for length in np.unique(padded[lengths > 0]):
        chosen = np.flatnonzero((padded == length) & (lengths > 0))
        place = np.arange(length)
        padding = place >= lengths[chosen, None]
        index = np.where(padding, 0, begins[chosen, None] + place)
        buckets.append(ContextBucket(chosen, np.where(padding, 0, rows[index]), padding if padding.any() else None))
    return tuple(buckets)


def _memberships(batch: GraphBatch, nodes: Nodes, merged_evidence: bool) -> tuple[Longs, Longs]:
    """Pairs of context row and candidate."""
    of_search = batch.rollout_candidate[batch.search_rollout].astype(np.int64)
    of_evidence = of_search[batch.evidence_search]
    node = nodes.row_of_evidence
    if merged_evidence:
        pairs = np.unique(np.stack((batch.evidence_content.astype(np.int64), of_evidence), axis=1), axis=0)
        node, of_evidence = pairs[:, 0], pairs[:, 1]
    return (
        np.concatenate((nodes.row_of_search, node + len(nodes.searches))),
        np.concatenate((of_search, of_evidence)),
    )


def _padded(lengths: Longs) -> Longs:
    """Lengths rounded up: in steps of 4 to 32, then by about an eighth, so that buckets stay few."""
    step = np.where(lengths <= 32, 4, 2 ** np.maximum(np.ceil(np.log2(np.maximum(lengths, 1))) - 3, 2))
    return (np.ceil(lengths / step) * step).astype(np.int64)
