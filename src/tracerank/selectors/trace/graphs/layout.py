"""Index arrays by which a model propagates over a batch without listing edges.

Everything here is linear in the occurrences: a group of n occurrences of one content costs n, where its
explicit clique would cost n * (n - 1) edges. Only for graphs whose evidence is not merged.
"""

from dataclasses import dataclass

import numpy as np

from tracerank.selectors.trace.graphs.batch import GraphBatch
from tracerank.selectors.trace.graphs.nodes import Nodes
from tracerank.selectors.trace.graphs.packed import Longs
from tracerank.selectors.trace.graphs.schema import GraphRecipe
from tracerank.selectors.trace.graphs.segments import Floats, Segments, segments_of


@dataclass(frozen=True, slots=True)
class Pairs:
    """Speakers and listeners, row by row; no listener occurs twice."""

    speakers: Longs
    listeners: Longs


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """Which searches have evidence in which slot, when not every search fills every slot exactly once."""

    pairs: Segments
    """Evidence rows by (slot, search)."""
    searches: Longs
    """The search of each pair."""
    slot_begins: Longs
    """Where each slot's pairs begin, with the end appended."""
    evidence_pair: Longs
    """The pair of each evidence row."""


@dataclass(frozen=True, slots=True)
class CrossLayout:
    """Evidence that shares content with other rollouts: content groups, and cells of one rollout in a group."""

    groups: Segments
    """Evidence rows by content."""
    group_content: Longs
    cells: Segments
    """Evidence rows by (content, rollout)."""
    cell_group: Longs
    cell_scale: Floats
    """One over the number of occurrences of the content in other rollouts."""
    targets: Longs
    """Evidence rows that hear from other rollouts."""
    target_cell: Longs


@dataclass(frozen=True, slots=True)
class WithinLayout:
    """Evidence that shares content within its rollout."""

    cells: Segments
    cell_content: Longs
    targets: Longs
    target_cell: Longs
    target_scale: Floats
    """One over the number of fellows."""


@dataclass(frozen=True, slots=True)
class Layout:
    """All index arrays of a batch; rows are those of ``Nodes``."""

    first: Pairs
    """From pools to the first search of each rollout."""
    next: Pairs
    previous: Pairs
    slots: SlotLayout | None
    """None: every search has exactly one evidence row in every slot, in order; messages are reshapes."""
    cross: CrossLayout | None
    within: WithinLayout | None
    documents: Segments | None
    """Evidence rows by document."""


def lay_out(batch: GraphBatch, recipe: GraphRecipe, cells: Segments, nodes: Nodes) -> Layout:
    """The index arrays that the recipe's relations need."""
    rollout = batch.search_rollout
    follows = np.append(False, rollout[1:] == rollout[:-1])[: batch.searches]
    leads = np.append(follows[1:], False)[: batch.searches]
    begins, later, earlier = (np.flatnonzero(flag[nodes.searches]) for flag in (~follows, follows, leads))
    return Layout(
        first=Pairs(batch.rollout_pool[rollout[nodes.searches[begins]]].astype(np.int64), begins),
        next=Pairs(nodes.row_of_search[nodes.searches[later] - 1], later),
        previous=Pairs(nodes.row_of_search[np.minimum(nodes.searches[earlier] + 1, batch.searches - 1)], earlier),
        slots=_slots(batch, nodes, len(recipe.slots)),
        cross=_cross(batch, nodes, cells) if "cross" in recipe.content_links else None,
        within=_within(batch, nodes, cells) if "within" in recipe.content_links else None,
        documents=_documents(batch, nodes) if recipe.documents != "none" else None,
    )


def _slots(batch: GraphBatch, nodes: Nodes, slots: int) -> SlotLayout | None:
    slot = batch.evidence_slot[nodes.evidence]
    search = nodes.row_of_search[batch.evidence_search[nodes.evidence]]
    searches, place = len(nodes.searches), np.arange(len(nodes.evidence))
    if (
        len(place) == searches * slots
        and np.array_equal(slot, place % slots)
        and np.array_equal(search, place // slots)
    ):
        return None
    keys = slot.astype(np.int64) * searches + search
    order = np.argsort(keys, kind="stable")
    pairs = segments_of(order, keys[order])
    pair_keys = keys[order][pairs.offsets]
    evidence_pair = np.empty(len(place), np.int64)
    evidence_pair[order] = pairs.segment
    return SlotLayout(
        pairs, pair_keys % max(searches, 1), np.searchsorted(pair_keys, np.arange(slots + 1) * searches), evidence_pair
    )


def _weighted(nodes: Nodes, keys: Longs, chosen: Longs) -> Segments:
    """The chosen evidence rows by key, each counting for the occurrences it stands for."""
    rows = chosen[np.argsort(keys[chosen], kind="stable")]
    weight = None if nodes.evidence_weight is None else nodes.evidence_weight[rows].astype(np.float32)
    return segments_of(rows, keys[rows], weight)


def _cells_of(nodes: Nodes, cells: Segments, targets: Longs) -> tuple[Segments, Longs]:
    """The cells that hold the targets, as evidence rows, and the cell of each target."""
    cell_of = np.empty(len(cells.rows), np.int64)
    cell_of[cells.rows] = cells.segment
    wanted, target_cell = np.unique(cell_of[nodes.evidence[targets]], return_inverse=True)
    is_wanted = np.zeros(cells.count, dtype=bool)
    is_wanted[wanted] = True
    entries = is_wanted[cells.segment]
    return segments_of(nodes.row_of_evidence[cells.rows[entries]], cells.segment[entries]), target_cell


def _cross(batch: GraphBatch, nodes: Nodes, cells: Segments) -> CrossLayout | None:
    rollouts_of_content = np.bincount(batch.evidence_content[cells.rows[cells.offsets]], minlength=batch.contents)
    content = batch.evidence_content[nodes.evidence].astype(np.int64)
    targets = np.flatnonzero(rollouts_of_content[content] > 1)
    if not len(targets):
        return None
    groups = _weighted(nodes, content, targets)
    group_content = content[groups.rows[groups.offsets]]
    own, target_cell = _cells_of(nodes, cells, targets)
    cell_group = np.searchsorted(group_content, content[own.rows[own.offsets]])
    return CrossLayout(
        groups,
        group_content,
        own,
        cell_group,
        _inverse(groups.weights()[cell_group] - own.weights()),
        targets,
        target_cell,
    )


def _within(batch: GraphBatch, nodes: Nodes, cells: Segments) -> WithinLayout | None:
    sizes = cells.lengths()
    size_of = np.empty(len(cells.rows), np.int64)
    size_of[cells.rows] = sizes[cells.segment]
    targets = np.flatnonzero(size_of[nodes.evidence] > 1)
    if not len(targets):
        return None
    own, target_cell = _cells_of(nodes, cells, targets)
    content = batch.evidence_content[nodes.evidence[own.rows[own.offsets]]].astype(np.int64)
    return WithinLayout(own, content, targets, target_cell, _inverse(size_of[nodes.evidence[targets]] - 1))


def _documents(batch: GraphBatch, nodes: Nodes) -> Segments:
    document = batch.evidence_document[nodes.evidence].astype(np.int64)
    return _weighted(nodes, document, np.arange(len(document)))


def _inverse(counts: Longs | Floats) -> Floats:
    return (1.0 / counts).astype(np.float32)
