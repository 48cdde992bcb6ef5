"""The public names and where each lives: the one list of them, read by type checkers, editors and ``__init__.py``."""

from tracerank.answers.meaning.grouping import group_answers, same_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.deciding import decide
from tracerank.embedding.load import load_embedder
from tracerank.errors import TraceRankError
from tracerank.evidence.gaps import gaps
from tracerank.methods import MethodOptions, load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Document, Evidence, Question, Rollout, Search
from tracerank.readers import iter_pools, read_pools
from tracerank.sampling.best_of import AgentRun, best_of, run_best_of
from tracerank.sampling.waves import run_number
from tracerank.stopping.rules import BetaRule, ExpectedGain, FixedK, WindowRule
from tracerank.stopping.session import Session
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.escalation import Escalating
from tracerank.votes.explanation import explain_stream

__version__: str

__all__ = [
    "AgentRun",
    "BetaRule",
    "Decision",
    "Document",
    "Escalating",
    "Evidence",
    "ExpectedGain",
    "FixedK",
    "Method",
    "MethodOptions",
    "Pool",
    "Question",
    "Rollout",
    "Search",
    "Session",
    "TraceRankError",
    "WindowRule",
    "best_of",
    "decide",
    "decide_stream",
    "explain_stream",
    "gaps",
    "group_answers",
    "is_right",
    "iter_pools",
    "load_embedder",
    "load_method",
    "read_pools",
    "run_best_of",
    "run_number",
    "same_answer",
    "write_pools",
]
