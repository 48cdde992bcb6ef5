"""A batch as tensors: index arrays for propagation and readout, and where the vectors of its texts lie."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracerank.trace.graphs.edges import list_edges
from tracerank.trace.graphs.layout import (
    ContextBucket,
    CrossLayout,
    Layout,
    Nodes,
    Pairs,
    SlotLayout,
    WithinLayout,
    content_cells,
    context_buckets,
    distinct_nodes,
    every_node,
    lay_out,
)
from tracerank.trace.graphs.packed import GraphBatch
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.segments import SegmentTensors

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Vectors:
    """Frozen vectors of a batch's distinct texts: rows of one table, looked up where they are encoded."""

    table: Tensor
    """[rows, width], half or single precision; may be memory-mapped."""
    questions: Tensor
    queries: Tensor
    contents: Tensor
    answers: Tensor


@dataclass(frozen=True, slots=True)
class PairTensors:
    """``Pairs`` as tensors."""

    speakers: Tensor
    listeners: Tensor


@dataclass(frozen=True, slots=True)
class SlotTensors:
    """``SlotLayout`` as tensors."""

    pairs: SegmentTensors
    searches: tuple[Tensor, ...]
    """Per slot: the searches with evidence there."""
    evidence_pair: Tensor


@dataclass(frozen=True, slots=True)
class CrossTensors:
    """``CrossLayout`` as tensors."""

    groups: SegmentTensors
    group_content: Tensor
    cells: SegmentTensors
    cell_group: Tensor
    cell_scale: Tensor
    targets: Tensor
    target_cell: Tensor


@dataclass(frozen=True, slots=True)
class WithinTensors:
    """``WithinLayout`` as tensors."""

    cells: SegmentTensors
    cell_content: Tensor
    targets: Tensor
    target_cell: Tensor
    target_scale: Tensor


@dataclass(frozen=True, slots=True)
class Links:
    """How messages travel in graphs whose evidence is not merged."""

    first: PairTensors
    next: PairTensors
    previous: PairTensors
    slots: SlotTensors | None
    cross: CrossTensors | None
    within: WithinTensors | None
    documents: SegmentTensors | None
    evidence_document: Tensor


@dataclass(frozen=True, slots=True)
class EdgeLinks:
    """How messages travel as explicit edges, for any graph."""

    edges: Mapping[str, tuple[Tensor, Tensor]]


@dataclass(frozen=True, slots=True)
class Bucket:
    """``ContextBucket`` as tensors."""

    candidates: Tensor
    rows: Tensor
    padding: Tensor | None


@dataclass(frozen=True, slots=True)
class GraphTensors:
    """Everything of a batch that the net needs besides vectors."""

    pools: int
    documents: int
    candidate_pool: Tensor
    candidate_answer: Tensor
    vote_features: Tensor
    """[candidates, 2]: log(1 + votes) and the share of votes (Eq. 3)."""
    search_query: Tensor
    """Row of the query table; the row after the last stands for a search without text."""
    search_is_orphan: Tensor
    """[searches, 1]"""
    has_orphans: bool
    evidence_content: Tensor
    """Content row of each evidence row."""
    links: Links | EdgeLinks
    contexts: tuple[Bucket, ...]


def as_tensors(
    batch: GraphBatch, recipe: GraphRecipe, *, sharing_layers: int | None = None, explicit_edges: bool = False
) -> GraphTensors:
    """Index tensors of a batch.

    ``sharing_layers``: for scoring only, compute occurrences that so many layers cannot tell apart once.
    ``explicit_edges``: list every edge; slower, but independent of the layout (and needed for merged evidence).
    """
    lists_edges = explicit_edges or recipe.merge_evidence
    cells = content_cells(batch)
    nodes = every_node(batch)
    if sharing_layers is not None and not lists_edges:
        nodes = distinct_nodes(batch, recipe, cells, sharing_layers)
    if recipe.merge_evidence:
        content = np.arange(batch.contents)
    else:
        content = batch.evidence_content[nodes.evidence].astype(np.int64)
    query = np.where(batch.search_query < 0, batch.queries, batch.search_query)[nodes.searches]
    buckets = context_buckets(batch, nodes, merged_evidence=recipe.merge_evidence)
    return GraphTensors(
        pools=batch.pools,
        documents=batch.documents,
        candidate_pool=_longs(batch.candidate_pool),
        candidate_answer=_longs(batch.candidate_answer),
        vote_features=torch.from_numpy(batch.vote_features()),
        search_query=_longs(query),
        search_is_orphan=torch.from_numpy(batch.search_is_orphan[nodes.searches].astype(np.float32)[:, None]),
        has_orphans=bool(batch.search_is_orphan.any()),
        evidence_content=torch.from_numpy(content),
        links=_edge_links(batch, recipe) if lists_edges else _links(lay_out(batch, recipe, cells, nodes), batch, nodes),
        contexts=tuple(map(_bucket, buckets)),
    )


