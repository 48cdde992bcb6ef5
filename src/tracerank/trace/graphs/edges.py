"""The explicit edges of a batch: what the arrays mean, pair by pair.

For statistics, tests and graphs with merged evidence; quadratic in the size of content groups.
"""

from collections.abc import Mapping

import numpy as np

from tracerank.trace.graphs.packed import GraphBatch, Longs, segments_of
from tracerank.trace.graphs.schema import GraphRecipe, Relation, relations

Edges = tuple[Longs, Longs]
"""Source and target rows."""


def evidence_nodes(batch: GraphBatch, recipe: GraphRecipe) -> Longs:
    """The node of each occurrence: its own, or that of its content when the recipe merges."""
    return batch.evidence_content.astype(np.int64) if recipe.merge_evidence else np.arange(batch.occurrences)


def list_edges(batch: GraphBatch, recipe: GraphRecipe) -> Mapping[Relation, Edges]:
    """Every relation of the recipe with its edges, without repetitions."""
    node = evidence_nodes(batch, recipe)
    search = batch.evidence_search.astype(np.int64)
    is_first = np.append(True, batch.search_rollout[1:] != batch.search_rollout[:-1])[: batch.searches]
    first, later = np.flatnonzero(is_first), np.flatnonzero(~is_first)
    found: dict[str, Edges] = {
        "starts": (batch.rollout_pool[batch.search_rollout[first]].astype(np.int64), first),
        "next": (later - 1, later),
        "previous": (later, later - 1),
    }
    for number, slot in enumerate(recipe.slots):
        chosen = batch.evidence_slot == number
        source, target = _distinct(search[chosen], node[chosen])
        found[slot] = (source, target)
        found[f"{slot}_of"] = (target, source)
    if recipe.documents != "none":
        source, target = _distinct(node, batch.evidence_document.astype(np.int64))
        found["in_document"] = (source, target)
        found["holds"] = (target, source)
    if recipe.content_links and not recipe.merge_evidence:
        found |= _content_edges(batch)
    return {relation: found[relation.name] for relation in relations(recipe)}


def _distinct(source: Longs, target: Longs) -> Edges:
    pairs = np.unique(np.stack((source, target), axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _content_edges(batch: GraphBatch) -> dict[str, Edges]:
    order = np.argsort(batch.evidence_content, kind="stable")
    groups = segments_of(order, batch.evidence_content[order])
    sizes = groups.lengths()[groups.segment]
    begins = groups.offsets[groups.segment]
    source = np.repeat(order, sizes)
    place = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    target = order[np.repeat(begins, sizes) + place]
    rollout = batch.search_rollout[batch.evidence_search]
    is_same = rollout[source] == rollout[target]
    within = is_same & (source != target)
    return {
        "same_content_within": (source[within], target[within]),
        "same_content_cross": (source[~is_same], target[~is_same]),
    }
