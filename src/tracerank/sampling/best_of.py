"""``tr.best_of``: run an agent as often as it pays, several times at once, and return the best existing answer.

    result = await tr.best_of(agent, "Which city did the composer of Orfeo die in?", k=16)
    print(result.answer, result.confidence, result.runs)

An agent is any function of a question, async or plain; ``integrations`` makes one of the agents of other libraries.
"""

import inspect
import os
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import count, islice
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.endpoints.chat import Usage
from tracerank.errors import AgentError, MalformedRollout, ReadError, UsageError
from tracerank.evidence.gaps import gaps
from tracerank.methods import EVIDENCE
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question, Rollout
from tracerank.runs.atomic import whole_file
from tracerank.sampling.agent_run import Agent, AgentRun, run_of
from tracerank.sampling.run_log import FAILED, RunLog, has_failed
from tracerank.sampling.waves import Ended, Failure, in_thread, run_blocking, run_in_waves
from tracerank.stopping.rules import Rule
from tracerank.stopping.session import Session, read_rollout
from tracerank.viewer.page import About, page
from tracerank.viewer.question_data import question_data
from tracerank.votes.base import Decision, Method
from tracerank.votes.explanation import explain_stream
from tracerank.votes.missing import Missing
from tracerank.votes.spans import decision_span

PARALLEL = 4
"""Concurrent runs."""
RUN_SECONDS = 600.0
"""Seconds that a run may take."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Counts of runs; the first four add up to the number allowed."""

    used: int
    """Their results were used, including those without an answer."""
    failed: int
    """They raised, timed out, or returned something unreadable; the decision's ``dropped`` says why."""
    cancelled: int
    """Still running, or just finished, when the answer was clear."""
    saved: int
    """Never started."""
    resumed: int = 0
    """Used runs that were read from the log."""


@dataclass(frozen=True, slots=True)
class Result:
    """The best existing answer, its confidence, and what it took."""

    decision: Decision
    """``sample_id`` and the like are run numbers, from 0 in the order of starting."""
    pool: Pool
    """All runs that were used."""
    runs: Runs
    stopped: str
    """Why no further run was made."""
    method: Method = field(repr=False)
    outputs: Mapping[int | None, Any] = field(default_factory=dict, repr=False)
    """Run number to the answer as the agent's library made it."""

    @property
    def answer(self) -> str | None:
        return self.decision.answer

    @property
    def output(self) -> Any:
        """The answer as the agent's library made it, perhaps an object; None: unknown, or read from the log."""
        return self.outputs.get(self.decision.sample_id)

    @property
    def confidence(self) -> float | None:
        """Calibrated probability that the answer is right; None: unknown, and ``decision.note`` says why."""
        return self.decision.confidence

    @property
    def cost(self) -> Usage | None:
        """Tokens of the runs that report them; None: no run does."""
        return Usage.total(rollout.usage for rollout in self.pool.rollouts)

    @property
    def missing(self) -> Missing:
        """Which evidence would decide the question, to aim further runs; no model is called."""
        return self.decision.missing or gaps(self.pool, self.decision)

    def _repr_html_(self) -> str:
        made = ", ".join(f"{count} {name}" for name, count in asdict(self.runs).items() if count)
        return f"{self.decision._repr_html_()}<p>{escape(f'{made}; {self.stopped}')}</p>{self.pool._repr_html_()}"

    def view(self, path: str | os.PathLike[str]) -> None:
        """Write the viewer's page to ``path``."""
        [(_, explanation)] = explain_stream(self.method, [self.pool])
        html = page([question_data(self.pool, explanation)], About(self.pool.question.id, self.method.name))
        with whole_file(path) as file:
            file.write(html)


async def best_of(
    agent: Agent,
    question: str | Question,
    k: int = PAPER_K,
    *,
    parallel: int = PARALLEL,
    method: Method | str = EVIDENCE,
    rule: Rule | None = None,
    timeout: float | None = RUN_SECONDS,
    deadline: float | None = None,
    log: str | os.PathLike[str] | None = None,
) -> Result:
    """Run ``agent`` at most ``k`` times, ``parallel`` at once, until ``rule`` has seen enough; return the best answer.

    A coroutine: ``await`` it, or call ``run_best_of``. A run that raises or exceeds ``timeout`` seconds costs only
    itself; if all fail, ``AgentError`` is raised. After ``deadline`` seconds the runs that have ended decide. ``log``
    names a file to which each run is appended when it ends; the same call resumes from it. With ``Escalating`` the
    second method is called at most once, at the end. ``method`` and ``rule`` are as in ``tr.Session``.
    """
    if parallel < 1:
        raise UsageError(f"parallel must be at least 1, got {parallel}")
    if isinstance(question, str):
        question = Question(normalize_text(question) or "request", question)
    text, runs = question.text, _Collected(Session(question, method, k, rule), log)
    await in_thread(runs.resume)

    async def run(number: int) -> object:
        return await _call(agent, text)

    should_continue = runs.session.should_continue
    ended = await run_in_waves(run, runs.take, should_continue, runs.numbers_left(), parallel, timeout, deadline)
    await in_thread(runs.log_unneeded, ended.unneeded)
    return await in_thread(runs.result, ended)


