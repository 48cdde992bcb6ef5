"""The public names and where each lives: the one list of them, read by type checkers, editors and ``__init__.py``."""
# ruff: noqa: I001  (one line for each module)

from tracerank.answers.meaning.grouping import group_answers as group_answers, same_answer as same_answer
from tracerank.answers.meaning.rightness import is_right as is_right
from tracerank.deciding import decide as decide, decide_frame as decide_frame, decide_pools as decide_pools
from tracerank.errors import TraceRankError as TraceRankError
from tracerank.methods import load_method as load_method
from tracerank.pools.canonical import write_pools as write_pools
from tracerank.pools.pool import Pool as Pool
from tracerank.pools.types import (
    Evidence as Evidence,
    Question as Question,
    Rollout as Rollout,
    Search as Search,
)
from tracerank.readers import iter_pools as iter_pools, read_pools as read_pools
from tracerank.reports.comparison import compare_reports as compare_reports
from tracerank.sampling.agent_run import AgentRun as AgentRun
from tracerank.sampling.best_of import best_of as best_of, run_best_of as run_best_of
from tracerank.sampling.waves import run_number as run_number
from tracerank.stopping.rules import ExpectedGain as ExpectedGain, FixedK as FixedK
from tracerank.stopping.session import Session as Session
from tracerank.votes.base import Decision as Decision

__version__: str
