"""TRACE explained: how the attention of every candidate answer is spread over its own searches and evidence (Eq. 5).

Weights are the means over the attention heads. They say where an answer looked, not what would have changed the score.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from tracerank.pools.types import Rollout
from tracerank.trace.graphs.build import PoolGraph
from tracerank.trace.graphs.packed import collate
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.inputs import GraphTensors, Vectors, as_tensors
from tracerank.trace.net import TraceNet
from tracerank.votes.explanation import ReadWeights

Shares = NDArray[np.float32]


def read_weights(net: TraceNet, graphs: Sequence[PoolGraph], vectors: Vectors) -> list[dict[int, ReadWeights] | None]:
    """For each graph, the weights of its rollouts by sample id; None: the net reads without attention."""
    if net.attention is None:
        return [None] * len(graphs)
    batch = collate([graph.packed for graph in graphs])
    if batch.candidates == 0:
        return [{} for _ in graphs]
    with torch.inference_mode():
        tensors = as_tensors(batch, net.recipe, sharing_layers=len(net.layers))
        shares = _shares(net, tensors, vectors)
    offsets = batch.candidate_offsets()
    return [
        _by_rollout(graph, net.recipe, shares[begin:end])
        for graph, begin, end in zip(graphs, offsets[:-1], offsets[1:], strict=True)
    ]


def _shares(net: TraceNet, graph: GraphTensors, vectors: Vectors) -> list[Shares]:
    """For each candidate, its weights on its searches followed by those on its evidence."""
    readout = net.attention
    assert readout is not None
    query, answers, states = net.encode(graph, vectors)
    states = net.propagate(states, query, graph)
    if net.graph_readout is not None:
        answers = net.graph_readout(answers, states, graph.contexts)
    shares = [np.zeros(0, np.float32)] * len(answers)
    for bucket, _, weights in readout.weights(answers, states.searches, states.evidence, graph.contexts):
        means = weights.mean(1)
        padding = torch.zeros_like(means, dtype=torch.bool) if bucket.padding is None else bucket.padding
        for candidate, mean, hidden in zip(bucket.candidates.tolist(), means, padding, strict=True):
            shares[candidate] = mean[~hidden].numpy()
    return shares


def _by_rollout(graph: PoolGraph, recipe: GraphRecipe, shares: Sequence[Shares]) -> dict[int, ReadWeights]:
    """Shares given back to the searches and evidence that they belong to."""
    members: list[list[Rollout]] = [[] for _ in shares]
    for rollout, candidate in zip(graph.retained.kept, graph.rollout_candidate(), strict=True):
        members[candidate].append(rollout)
    number_of = {text: number for number, text in enumerate(graph.texts.contents)}
    found: dict[int, ReadWeights] = {}
    for rollouts, own in zip(members, shares, strict=True):
        searches = [search for rollout in rollouts for search in rollout.searches]
        count = sum(bool(search.evidence) or recipe.keeps_bare_searches for search in searches)
        contents = [number_of[seen.text] for search in searches for seen in search.evidence]
        of_search, of_evidence = iter(own[:count].tolist()), iter(own[count:].tolist())
        if recipe.merge_evidence:
            of_evidence = iter(_unmerged(contents, own[count:]))
        for rollout in rollouts:
            found[rollout.sample_id] = ReadWeights(
                tuple(
                    next(of_search) if search.evidence or recipe.keeps_bare_searches else None
                    for search in rollout.searches
                ),
                tuple(tuple(next(of_evidence) for _ in search.evidence) for search in rollout.searches),
            )
    return found


def _unmerged(contents: Sequence[int], shares: Shares) -> list[float]:
    """The share of each merged content, in equal parts for its occurrences; contents come in ascending order."""
    distinct, place, counts = np.unique(np.asarray(contents, np.int64), return_inverse=True, return_counts=True)
    parts: list[float] = (shares / np.maximum(counts, 1))[place].tolist() if len(distinct) else []
    return parts
