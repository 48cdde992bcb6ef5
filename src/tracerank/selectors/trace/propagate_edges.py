"""Propagation along explicit edges, for any graph, and the readout by graph messages.

Slower than ``selectors/trace/propagate.py`` and equal to it wherever both apply; needed for merged evidence, where one
node has several searches, and as its independent check.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.selectors.trace.dropout import dropout
from tracerank.selectors.trace.inputs import Bucket, EdgeLinks
from tracerank.selectors.trace.propagate import RelationLayer, States


def propagate_edges(
    layer: RelationLayer, states: States, query: Tensor, links: EdgeLinks, slots: tuple[str, ...]
) -> States:
    """One layer of Eq. 4 with the neighbours listed edge by edge."""
    searches, evidence, documents = states[:3]

    def heard(name: str, spoken: Tensor, weight: Tensor, listeners: int) -> Tensor:
        source, target = links.edges[name]
        return edge_mean(spoken, source, target, listeners) @ weight

    to_search = layer.search_bias().expand_as(searches)
    to_evidence = layer.evidence_bias().expand_as(evidence)
    for number, slot in enumerate(slots):
        to_evidence = to_evidence + heard(slot, searches, layer.slot_weight[:, number], len(evidence))
        to_search = to_search + heard(f"{slot}_of", evidence, layer.slot_of_weight[number], len(searches))
    for name, spoken in (("starts", query), ("next", searches), ("previous", searches)):
        if name in layer.weight:
            to_search = to_search + heard(name, spoken, layer.weight[name], len(searches))
    for name in ("same_content_within", "same_content_cross"):
        if name in layer.weight:
            to_evidence = to_evidence + heard(name, evidence, layer.weight[name], len(evidence))
    if documents is not None:
        to_evidence = to_evidence + heard("holds", documents, layer.weight["holds"], len(evidence))
        to_document = heard("in_document", evidence, layer.weight["in_document"], len(documents))
        documents = layer.update(documents, to_document + layer.bias["in_document"], layer.document_norm)
    return States(
        layer.update(searches, to_search, layer.search_norm),
        layer.update(evidence, to_evidence, layer.evidence_norm),
        documents,
    )


def edge_mean(spoken: Tensor, source: Tensor, target: Tensor, listeners: int) -> Tensor:
    """[listeners, d]: the mean over each listener's incoming edges; zero without any."""
    summed = spoken.new_zeros(listeners, spoken.shape[1]).index_add(0, target, spoken[source])
    count = torch.bincount(target, minlength=listeners).clamp(min=1)
    return summed / count.unsqueeze(1)


class GraphReadout(nn.Module):
    """Control: answers hear the mean of their searches and of their evidence instead of attending to them."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.from_searches = nn.Linear(hidden, hidden)
        self.from_evidence = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = dropout

    def forward(self, answers: Tensor, states: States, contexts: tuple[Bucket, ...]) -> Tensor:
        """[candidates, hidden]"""
        searches = len(states.searches)
        sources, targets = [], []
        for bucket in contexts:
            real = torch.ones_like(bucket.rows, dtype=torch.bool) if bucket.padding is None else ~bucket.padding
            sources.append(bucket.rows[real])
            targets.append(bucket.candidates.unsqueeze(1).expand_as(bucket.rows)[real])
        source = torch.cat(sources) if sources else torch.zeros(0, dtype=torch.long)
        target = torch.cat(targets) if targets else source
        of_search = source < searches
        heard = self.from_searches(edge_mean(states.searches, source[of_search], target[of_search], len(answers)))
        heard = heard + self.from_evidence(
            edge_mean(states.evidence, source[~of_search] - searches, target[~of_search], len(answers))
        )
        moved = dropout(functional.gelu(heard), self.dropout, training=self.training)
        result: Tensor = self.norm(answers + moved)
        return result
