"""Occurrences and shared evidence: pools as graphs of text keys, their recipes, layouts and statistics.

Integer arrays and the texts they point to. Neither vectors nor torch: what a text means is the net's business.
"""

from tracerank.trace.graphs.build import PoolGraph, build_graph
from tracerank.trace.graphs.packed import GraphBatch, collate
from tracerank.trace.graphs.schema import GraphRecipe, Relation, relations

__all__ = ["GraphBatch", "GraphRecipe", "PoolGraph", "Relation", "build_graph", "collate", "relations"]
