"""A batch of graphs as tensors: neighbourhoods by relation, what each candidate reads, and where vectors lie.

Edges are never listed. Nodes with the same neighbours share one neighbourhood, and "all with this content but those of
my rollout" is a group's sum less a part's, so that a content that n rollouts saw costs n sums instead of n^2 edges.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tracerank.trace.graph import COLUMNS, TEXTS, Columns, Longs
from tracerank.trace.recipe import GraphRecipe, relations

CONTEXT_CANDIDATES = 128
"""Candidates whose contexts are padded to one length; sorted by length first, so that little is padding."""


@dataclass(frozen=True, slots=True)
class Neighbourhoods:
    """The nonempty neighbourhoods N_r(v) of one relation."""

    nodes: Tensor
    """The neighbourhoods, or the groups that they are cut from, end to end."""
    begins: Tensor
    """Where each begins in ``nodes``."""
    sizes: Tensor
    """[neighbourhoods, 1]"""
    targets: Tensor
    """Nodes v with at least one neighbour, each once."""
    of_target: Tensor | None
    """The neighbourhood of each target; None: each has its own, in order."""
    group: Tensor | None = None
    """Content links: the group that each neighbourhood is cut from …"""
    own_begins: Tensor | None = None
    """… and where the part of it that is left out begins in ``nodes``; it ends where the next one begins."""

    def means(self, states: Tensor) -> Tensor:
        """[neighbourhoods, d]: Mean over u in N_r(v) of h_u."""
        if len(self.nodes) == len(self.begins):
            return take(states, self.nodes)
        sums = functional.embedding_bag(self.nodes, states, self.begins, mode="sum")
        if self.group is not None and self.own_begins is not None:
            own = functional.embedding_bag(self.nodes, states, self.own_begins, mode="sum")
            sums = take(sums, self.group).sub_(own)
        return sums.div_(self.sizes)


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
class Batch:
    """Everything of some graphs that the network needs besides a table of vectors."""

    texts: Mapping[str, Tensor]
    """The rows of each kind's distinct texts in the table."""
    candidates: list[int]
    """How many each pool has."""
    documents: int
    candidate_pool: Tensor
    candidate_answer: Tensor
    vote_features: Tensor
    """[candidates, 2]: log(1 + c) and c / R for c votes of R retained rollouts (Eq. 3)."""
    search_query: Tensor
    """Row of the encoded queries; the row after the last stands for a search without text."""
    search_is_orphan: Tensor
    """[searches, 1]"""
    evidence_content: Tensor
    """Row of the encoded contents, for each evidence node."""
    neighbours: Mapping[str, Neighbourhoods]
    """By the name of the relation."""
    contexts: Sequence[Context]

    @property
    def pools(self) -> int:
        return len(self.candidates)


def collate(graphs: Sequence[Columns], recipe: GraphRecipe) -> Batch:
    """The graphs as one, on torch's current default device; rows keep the pools' order."""
    columns, counts = _joined(graphs)
    candidate_pool, search_pool = (
        np.repeat(np.arange(len(graphs)), counts[each]) for each in ("candidate_answer", "search_rollout")
    )
    votes = columns["candidate_votes"]
    shares = votes / counts["rollout_candidate"][candidate_pool]
    query, content = columns["search_query"], columns["evidence_content"]
    # The node of each occurrence: its own, or that of its content.
    node = content if recipe.merge_evidence else np.arange(len(content))
    return Batch(
        texts={kind: torch.as_tensor(columns[kind]) for kind in TEXTS},
        candidates=counts["candidate_answer"].tolist(),
        documents=len(columns["document"]),
        candidate_pool=torch.as_tensor(candidate_pool),
        candidate_answer=torch.as_tensor(columns["candidate_answer"]),
        vote_features=torch.as_tensor(np.stack((np.log1p(votes), shares), axis=1, dtype=np.float32)),
        search_query=torch.as_tensor(np.where(query < 0, len(columns["query"]), query)),
        search_is_orphan=torch.as_tensor(columns["search_is_orphan"].astype(np.float32)[:, None]),
        evidence_content=torch.as_tensor(np.arange(len(columns["content"])) if recipe.merge_evidence else content),
        neighbours=_neighbourhoods(columns, search_pool, node, recipe),
        contexts=tuple(_contexts(columns, node)),
    )


def _joined(graphs: Sequence[Columns]) -> tuple[dict[str, Longs], dict[str, Longs]]:
    """The columns of all graphs, renumbered to be one graph, and how long each was in each graph."""
    columns, counts = {}, {}
    for name in COLUMNS:
        parts = [graph[name] for graph in graphs]
        columns[name] = np.concatenate([np.zeros(0, np.int64), *parts])
        counts[name] = np.array([len(part) for part in parts], np.int64)
    for name, numbered in COLUMNS.items():
        if numbered is not None:
            before = np.repeat(np.cumsum(counts[numbered]) - counts[numbered], counts[name])
            columns[name] = np.where(columns[name] < 0, columns[name], columns[name] + before)
    return columns, counts


