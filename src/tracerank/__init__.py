"""tracerank: choose the best existing answer among K completed search-agent rollouts.

Holds the list of public names and nothing else. Those that need torch resolve on first use, so that reading, voting
and the shipped selector work without it. Nobody inside the package imports from here.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import are_equal
from tracerank.answers.extraction import extract_answer
from tracerank.answers.meaning.grouping import Core, answer_core, group_answers, group_by_meaning, same_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.errors import TraceRankError, UsageError
from tracerank.extras import needed
from tracerank.methods.answer_groups import ContainmentGroups, DefaultGroups, ExactGroups, MeaningGroups
from tracerank.methods.base import Decision, Method, decide_stream
from tracerank.methods.explanation import Explanation, explain_stream
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
    from tracerank.endpoints.chat_cache import CachedChat
    from tracerank.endpoints.chat_http import ChatConfig, HttpChat
    from tracerank.methods.aggregation.aggagent import AggAgent, AggAgentConfig
    from tracerank.methods.aggregation.solagg import AggregationConfig, SolAgg, SummAgg
    from tracerank.methods.aggregation.verifier import Verifier, VerifierConfig
    from tracerank.selectors.base import Selector, load_selector
    from tracerank.selectors.decide import decide
    from tracerank.selectors.table import MethodOptions, method_named
    from tracerank.selectors.trace.selector import TraceSelector
    from tracerank.stopping.rules import BetaRule, ExpectedGain, FixedK, WindowRule
    from tracerank.stopping.session import Session

__version__ = "0.1.0"

_ON_FIRST_USE = {
    "AggAgent": "tracerank.methods.aggregation.aggagent",
    "AggAgentConfig": "tracerank.methods.aggregation.aggagent",
    "AggregationConfig": "tracerank.methods.aggregation.solagg",
    "BetaRule": "tracerank.stopping.rules",
    "CachedChat": "tracerank.endpoints.chat_cache",
    "ChatConfig": "tracerank.endpoints.chat_http",
    "ExpectedGain": "tracerank.stopping.rules",
    "FixedK": "tracerank.stopping.rules",
    "HttpChat": "tracerank.endpoints.chat_http",
    "MethodOptions": "tracerank.selectors.table",
    "Selector": "tracerank.selectors.base",
    "Session": "tracerank.stopping.session",
    "SolAgg": "tracerank.methods.aggregation.solagg",
    "SummAgg": "tracerank.methods.aggregation.solagg",
    "TraceSelector": "tracerank.selectors.trace.selector",
    "Verifier": "tracerank.methods.aggregation.verifier",
    "VerifierConfig": "tracerank.methods.aggregation.verifier",
    "WindowRule": "tracerank.stopping.rules",
    "decide": "tracerank.selectors.decide",
    "load_embedder": "tracerank.embedding.load",
    "load_selector": "tracerank.selectors.base",
    "method_named": "tracerank.selectors.table",
}
"""So that reading, voting and statistics wait for nothing heavy, and work without torch."""

__all__ = [
    "AggAgent",
    "AggAgentConfig",
    "AggregationConfig",
    "BetaRule",
    "CachedChat",
    "Candidate",
    "ChatConfig",
    "ContainmentGroups",
    "Core",
    "Decision",
    "DefaultGroups",
    "Document",
    "Evidence",
    "ExactGroups",
    "ExpectedGain",
    "Explanation",
    "FewestTools",
    "FixedK",
    "HttpChat",
    "MajorityVote",
    "MeaningGroups",
    "Method",
    "MethodOptions",
    "Pool",
    "Question",
    "RandomRollout",
    "Rollout",
    "Search",
    "Selector",
    "Session",
    "SingleRollout",
    "SolAgg",
    "SummAgg",
    "TraceRankError",
    "TraceSelector",
    "Verifier",
    "VerifierConfig",
    "WeightedVote",
    "WindowRule",
    "WithoutAbstentions",
    "abstains",
    "answer_core",
    "are_equal",
    "decide",
    "decide_stream",
    "explain_stream",
    "extract_answer",
    "group_answers",
    "group_by_meaning",
    "is_right",
    "iter_pools",
    "load_embedder",
    "load_selector",
    "method_named",
    "read_pools",
    "same_answer",
    "write_atif",
    "write_pools",
]


def __getattr__(name: str) -> object:
    if name in _ON_FIRST_USE:
        with needed(f"tracerank.{name} needs", "embed", UsageError):
            return getattr(import_module(_ON_FIRST_USE[name]), name)
    raise AttributeError(f"module 'tracerank' has no attribute {name!r}")
