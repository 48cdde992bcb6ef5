"""Cross-rollout evidence propagation: relation-specific GraphSAGE layers (Eq. 4, App. A.4).

Every relation transforms the mean of its neighbours and adds its bias, also where the neighbourhood is empty.
The layer never lists edges: what a relation means is a reshape, a selection or a group sum of ``Links``.
``trace/propagate.py`` computes the same from explicit edges.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.trace.dropout import dropout
from tracerank.trace.graphs.schema import Relation
from tracerank.trace.inputs import Bucket, CrossTensors, EdgeLinks, Links, SlotTensors, WithinTensors
from tracerank.trace.products import product
from tracerank.trace.segments import segment_mean, segment_sum


class Tables(NamedTuple):
    """States before the first layer, one row per distinct text: occurrences of a text are still equal."""

    queries: Tensor | None
    """None: orphans make searches of the same text differ."""
    search_query: Tensor
    contents: Tensor
    evidence_content: Tensor


class States(NamedTuple):
    """Node states that propagation updates."""

    searches: Tensor
    evidence: Tensor
    documents: Tensor | None
    """None: the recipe has no documents."""
    tables: Tables | None = None
    """Only before the first layer, which then computes with distinct texts instead of occurrences."""


class RelationLayer(nn.Module):
    """One layer: a weight and a bias per relation, a LayerNorm per updated node type."""

    def __init__(self, relations: tuple[Relation, ...], slots: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.hidden = hidden
        self.slots = slots
        self.dropout = dropout
        names = {relation.name for relation in relations}
        bound = 1 / math.sqrt(hidden)

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        # Slot weights are stacked so that [in, slot * out] and [slot * in, out] are views.
        self.slot_weight = parameter(hidden, slots, hidden)
        self.slot_bias = parameter(slots, hidden)
        self.slot_of_weight = parameter(slots, hidden, hidden)
        self.slot_of_bias = parameter(slots, hidden)
        singles = ("starts", "next", "previous", "same_content_within", "same_content_cross", "in_document", "holds")
        self.weight = nn.ParameterDict({name: parameter(hidden, hidden) for name in singles if name in names})
        self.bias = nn.ParameterDict({name: parameter(hidden) for name in singles if name in names})
        self.search_norm = nn.LayerNorm(hidden)
        self.evidence_norm = nn.LayerNorm(hidden)
        self.document_norm = nn.LayerNorm(hidden) if "in_document" in names else None

    def forward(self, states: States, query: Tensor, links: Links, *, updates_documents: bool) -> States:
        """Synchronous update of all node types; ``query`` is [pools, hidden] and constant."""
        searches = self._to_searches(states, query, links)
        evidence = self._to_evidence(states, links)
        documents = states.documents
        if documents is not None and links.documents is not None and updates_documents:
            message = product(
                segment_mean(states.evidence, links.documents), self.weight["in_document"], self.bias["in_document"]
            )
            documents = self.update(documents, message, self.document_norm)
        return States(
            self.update(states.searches, searches, self.search_norm),
            self.update(states.evidence, evidence, self.evidence_norm),
            documents,
        )

    def update(self, state: Tensor, message: Tensor, norm: nn.LayerNorm | None) -> Tensor:
        """LN(h + Dropout(GELU(m)))."""
        assert norm is not None
        moved = dropout(functional.gelu(message), self.dropout, training=self.training)
        summed = state + moved if torch.is_grad_enabled() else moved.add_(state)
        result: Tensor = norm(summed)
        return result

    def search_bias(self) -> Tensor:
        """Sum of the biases of all relations into searches."""
        single = (self.bias[name] for name in ("starts", "next", "previous") if name in self.bias)
        return torch.stack((*self.slot_of_bias.unbind(), *single)).sum(0)

    def evidence_bias(self) -> Tensor:
        """Sum of the biases of all relations into evidence."""
        names = ("same_content_within", "same_content_cross", "holds")
        return torch.stack((*self.slot_bias.unbind(), *(self.bias[n] for n in names if n in self.bias))).sum(0)

    def _to_searches(self, states: States, query: Tensor, links: Links) -> Tensor:
        message = self._from_evidence(states, links.slots)
        if "starts" in self.weight:
            begun = product(query, self.weight["starts"]).index_select(0, links.first.speakers)
            message.index_add_(0, links.first.listeners, begun)
        for name, pairs in (("next", links.next), ("previous", links.previous)):
            if name in self.weight and len(pairs.listeners):
                heard = product(states.searches.index_select(0, pairs.speakers), self.weight[name])
                message.index_add_(0, pairs.listeners, heard)
        return message

    def _from_evidence(self, states: States, slots: SlotTensors | None) -> Tensor:
        bias, tables, searches = self.search_bias(), states.tables, len(states.searches)
        if slots is None and (tables is None or len(tables.contents) >= searches):
            # Evidence of one search is consecutive: a row holds its ranks side by side.
            ranks = states.evidence.reshape(searches, self.slots * self.hidden)
            return product(ranks, self.slot_of_weight.view(-1, self.hidden), bias)
        message = bias.repeat(searches, 1)
        if slots is None and tables is not None:
            places = tables.evidence_content.view(-1, self.slots)
            for weight, contents in zip(self.slot_of_weight.unbind(), places.unbind(1), strict=True):
                message += product(tables.contents, weight).index_select(0, contents)
        elif slots is not None:
            means = torch.split(segment_mean(states.evidence, slots.pairs), [len(rows) for rows in slots.searches])
            for rows, mean, weight in zip(slots.searches, means, self.slot_of_weight.unbind(), strict=True):
                message.index_add_(0, rows, product(mean, weight))
        return message

    def _to_evidence(self, states: States, links: Links) -> Tensor:
        bias = self.evidence_bias()
        if links.slots is not None:
            message = self._from_slots(states.searches, bias, links.slots)
        else:
            flat, biases = self.slot_weight.view(self.hidden, -1), bias.repeat(self.slots)
            tables = states.tables
            if tables is not None and tables.queries is not None and len(tables.queries) < len(states.searches):
                message = product(tables.queries, flat, biases).index_select(0, tables.search_query)
            else:
                message = product(states.searches, flat, biases)
            message = message.view(-1, self.hidden)
        if links.cross is not None:
            self._add_cross(message, states, links.cross)
        if links.within is not None:
            self._add_within(message, states, links.within)
        if states.documents is not None:
            message += product(states.documents, self.weight["holds"]).index_select(0, links.evidence_document)
        return message

    def _from_slots(self, searches: Tensor, bias: Tensor, slots: SlotTensors) -> Tensor:
        parts = [
            product(searches.index_select(0, rows), weight, bias)
            for rows, weight in zip(slots.searches, self.slot_weight.unbind(1), strict=True)
        ]
        return torch.cat(parts).index_select(0, slots.evidence_pair)

    def _add_cross(self, message: Tensor, states: States, cross: CrossTensors) -> None:
        weight = self.weight["same_content_cross"]
        if states.tables is not None:
            # All occurrences of a content are still equal, and so is their mean.
            moved = product(states.tables.contents.index_select(0, cross.group_content), weight).index_select(
                0, cross.cell_group
            )
        else:
            # Mean over the group without the own rollout: (group sum - own cell) / (group size - cell size).
            own = segment_sum(states.evidence, cross.cells)
            others = segment_sum(states.evidence, cross.groups).index_select(0, cross.cell_group)
            moved = product((others - own) * cross.cell_scale, weight)
        message.index_add_(0, cross.targets, moved.index_select(0, cross.target_cell))

    def _add_within(self, message: Tensor, states: States, within: WithinTensors) -> None:
        weight = self.weight["same_content_within"]
        if states.tables is not None:
            contents = states.tables.contents.index_select(0, within.cell_content)
            moved = product(contents, weight).index_select(0, within.target_cell)
        else:
            cell = segment_sum(states.evidence, within.cells).index_select(0, within.target_cell)
            moved = product((cell - states.evidence.index_select(0, within.targets)) * within.target_scale, weight)
        message.index_add_(0, within.targets, moved)


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
        source = torch.cat(sources) if sources else torch.zeros(0, dtype=torch.long, device=answers.device)
        target = torch.cat(targets) if targets else source
        of_search = source < searches
        heard = self.from_searches(edge_mean(states.searches, source[of_search], target[of_search], len(answers)))
        heard = heard + self.from_evidence(
            edge_mean(states.evidence, source[~of_search] - searches, target[~of_search], len(answers))
        )
        moved = dropout(functional.gelu(heard), self.dropout, training=self.training)
        result: Tensor = self.norm(answers + moved)
        return result
