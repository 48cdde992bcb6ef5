"""Occurrences and shared evidence: pools as graphs of text keys, without any vectors."""

from tracerank.selectors.trace.graphs.build import PoolGraph, build_graph
from tracerank.selectors.trace.graphs.packed import GraphBatch, collate
from tracerank.selectors.trace.graphs.schema import GraphRecipe, Relation, relations

__all__ = ["GraphBatch", "GraphRecipe", "PoolGraph", "Relation", "build_graph", "collate", "relations"]