def _neighbourhoods(
    columns: Mapping[str, Longs], search_pool: Longs, node: Longs, recipe: GraphRecipe
) -> dict[str, Neighbourhoods]:
    """The neighbourhoods of every relation of the recipe, from its edges as (sources, targets)."""
    search, rollout = columns["evidence_search"], columns["search_rollout"]
    follows = np.append(False, rollout[1:] == rollout[:-1])[: len(rollout)]
    first, later = np.flatnonzero(~follows), np.flatnonzero(follows)
    edges = {"starts": (search_pool[first], first), "next": (later - 1, later), "previous": (later, later - 1)}
    for number, slot in enumerate(recipe.slots):
        shown = columns["evidence_slot"] == number
        edges |= {slot: (search[shown], node[shown]), f"{slot}_of": (node[shown], search[shown])}
    document = columns["evidence_document"]
    if recipe.documents != "none":
        edges |= {"in_document": (node, document), "holds": (document, node)}
    # Occurrences are in rollout order, so a stable sort by content sorts by content and rollout.
    order = np.argsort(columns["evidence_content"], kind="stable")
    content = columns["evidence_content"][order]
    of_rollout = content * (len(columns["rollout_candidate"]) + 1) + rollout[search[order]]
    same = {
        "same_content_cross": (order, content, of_rollout),
        "same_content_within": (order, of_rollout, np.arange(len(order))),
    }
    names = [relation.name for relation in relations(recipe)]
    return {name: _all_but_own(*same[name]) if name in same else _from_edges(*edges[name]) for name in names}


def _from_edges(source: Longs, target: Longs) -> Neighbourhoods:
    """The neighbourhoods of directed edges; one that is named twice counts once."""
    target, source = _pairs(target, source)
    begins = _begins(target)
    sizes, targets, of_target = _lengths(begins, len(target)), target[begins], None
    if len(begins) == len(target):  # Targets with the same single neighbour share it.
        source, inverse = np.unique(source, return_inverse=True)
        begins, sizes, of_target = np.arange(len(source)), np.ones_like(source), torch.as_tensor(inverse)
    nodes, starts, counts, heads = map(torch.as_tensor, (source, begins, sizes[:, None], targets))
    return Neighbourhoods(nodes, starts, counts, heads, of_target)


def _all_but_own(nodes: Longs, group: Longs, own: Longs) -> Neighbourhoods:
    """The neighbours of a node are its group without its own part of it; rows are sorted by both keys."""
    whole, parts = (np.repeat(each, each) for each in (_lengths(_begins(key), len(key)) for key in (group, own)))
    kept = np.flatnonzero(whole > parts)
    nodes, group, own, sizes = nodes[kept], group[kept], own[kept], (whole - parts)[kept]
    begins, own_begins = _begins(group), _begins(own)
    of_target = np.repeat(np.arange(len(own_begins)), _lengths(own_begins, len(own)))
    of_group = np.searchsorted(begins, own_begins, side="right") - 1
    found = (nodes, begins, sizes[own_begins, None], nodes, of_target, of_group, own_begins)
    return Neighbourhoods(*map(torch.as_tensor, found))


def _pairs(first: Longs, second: Longs) -> tuple[Longs, Longs]:
    """The distinct pairs, in order."""
    base = int(second.max(initial=0)) + 1
    return np.divmod(np.unique(first * base + second), base)


def _begins(keys: Longs) -> Longs:
    """Where runs of equal keys begin."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])


def _lengths(begins: Longs, end: int) -> Longs:
    return np.diff(np.append(begins, end))


def _contexts(columns: Mapping[str, Longs], node: Longs) -> Iterator[Context]:
    """Contexts that cover every candidate with a nonempty one."""
    of_search = columns["rollout_candidate"][columns["search_rollout"]]
    searches = len(of_search)
    candidate = np.concatenate((of_search, of_search[columns["evidence_search"]]))
    candidate, nodes = _pairs(candidate, np.concatenate((np.arange(searches), node + searches)))
    lengths = np.bincount(candidate, minlength=len(columns["candidate_answer"]))
    begins = np.cumsum(lengths) - lengths
    by_length = np.argsort(lengths, kind="stable")[np.count_nonzero(lengths == 0) :]
    for first in range(0, len(by_length), CONTEXT_CANDIDATES):
        chosen = by_length[first : first + CONTEXT_CANDIDATES]
        position = np.arange(lengths[chosen].max())
        is_padding = position >= lengths[chosen, None]
        own = np.where(is_padding, 0, nodes[np.where(is_padding, 0, begins[chosen, None] + position)])
        yield Context(torch.as_tensor(chosen), torch.as_tensor(own), torch.as_tensor(is_padding))
