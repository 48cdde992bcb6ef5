"""How the attention of every candidate answer is spread over its own searches and evidence (Eq. 7).

Weights are means over the attention heads. They show where an answer looked, not what would have changed the score.
"""

from itertools import islice

import numpy as np
import torch
from torch import Tensor

from tracerank.trace.batch import Batch, collate
from tracerank.trace.graph import Columns, Floats, PoolGraph
from tracerank.trace.net import TraceNet
from tracerank.votes.explanation import ReadWeights


def read_weights(net: TraceNet, graph: PoolGraph, columns: Columns, table: Tensor) -> dict[int, ReadWeights] | None:
    """The weights of each rollout by its sample id; None if the net reads without attention."""
    if net.attention is None:
        return None
    with torch.inference_mode():
        read = _read(net, collate([columns], net.recipe), table)
    of_search = columns["rollout_candidate"][columns["search_rollout"]]
    of_evidence = of_search[columns["evidence_search"]]
    searches, occurrences = len(of_search), len(of_evidence)
    node = searches + (columns["evidence_content"] if net.recipe.merge_evidence else np.arange(occurrences))
    # Merged evidence gives its weight to its occurrences in equal parts.
    times = np.zeros_like(read)
    np.add.at(times, (of_evidence, node), 1)
    on_searches = iter(read[of_search, np.arange(searches)].tolist())
    on_evidence = iter((read[of_evidence, node] / times[of_evidence, node]).tolist())
    found = {}
    for rollout in graph.retained.kept:
        is_node = [bool(search.evidence) or net.recipe.keeps_bare_searches for search in rollout.searches]
        found[rollout.sample_id] = ReadWeights(
            tuple(next(on_searches) if here else None for here in is_node),
            tuple(tuple(islice(on_evidence, len(search.evidence))) for search in rollout.searches),
        )
    return found


def _read(net: TraceNet, graph: Batch, table: Tensor) -> Floats:
    """[candidates, nodes]: the weight of each search and evidence node."""
    assert net.attention is not None
    answers, states = net.encode(graph, table)
    states = net.propagate(states, graph)
    if net.graph_readout is not None:
        answers = net.graph_readout(answers, states, graph.contexts)
    found = torch.zeros(len(answers), len(states["search"]) + len(states["evidence"]))
    for context, _, weights in net.attention.weights(answers, states, graph.contexts):
        found.index_put_((context.candidates.unsqueeze(1), context.nodes), weights.mean(1), accumulate=True)
    return found.numpy()