def on_device(graph: GraphTensors, vectors: Vectors, device: torch.device) -> tuple[GraphTensors, Vectors]:
    """Both as they are for a processor, else copies; a table of vectors may be larger than a card's memory."""
    if device.type == "cpu":
        return graph, vectors
    rows = (vectors.questions, vectors.queries, vectors.contents, vectors.answers)
    asked = vectors.table.index_select(0, torch.cat(rows)).to(device)
    places = torch.split(torch.arange(len(asked), device=device), [len(part) for part in rows])
    return _moved(graph, device), Vectors(asked, *places)


def _moved(value: T, device: torch.device) -> T:
    """The same with all tensors in it on the device."""
    moved: Any = value
    if isinstance(value, Tensor):
        moved = value.to(device)
    elif isinstance(value, tuple):
        moved = tuple(_moved(part, device) for part in value)
    elif isinstance(value, Mapping):
        moved = {name: _moved(part, device) for name, part in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        moved = replace(value, **{field.name: _moved(getattr(value, field.name), device) for field in fields(value)})
    result: T = moved
    return result


def _longs(values: NDArray[np.integer]) -> Tensor:
    return torch.from_numpy(values.astype(np.int64))


def _edge_links(batch: GraphBatch, recipe: GraphRecipe) -> EdgeLinks:
    listed = list_edges(batch, recipe)
    return EdgeLinks({relation.name: (_longs(ends[0]), _longs(ends[1])) for relation, ends in listed.items()})


def _links(layout: Layout, batch: GraphBatch, nodes: Nodes) -> Links:
    has_documents = layout.documents is not None
    return Links(
        first=_pairs(layout.first),
        next=_pairs(layout.next),
        previous=_pairs(layout.previous),
        slots=None if layout.slots is None else _slots(layout.slots),
        cross=None if layout.cross is None else _cross(layout.cross),
        within=None if layout.within is None else _within(layout.within),
        documents=None if layout.documents is None else SegmentTensors.of(layout.documents),
        evidence_document=_longs(batch.evidence_document[nodes.evidence] if has_documents else nodes.evidence[:0]),
    )


def _pairs(pairs: Pairs) -> PairTensors:
    return PairTensors(torch.from_numpy(pairs.speakers), torch.from_numpy(pairs.listeners))


def _slots(slots: SlotLayout) -> SlotTensors:
    return SlotTensors(
        SegmentTensors.of(slots.pairs),
        tuple(torch.from_numpy(part) for part in np.split(slots.searches, slots.slot_begins[1:-1])),
        torch.from_numpy(slots.evidence_pair),
    )


def _cross(cross: CrossLayout) -> CrossTensors:
    return CrossTensors(
        SegmentTensors.of(cross.groups),
        torch.from_numpy(cross.group_content),
        SegmentTensors.of(cross.cells),
        torch.from_numpy(cross.cell_group),
        torch.from_numpy(cross.cell_scale).unsqueeze(1),
        torch.from_numpy(cross.targets),
        torch.from_numpy(cross.target_cell),
    )


def _within(within: WithinLayout) -> WithinTensors:
    return WithinTensors(
        SegmentTensors.of(within.cells),
        torch.from_numpy(within.cell_content),
        torch.from_numpy(within.targets),
        torch.from_numpy(within.target_cell),
        torch.from_numpy(within.target_scale).unsqueeze(1),
    )


def _bucket(bucket: ContextBucket) -> Bucket:
    return Bucket(
        torch.from_numpy(bucket.candidates),
        torch.from_numpy(bucket.rows),
        None if bucket.padding is None else torch.from_numpy(bucket.padding),
    )
