"""What the network's index tensors mean, edge by edge and node by node. Holds no assertions."""

from torch import Tensor

from tracerank.trace.graph import GraphBatch
from tracerank.trace.inputs import Neighbourhoods, NodeSets, as_tensors
from tracerank.trace.recipe import GraphRecipe, Relation, relations

Edges = list[tuple[int, int]]


def listed_edges(batch: GraphBatch, recipe: GraphRecipe) -> dict[Relation, Edges]:
    """Every relation of the recipe with its directed edges, as often as the network counts them."""
    neighbours = as_tensors(batch, recipe).neighbours
    assert set(neighbours) == {relation.name for relation in relations(recipe)}
    return {relation: _edges(neighbours[relation.name]) for relation in relations(recipe)}


def _edges(heard: Neighbourhoods) -> Edges:
    sets = [[node] for node in range(len(heard.sizes))] if heard.nodes is None else _members(heard.nodes)
    if heard.group is not None and heard.own is not None:
        own = _members(heard.own)
        sets = [[n for n in sets[group] if n not in own[row]] for row, group in enumerate(heard.group.tolist())]
    assert [len(found) for found in sets] == heard.sizes.flatten().tolist()
    rows = zip(heard.of_target.tolist(), heard.targets.tolist(), strict=True)
    return [(source, target) for row, target in rows for source in sets[row]]


def _members(sets: NodeSets) -> list[list[int]]:
    ends: Tensor = sets.begins[1:]
    bounds = [*ends.tolist(), len(sets.nodes)]
    return [sets.nodes[begin:end].tolist() for begin, end in zip(sets.begins.tolist(), bounds, strict=False)]


def listed_contexts(batch: GraphBatch, recipe: GraphRecipe) -> dict[int, list[int]]:
    """The nodes that each candidate reads: searches, then evidence behind them; empty contexts are left out."""
    return {
        candidate: nodes[~is_padding].tolist()
        for context in as_tensors(batch, recipe).contexts
        for candidate, nodes, is_padding in zip(
            context.candidates.tolist(), context.nodes, context.is_padding, strict=True
        )
    }
