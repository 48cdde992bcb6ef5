"""tracerank: choose the best existing answer among K completed search-agent rollouts."""

from importlib import import_module
from typing import TYPE_CHECKING

from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import are_equal, group_answers
from tracerank.answers.extraction import extract_answer
from tracerank.errors import TraceRankError, UsageError
from tracerank.extras import needed
from tracerank.methods.answer_groups import ContainmentGroups, DefaultGroups, ExactGroups
from tracerank.methods.base import Decision, Method
from tracerank.methods.simple import FewestTools, RandomRollout, SingleRollout
from tracerank.methods.voting import MajorityVote, WithoutAbstentions
from tracerank.methods.weighted_vote import WeightedVote
from tracerank.pools.atif_export import write_atif
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Candidate, Document, Evidence, Question, Rollout, Search
from tracerank.readers import iter_pools, read_pools

if TYPE_CHECKING:
    from tracerank.embedding.load import load_embedder
    from tracerank.selectors.load import load_selector
    from tracerank.selectors.trace.selector import TraceSelector

__version__ = "0.1.0"

__all__ = [
    "Candidate",
    "ContainmentGroups",
    "Decision",
    "DefaultGroups",
    "Document",
    "Evidence",
    "ExactGroups",
    "FewestTools",
    "MajorityVote",
    "Method",
    "Pool",
    "Question",
    "RandomRollout",
    "Rollout",
    "Search",
    "SingleRollout",
    "TraceRankError",
    "TraceSelector",
    "WeightedVote",
    "WithoutAbstentions",
    "abstains",
    "are_equal",
    "extract_answer",
    "group_answers",
    "iter_pools",
    "load_embedder",
    "load_selector",
    "read_pools",
    "write_atif",
    "write_pools",
]

_ON_FIRST_USE = {
    "TraceSelector": "tracerank.selectors.trace.selector",
    "load_embedder": "tracerank.embedding.load",
    "load_selector": "tracerank.selectors.load",
}
"""So that reading, voting and statistics work without torch."""


def __getattr__(name: str) -> object:
    if name in _ON_FIRST_USE:
        with needed(f"tracerank.{name} needs", "embed", UsageError):
            return getattr(import_module(_ON_FIRST_USE[name]), name)
    raise AttributeError(f"module 'tracerank' has no attribute {name!r}")
