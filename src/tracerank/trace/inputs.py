"""A batch of graphs as tensors: neighbourhoods by relation, what each candidate reads, and where vectors lie.

Edges are never listed. Nodes with the same neighbours share one neighbourhood, and "all with this content but those of
my rollout" is a group's sum less a cell's, so that a content that n rollouts saw costs n sums instead of n^2 edges.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tracerank.trace.graph import GraphBatch, Longs, PoolGraph
from tracerank.trace.recipe import GraphRecipe, Within, relations

Integers = NDArray[np.integer]

CONTEXT_CANDIDATES = 128
"""Candidates whose contexts are padded to one length; sorted by length first, so that little is padding."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Frozen vectors of a batch's distinct texts: rows of one table, looked up where they are encoded."""

    table: Tensor
    """[rows, width], half or single precision; may be memory-mapped."""
    questions: Tensor
    queries: Tensor
    contents: Tensor
    answers: Tensor


def look_up(graphs: Sequence[PoolGraph], rows: Mapping[str, int], table: Tensor) -> Vectors:
    """The vectors of the graphs' texts, given each text's row in a table."""

    def rows_of(texts: Iterable[str]) -> Tensor:
        return torch.from_numpy(np.fromiter((rows[text] for text in texts), np.int64))

    return Vectors(
        table,
        rows_of(graph.texts.question for graph in graphs),
        rows_of(text for graph in graphs for text in graph.texts.queries),
        rows_of(text for graph in graphs for text in graph.texts.contents),
        rows_of(text for graph in graphs for text in graph.texts.answers),
    )


@dataclass(frozen=True, slots=True)
class NodeSets:
    """Sets of nodes, end to end."""

    nodes: Tensor
    begins: Tensor
    """Where each set begins in ``nodes``."""

    @property
    def are_single(self) -> bool:
        return len(self.nodes) == len(self.begins)

    def sums(self, states: Tensor) -> Tensor:
        """[sets, d]: the sum over each set."""
        if self.are_single:
            return take(states, self.nodes)
        return functional.embedding_bag(self.nodes, states, self.begins, mode="sum")


@dataclass(frozen=True, slots=True)
class Neighbourhoods:
    """The nonempty neighbourhoods N_r(v) of one relation."""

    nodes: NodeSets | None
    """None: every node of the source's type is a neighbourhood of its own."""
    sizes: Tensor
    """[neighbourhoods, 1]"""
    targets: Tensor
    """Nodes v with at least one neighbour, each once."""
    of_target: Tensor
    """The neighbourhood of each target."""
    group: Tensor | None = None
    """Content links: the set in ``nodes`` that each neighbourhood is cut from …"""
    own: NodeSets | None = None
    """… and the nodes of that set that are left out."""

    def means(self, states: Tensor) -> Tensor:
        """[neighbourhoods, d]: Mean over u in N_r(v) of h_u."""
        if self.nodes is None:
            return states
        sums = self.nodes.sums(states)
        if self.group is not None and self.own is not None:
            sums = take(sums, self.group) - self.own.sums(states)
        elif self.nodes.are_single:
            return sums
        return sums / self.sizes


def take(states: Tensor, rows: Tensor) -> Tensor:
    """The rows of ``states``; unlike indexing, with a backward pass that is as fast as the forward one."""
    return functional.embedding(rows, states)


@dataclass(frozen=True, slots=True)
class Context:
    """What some candidates read: the states of their own rollouts."""

    candidates: Tensor
    nodes: Tensor
    """[candidates, length] into searches followed by evidence; padding repeats node 0."""
    is_padding: Tensor
    """[candidates, length]"""


@dataclass(frozen=True, slots=True)
class GraphTensors:
    """Everything of a batch that the network needs besides vectors."""

    pools: int
    documents: int
    candidate_pool: Tensor
    candidate_answer: Tensor
    vote_features: Tensor
    """[candidates, 2]: log(1 + votes) and the share of votes (Eq. 3)."""
    search_query: Tensor
    """Row of the encoded queries; the row after the last stands for a search without text."""
    search_is_orphan: Tensor
    """[searches, 1]"""
    evidence_content: Tensor
    """Row of the encoded contents, for each evidence node."""
    neighbours: Mapping[str, Neighbourhoods]
    """By the name of the relation."""
    contexts: tuple[Context, ...]


def as_tensors(batch: GraphBatch, recipe: GraphRecipe) -> GraphTensors:
    """The tensors of a batch, on torch's current default device."""
    query = np.where(batch.search_query < 0, batch.queries, batch.search_query)
    content = np.arange(batch.contents) if recipe.merge_evidence else batch.evidence_content
    return GraphTensors(
        pools=batch.pools,
        documents=batch.documents,
        candidate_pool=_tensor(batch.candidate_pool),
        candidate_answer=_tensor(batch.candidate_answer),
        vote_features=torch.as_tensor(batch.vote_features()),
        search_query=_tensor(query),
        search_is_orphan=torch.as_tensor(batch.search_is_orphan.astype(np.float32)[:, None]),
        evidence_content=_tensor(content),
        neighbours=_neighbourhoods(batch, recipe),
        contexts=tuple(_contexts(batch, recipe)),
    )


def _tensor(values: Integers) -> Tensor:
    return torch.as_tensor(values.astype(np.int64))


