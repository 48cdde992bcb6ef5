"""Index arrays by which a net propagates over a batch and reads it, without listing edges.

Which occurrences are computed (all, or one for each class that no layer can tell apart), how a relation is a reshape,
a selection or a group sum over them, and which rows each candidate reads, in buckets of similar length.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.trace.graphs.packed import Floats, GraphBatch, Longs, Segments, segments_of
from tracerank.trace.graphs.schema import GraphRecipe

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
