"""How the attention of every candidate answer is spread over its own searches and evidence (Eq. 7).

Weights are means over the attention heads. They show where an answer looked, not what would have changed the score.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from tracerank.pools.types import Rollout
from tracerank.trace.graph import Floats, PoolGraph, collate
from tracerank.trace.inputs import GraphTensors, Vectors, as_tensors
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import GraphRecipe
from tracerank.votes.explanation import ReadWeights


def read_weights(net: TraceNet, graphs: Sequence[PoolGraph], vectors: Vectors) -> list[dict[int, ReadWeights] | None]:
    """For each graph, the weights of its rollouts by sample id; None if the net reads without attention."""
    if net.attention is None:
        return [None] * len(graphs)
    batch = collate([graph.packed for graph in graphs])
    if batch.candidates == 0:
        return [{} for _ in graphs]
    with torch.inference_mode():
        shares = _shares(net, as_tensors(batch, net.recipe), vectors)
    offsets = batch.candidate_offsets()
    return [
        _by_rollout(graph, net.recipe, shares[begin:end])
        for graph, begin, end in zip(graphs, offsets[:-1], offsets[1:], strict=True)
    ]


def _shares(net: TraceNet, graph: GraphTensors, vectors: Vectors) -> list[Floats]:
    """For each candidate, its weights on its searches followed by those on its evidence."""
    assert net.attention is not None
    answers, states = net.encode(graph, vectors)
    states = net.propagate(states, graph)
    if net.graph_readout is not None:
        answers = net.graph_readout(answers, states, graph.contexts)
    shares: list[Floats] = [np.zeros(0, np.float32)] * len(answers)
    for context, _, weights in net.attention.weights(answers, states, graph.contexts):
        for candidate, mean, is_padding in zip(
            context.candidates.tolist(), weights.mean(1), context.is_padding, strict=True
        ):
            shares[candidate] = mean[~is_padding].numpy()
    return shares


def _by_rollout(graph: PoolGraph, recipe: GraphRecipe, shares: Sequence[Floats]) -> dict[int, ReadWeights]:
    """Shares given back to the searches and evidence that they belong to."""
    members: list[list[Rollout]] = [[] for _ in shares]
    for rollout, candidate in zip(graph.retained.kept, graph.rollout_candidate(), strict=True):
        members[candidate].append(rollout)
    row_of = {text: row for row, text in enumerate(graph.texts.contents)}
    found: dict[int, ReadWeights] = {}
    for rollouts, own in zip(members, shares, strict=True):
        nodes = [
            search
            for rollout in rollouts
            for search in rollout.searches
            if search.evidence or recipe.keeps_bare_searches
        ]
        of_search, of_evidence = iter(own[: len(nodes)].tolist()), iter(own[len(nodes) :].tolist())
        if recipe.merge_evidence:
            of_evidence = _unmerged(
                [row_of[seen.text] for search in nodes for seen in search.evidence], own[len(nodes) :]
            )
        for rollout in rollouts:
            found[rollout.sample_id] = ReadWeights(
                tuple(
                    next(of_search) if search.evidence or recipe.keeps_bare_searches else None
                    for search in rollout.searches
                ),
                tuple(tuple(next(of_evidence) for _ in search.evidence) for search in rollout.searches),
            )
    return found


def _unmerged(contents: Sequence[int], shares: Floats) -> Iterator[float]:
    """The share of each merged content, in equal parts for its occurrences; contents come in ascending order."""
    distinct, row, counts = np.unique(np.asarray(contents, np.int64), return_inverse=True, return_counts=True)
    return iter((shares / np.maximum(counts, 1))[row].tolist() if len(distinct) else [])