def run_best_of(agent: Agent, question: str | Question, k: int = PAPER_K, **options: Any) -> Result:
    """``best_of`` for plain programs, also beside a running event loop; the options are the same."""
    return run_blocking(best_of(agent, question, k, **options))


async def _call(agent: Agent, question: str) -> object:
    """Call the agent, a plain function in a thread; its result may still have to be awaited."""
    is_async = inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(getattr(agent, "__call__", None))  # noqa: B004
    returned = agent(question) if is_async else await in_thread(agent, question)
    return await returned if isinstance(returned, Awaitable) else returned


class _Collected:
    """Results in a session and a log; run numbers are sample ids."""

    def __init__(self, session: Session, log: str | os.PathLike[str] | None) -> None:
        self.session = session
        self._log = None if log is None else RunLog(log, session.question)
        self._logged: Mapping[int, Rollout] = {}
        self._outputs: dict[int | None, Any] = {}
        self._resumed = 0
        self._first_error: BaseException | None = None

    def resume(self) -> None:
        """Take runs from the log as far as they are needed; failed ones are made again."""
        self._logged = {} if self._log is None else self._log.rollouts()
        for number, rollout in self._logged.items():
            if not has_failed(rollout) and self.session.should_continue():
                self._add(number, rollout)
        self._resumed = len(self.session)

    def numbers_left(self) -> list[int]:
        """Numbers of the runs that may still be made."""
        unused = (number for number in count() if number not in self._logged)
        return [*islice(unused, self.session.budget - self._resumed)]

    def take(self, number: int, ended: object) -> None:
        if not isinstance(ended, Failure):
            try:
                added = self._add(number, ended)
            except (MalformedRollout, ReadError, UsageError) as error:
                ended = Failure(AgentError(f"what the agent returned cannot be read: {error}"))
        if isinstance(ended, Failure):
            self._first_error = self._first_error or ended.error
            added = self._add(number, Rollout(number, None, problem=f"{FAILED}{ended.reason}"))
        if self._log is not None:
            self._log.add(added)

    def _add(self, number: int, ended: Any) -> Rollout:
        ended = run_of(ended)
        self._outputs[number] = getattr(ended, "output", None)
        return self.session.add(replace(self._read(ended), sample_id=number))

    def _read(self, ended: Any) -> Rollout:
        run = ended if isinstance(ended := run_of(ended), AgentRun) else AgentRun(ended)
        dump = getattr(run.transcript, "model_dump", None)  # an object of a client library
        given = run.transcript if dump is None else dump(mode="json")
        rollout = read_rollout(self.session.question.text, given)
        return replace(rollout, answer=run.answer or rollout.answer, usage=run.usage or rollout.usage)

    def log_unneeded(self, unneeded: Mapping[int, Any]) -> None:
        """Log runs that ended too late to be used; a later call may need them."""
        for number, ended in unneeded.items():
            if self._log is not None and not isinstance(ended, Failure):
                with suppress(MalformedRollout, ReadError, UsageError):
                    self._log.add(replace(self._read(ended), sample_id=number))

    def result(self, ended: Ended) -> Result:
        """The decision on all runs; raises if all of them failed."""
        pool, method = self.session.pool, self.session.method
        failed = sum(map(has_failed, pool.rollouts))
        if pool.rollouts and failed == len(pool.rollouts):
            why = (pool.rollouts[0].problem or "").removeprefix(FAILED)
            raise AgentError(f"all {failed} runs of the agent failed, the first because {why}") from self._first_error
        runs = Runs(len(pool) - failed, failed, ended.cancelled + len(ended.unneeded), ended.saved, self._resumed)
        with decision_span(method.name) as record:
            decision = method.decide(pool)
            record(pool, decision)
        return Result(decision, pool, runs, ended.verdict.reason, method, self._outputs)
