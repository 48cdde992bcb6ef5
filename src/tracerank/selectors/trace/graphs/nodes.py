"""Which occurrences are computed: all of them, or one for each class that no layer can tell apart.

Rollouts often do the same thing: the same query, the same returns, the same past. Such searches keep equal
states through every layer, so scoring computes one of them and counts it as often as it occurs. Training with
dropout must not: there each occurrence draws its own noise.

Classes are found by colour refinement with 64-bit hashes, as many rounds as messages travel.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.selectors.trace.graphs.batch import GraphBatch
from tracerank.selectors.trace.graphs.packed import Longs
from tracerank.selectors.trace.graphs.schema import GraphRecipe
from tracerank.selectors.trace.graphs.segments import Segments, segments_of

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Computed rows and the occurrences they stand for; rows keep the batch's order."""

    searches: Longs
    """The search of each search row."""
    evidence: Longs
    """The occurrence of each evidence row."""
    row_of_search: Longs
    row_of_evidence: Longs
    evidence_weight: Longs | None
    """How many occurrences each evidence row stands for; None: one each."""


def content_cells(batch: GraphBatch) -> Segments:
    """Occurrences by content and, within it, by rollout."""
    # Occurrences are in rollout order, so a stable sort by content sorts by (content, rollout).
    order = np.argsort(batch.evidence_content, kind="stable")
    rollout = batch.search_rollout[batch.evidence_search[order]].astype(np.int64)
    rollouts = len(batch.rollout_pool)
    return segments_of(order, batch.evidence_content[order].astype(np.int64) * rollouts + rollout)


def every_node(batch: GraphBatch) -> Nodes:
    """One row for every occurrence."""
    searches, evidence = np.arange(batch.searches), np.arange(batch.occurrences)
    return Nodes(searches, evidence, searches, evidence, None)


def distinct_nodes(batch: GraphBatch, recipe: GraphRecipe, cells: Segments, layers: int) -> Nodes:
    """One row for every class of searches that ``layers`` layers cannot tell apart."""
    colour = _search_colours(batch, recipe, cells, rounds=layers + 2)
    _, first, class_of = np.unique(colour, return_index=True, return_inverse=True)
    if len(first) == batch.searches:
        return every_node(batch)
    searches = np.sort(first)
    row_of_class = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    row_of_search = row_of_class[class_of]
    counts = np.bincount(batch.evidence_search, minlength=batch.searches)
    begins = np.cumsum(counts) - counts
    is_kept = np.zeros(batch.searches, dtype=bool)
    is_kept[searches] = True
    evidence = np.flatnonzero(is_kept[batch.evidence_search])
    kept_begins = np.cumsum(counts[searches]) - counts[searches]
    place = np.arange(batch.occurrences) - begins[batch.evidence_search]
    row_of_evidence = kept_begins[row_of_search[batch.evidence_search]] + place
    weight = np.bincount(row_of_evidence, minlength=len(evidence))
    return Nodes(searches, evidence, row_of_search, row_of_evidence, weight)


def _search_colours(batch: GraphBatch, recipe: GraphRecipe, cells: Segments, rounds: int) -> Hashes:
    parent = batch.evidence_search
    pool = batch.rollout_pool[batch.search_rollout]
    repeats = _repeats(cells)
    counts = np.bincount(parent, minlength=batch.searches)
    begins = np.cumsum(counts) - counts
    place = (np.arange(batch.occurrences) - begins[parent]).astype(np.uint64)
    has_evidence = counts > 0
    follows = np.append(False, batch.search_rollout[1:] == batch.search_rollout[:-1])[: batch.searches]
    search = _mix(
        _unsigned(batch.search_query) * _ODD[0] + _unsigned(pool) * _ODD[1] + _unsigned(batch.search_is_orphan)
    )
    evidence = _mix(_unsigned(batch.evidence_content) * _ODD[0] + _unsigned(batch.evidence_slot) * _ODD[1])
    if recipe.documents != "none":
        evidence = _mix(evidence + _unsigned(batch.evidence_document) * _ODD[2])
    for _ in range(rounds):
        shown = np.zeros(batch.searches, np.uint64)
        if len(evidence):
            shown[has_evidence] = np.add.reduceat(_mix(evidence + place * _ODD[3]), begins[has_evidence])
        before = np.zeros(batch.searches, np.uint64)
        before[follows] = search[:-1][follows[1:]]
        heard = search * _ODD[0] + shown * _ODD[1] + before * _ODD[2]
        if recipe.backward_time:
            after = np.zeros(batch.searches, np.uint64)
            after[:-1][follows[1:]] = search[follows]
            heard += after * _ODD[3]
        if len(evidence):
            evidence = _evidence_round(evidence, search[parent], repeats)
        search = _mix(heard)
    return search


def _repeats(cells: Segments) -> Segments:
    """The cells with more than one occurrence."""
    chosen = (cells.lengths() > 1)[cells.segment]
    return segments_of(cells.rows[chosen], cells.segment[chosen])


def _evidence_round(evidence: Hashes, parent: Hashes, repeats: Segments) -> Hashes:
    # What an occurrence hears from its content group depends on the group and on its own rollout's cell only.
    heard = evidence * _ODD[0] + parent * _ODD[1]
    if repeats.count:
        own = _mix(evidence[repeats.rows])
        heard[repeats.rows] += (np.add.reduceat(own, repeats.offsets)[repeats.segment] - own) * _ODD[2]
    return _mix(heard)


_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64)


def _unsigned(values: NDArray[np.int32]) -> Hashes:
    return (values.astype(np.int64) + 2).astype(np.uint64)


def _mix(values: Hashes) -> Hashes:
    """A bijection that spreads every input bit over all output bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
