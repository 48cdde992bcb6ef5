"""The public names and where each lives: the one list of them, read by type checkers, editors and ``__init__.py``."""

from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import are_equal
from tracerank.answers.extraction import extract_answer
from tracerank.answers.meaning.grouping import Core, answer_core, group_answers, group_by_meaning, same_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.chat.aggagent import AggAgent, AggAgentConfig
from tracerank.chat.solagg import AggregationConfig, SolAgg, SummAgg
from tracerank.chat.verifier import Verifier, VerifierConfig
from tracerank.deciding import decide
from tracerank.embedding.load import load_embedder
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.errors import TraceRankError
from tracerank.evidence.gaps import gaps
from tracerank.methods import MethodOptions, load_method, load_selector
from tracerank.pools.atif_export import write_atif
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Candidate, Document, Evidence, Question, Rollout, Search
from tracerank.readers import iter_pools, read_pools
from tracerank.sampling.best_of import AgentRun, Result, best_of, run_best_of
from tracerank.sampling.waves import run_number
from tracerank.stopping.rules import BetaRule, ExpectedGain, FixedK, WindowRule
from tracerank.stopping.session import Session
from tracerank.trace.selector import TraceSelector
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.escalation import Escalating
from tracerank.votes.explanation import Explanation, explain_stream
from tracerank.votes.missing import Missing
from tracerank.votes.selector import Selector
from tracerank.votes.simple import FewestTools, RandomRollout, SingleRollout
from tracerank.votes.voting import MajorityVote, WithoutAbstentions
from tracerank.votes.weighted import WeightedVote

__version__: str

__all__ = [
    "AgentRun",
    "AggAgent",
    "AggAgentConfig",
    "AggregationConfig",
    "BetaRule",
    "CachedChat",
    "Candidate",
    "ChatConfig",
    "Core",
    "Decision",
    "DefaultGroups",
    "Document",
    "Escalating",
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
    "Missing",
    "Pool",
    "Question",
    "RandomRollout",
    "Result",
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
    "best_of",
    "decide",
    "decide_stream",
    "explain_stream",
    "extract_answer",
    "gaps",
    "group_answers",
    "group_by_meaning",
    "is_right",
    "iter_pools",
    "load_embedder",
    "load_method",
    "load_selector",
    "read_pools",
    "run_best_of",
    "run_number",
    "same_answer",
    "write_atif",
    "write_pools",
]