def _neighbourhoods(batch: GraphBatch, recipe: GraphRecipe) -> dict[str, Neighbourhoods]:
    node, search = batch.evidence_nodes(recipe), batch.evidence_search
    follows = np.append(False, batch.search_rollout[1:] == batch.search_rollout[:-1])[: batch.searches]
    first, later = np.flatnonzero(~follows), np.flatnonzero(follows)
    edges: dict[str, tuple[Integers, Integers]] = {
        "starts": (batch.rollout_pool[batch.search_rollout[first]], first),
        "next": (later - 1, later),
        "previous": (later, later - 1),
    }
    for number, slot in enumerate(recipe.slots):
        shown = batch.evidence_slot == number
        edges[slot] = search[shown], node[shown]
        edges[f"{slot}_of"] = node[shown], search[shown]
    if recipe.documents != "none":
        edges["in_document"] = node, batch.evidence_document
        edges["holds"] = batch.evidence_document, node
    counts = {
        "query": batch.pools,
        "search": batch.searches,
        "document": batch.documents,
        "evidence": batch.occurrences,
    }
    found = {
        relation.name: _from_edges(*edges[relation.name], counts[relation.source], repeats=recipe.merge_evidence)
        for relation in relations(recipe)
        if relation.name in edges
    }
    if recipe.content_links and not recipe.merge_evidence:
        same = _same_content(batch)
        found |= {f"same_content_{where}": same[where] for where in recipe.content_links}
    return found


def _from_edges(source: Integers, target: Integers, sources: int, *, repeats: bool) -> Neighbourhoods:
    """The neighbourhoods of directed edges; ``repeats``: an edge may be named twice, and counts once."""
    edges: Longs = np.stack((source, target)).astype(np.int64)
    spoken, heard = np.unique(edges, axis=1) if repeats else edges
    order = np.argsort(heard, kind="stable")
    begins = _begins(heard[order])
    if len(begins) < len(heard):
        sizes, of_target = _lengths(begins, len(heard)), np.arange(len(begins))
        nodes: NodeSets | None = NodeSets(_tensor(spoken[order]), _tensor(begins))
        heard = heard[order][begins]
    else:  # Each target has a single neighbour, and targets with the same neighbour share it.
        distinct, of_target = np.unique(spoken, return_inverse=True)
        sizes = np.ones(len(distinct), np.int64)
        nodes = None if len(distinct) == sources else NodeSets(_tensor(distinct), torch.arange(len(distinct)))
    return Neighbourhoods(nodes, torch.as_tensor(sizes).unsqueeze(1), _tensor(heard), _tensor(of_target))


def _same_content(batch: GraphBatch) -> dict[Within, Neighbourhoods]:
    """Occurrences of one content: those in other rollouts, and the others in the same rollout."""
    # Occurrences are in rollout order, so a stable sort by content sorts by content and rollout.
    order = np.argsort(batch.evidence_content, kind="stable")
    content, rollout = batch.evidence_content[order].astype(np.int64), batch.evidence_rollout()[order]
    cell = content * len(batch.rollout_pool) + rollout
    return {
        "cross": _all_but_own(order, content, cell),
        "within": _all_but_own(order, cell, np.arange(len(order))),
    }


def _all_but_own(nodes: Longs, group: Longs, own: Longs) -> Neighbourhoods:
    """Each node's neighbours are its group without its own part of the group; rows are sorted by both keys."""
    group_sizes, own_sizes = _run_sizes(group), _run_sizes(own)
    heard = np.flatnonzero(group_sizes > own_sizes)
    nodes, group, own = nodes[heard], group[heard], own[heard]
    group_begins, own_begins = _begins(group), _begins(own)
    sizes = (group_sizes - own_sizes)[heard][own_begins]
    of_target = np.repeat(np.arange(len(own_begins)), _lengths(own_begins, len(own)))
    rows = _tensor(nodes)
    return Neighbourhoods(
        NodeSets(rows, _tensor(group_begins)),
        _tensor(sizes).unsqueeze(1),
        rows,
        _tensor(of_target),
        group=_tensor(np.searchsorted(group_begins, own_begins, side="right") - 1),
        own=NodeSets(rows, _tensor(own_begins)),
    )


def _begins(keys: Longs) -> Longs:
    """Where runs of equal keys begin."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])


def _lengths(begins: Longs, end: int) -> Longs:
    return np.diff(np.append(begins, end))


def _run_sizes(keys: Longs) -> Longs:
    """For each row, the length of its run of equal keys."""
    lengths = _lengths(_begins(keys), len(keys))
    return np.repeat(lengths, lengths)


def _contexts(batch: GraphBatch, recipe: GraphRecipe) -> Iterator[Context]:
    """Contexts that cover every candidate with a nonempty one."""
    nodes, candidate = _memberships(batch, recipe)
    nodes = nodes[np.argsort(candidate, kind="stable")]
    lengths = np.bincount(candidate, minlength=batch.candidates)
    begins = np.cumsum(lengths) - lengths
    by_length = np.argsort(lengths, kind="stable")[np.count_nonzero(lengths == 0) :]
    for first in range(0, len(by_length), CONTEXT_CANDIDATES):
        chosen = by_length[first : first + CONTEXT_CANDIDATES]
        position = np.arange(lengths[chosen].max())
        is_padding = position >= lengths[chosen, None]
        own = np.where(is_padding, 0, nodes[np.where(is_padding, 0, begins[chosen, None] + position)])
        yield Context(_tensor(chosen), _tensor(own), torch.as_tensor(is_padding))


def _memberships(batch: GraphBatch, recipe: GraphRecipe) -> tuple[Longs, Longs]:
    """Pairs of a context node and the candidate that reads it."""
    of_search = batch.rollout_candidate[batch.search_rollout].astype(np.int64)
    of_evidence, node = of_search[batch.evidence_search], batch.evidence_nodes(recipe)
    if recipe.merge_evidence:
        node, of_evidence = np.unique(np.stack((node, of_evidence)), axis=1)
    return (
        np.concatenate((np.arange(batch.searches), node + batch.searches)),
        np.concatenate((of_search, of_evidence)),
    )
