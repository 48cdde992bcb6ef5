"""What the network's index tensors mean, edge by edge and node by node. Holds no assertions."""

from itertools import pairwise

from torch import Tensor

from tracerank.trace.batch import Batch, Neighbourhoods
from tracerank.trace.recipe import GraphRecipe, Relation, relations

Edges = list[tuple[int, int]]


def listed_edges(batch: Batch, recipe: GraphRecipe) -> dict[Relation, Edges]:
    """Every relation of the recipe with its directed edges, as often as the network counts them."""
    assert set(batch.neighbours) == {relation.name for relation in relations(recipe)}
    return {relation: _edges(batch.neighbours[relation.name]) for relation in relations(recipe)}


def _edges(heard: Neighbourhoods) -> Edges:
    sets = _members(heard.nodes, heard.begins)
    if heard.group is not None and heard.own_begins is not None:
        own = _members(heard.nodes, heard.own_begins)
        sets = [[n for n in sets[group] if n not in own[row]] for row, group in enumerate(heard.group.tolist())]
    assert [len(found) for found in sets] == heard.sizes.flatten().tolist()
    of_target = range(len(sets)) if heard.of_target is None else heard.of_target.tolist()
    rows = zip(of_target, heard.targets.tolist(), strict=True)
    return [(source, target) for row, target in rows for source in sets[row]]


def _members(nodes: Tensor, begins: Tensor) -> list[list[int]]:
    bounds = [*begins.tolist(), len(nodes)]
    return [nodes[begin:end].tolist() for begin, end in pairwise(bounds)]


def listed_contexts(batch: Batch) -> dict[int, list[int]]:
    """The nodes that each candidate reads: searches, then evidence behind them; empty contexts are left out."""
    return {
        candidate: nodes[~is_padding].tolist()
        for context in batch.contexts
        for candidate, nodes, is_padding in zip(
            context.candidates.tolist(), context.nodes, context.is_padding, strict=True
        )
    }
