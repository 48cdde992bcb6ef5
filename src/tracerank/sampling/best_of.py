"""``tr.best_of``: run an agent as often as it pays, several times at once, and return the best existing answer.

    result = await tr.best_of(agent, "Which city did the composer of Orfeo die in?", k=16)
    print(result.answer, result.confidence, result.runs)

An agent is any function of a question, async or plain; ``wrappers.py`` makes one of other people's agents.
"""

import asyncio
import inspect
import os
import tempfile
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from threading import Thread
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.deciding import Given
from tracerank.endpoints.chat import Usage
from tracerank.errors import AgentError, MalformedRollout, ReadError, UsageError
from tracerank.evidence.gaps import gaps
from tracerank.lab.sample import FAILED, has_failed
from tracerank.methods import load_selector
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers.base import Record
from tracerank.readers.detect import AUTO
from tracerank.runs.atomic import whole_file
from tracerank.sampling.run_log import RunLog
from tracerank.sampling.waves import Ended, Failure, in_thread, run_in_waves
from tracerank.stopping.rules import Rule, Verdict
from tracerank.stopping.session import Session
from tracerank.viewer.page import About, page
from tracerank.viewer.question_data import question_data
from tracerank.votes.base import Decision, Method, with_evidence_note
from tracerank.votes.escalation import Escalating
from tracerank.votes.explanation import explain_stream
from tracerank.votes.missing import Missing

PARALLEL = 4
"""Runs under way at once."""
RUN_SECONDS = 600.0
"""Seconds that a run may take."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What an agent may return where a transcript alone does not say it all."""

    transcript: Given | Sequence[Record]
    """An answer, a rollout, a record or a conversation in any readable form; None: the agent gave no answer."""
    answer: str | None = None
    """The answer, whatever the transcript seems to say; None: as it says."""
    usage: Usage | None = None
    """Tokens that the run cost; None: unknown, or the rollout says it."""


@dataclass(frozen=True, slots=True)
class Start:
    """What is known when a run begins, for a hook that makes runs begin differently."""

    number: int
    """Of the run, from 0."""
    question: str
    queries: tuple[str, ...]
    """What the runs that have ended searched for, each query once, in the order of their numbers."""


Agent = Callable[[Any], Any]
"""A question in; out come, awaited or not, an answer, a transcript, a rollout, or an ``AgentRun``."""
StartHook = Callable[[Start], Any]
"""Returns what the agent is called with in the place of the question."""


@dataclass(frozen=True, slots=True)
class Runs:
    """What became of the runs that were allowed; those of all fields but the last two are as many."""

    used: int
    """Their results were looked at, those without an answer among them."""
    failed: int
    """They raised, hung, or returned what cannot be read; the decision's ``dropped`` says why."""
    cancelled: int
    """Under way when it was clear."""
    unneeded: int
    """They ended, but it was clear already."""
    saved: int
    """Never started."""
    hung: int = 0
    """Of the failed ones, those that took too long."""
    resumed: int = 0
    """Of the used ones, those that the log had."""


@dataclass(frozen=True, slots=True)
class Result:
    """The best existing answer, how sure it is, and what it took."""

    decision: Decision
    """``sample_id`` and the like are the numbers of runs, from 0 in the order of starting."""
    pool: Pool
    """All runs that were looked at."""
    runs: Runs
    stopped: str
    """Why no further run was made."""
    method: Method = field(repr=False)

    @property
    def answer(self) -> str | None:
        return self.decision.answer

    @property
    def confidence(self) -> float | None:
        """Calibrated chance that the answer is right; None: nothing can be said, and ``decision.note`` has why."""
        return self.decision.confidence

    @property
    def cost(self) -> Usage | None:
        """Tokens of the runs that were looked at, as far as they are known; None: of none."""
        known = [rollout.usage for rollout in self.pool.rollouts if rollout.usage is not None]
        return sum(known[1:], start=known[0]) if known else None

    @property
    def missing(self) -> Missing:
        """What evidence would settle the question, so that further runs can be aimed; no model is asked."""
        return self.decision.missing or gaps(self.pool, self.decision)

    def view(self, path: str | os.PathLike[str] | None = None) -> Path:
        """The viewer's page of the pool, written to ``path``; None: to a file of its own, which a browser is shown."""
        [(_, explanation)] = explain_stream(self.method, [self.pool])
        made = page([question_data(self.pool, explanation)], About(self.pool.question.id, self.method.name))
        if path is not None:
            with whole_file(path) as file:
                file.write(made)
            return Path(path)
        handle, name = tempfile.mkstemp(prefix="tracerank-", suffix=".html")
        with open(handle, "wb") as own:
            own.write(made)
        webbrowser.open(Path(name).as_uri())
        return Path(name)


async def best_of(
    agent: Agent,
    question: str | Question,
    k: int = PAPER_K,
    *,
    parallel: int = PARALLEL,
    selector: Method | str | None = None,
    rule: Rule | None = None,
    timeout: float | None = RUN_SECONDS,
    deadline: float | None = None,
    log: str | os.PathLike[str] | None = None,
    start: StartHook | None = None,
    fields: Mapping[str, str] | None = None,
    reader: str = AUTO,
) -> Result:
    """Run ``agent`` at most ``k`` times, ``parallel`` at once, until ``rule`` has seen enough; the best answer.

    A run that raises or takes more than ``timeout`` seconds is counted and costs only itself; only where all of them
    fail does it raise ``AgentError``. After ``deadline`` seconds it is decided on what there is. ``log`` names a file
    that gets each run when it has ended; the same call goes on with what is there. ``start`` is called before each run,
    and what it returns is handed to the agent in the place of the question. With ``tr.Escalating`` as the selector the
    dear method is asked once, at the end, and only where the cheap one is unsure. ``selector``, ``rule``, ``fields``
    and ``reader`` are as in ``tr.Session``.
    """
    if parallel < 1:
        raise UsageError(f"parallel must be at least 1, got {parallel}")
    asked = question if isinstance(question, Question) else Question(normalize_text(question) or "request", question)
    method = load_selector(selector) if isinstance(selector, str) else selector or load_selector()
    book = _Book(Session(asked, method, k, rule, fields=fields, reader=reader), log, k)
    await in_thread(book.take_up)

    async def run(number: int) -> object:
        given = asked.text if start is None else start(Start(number, asked.text, book.queries()))
        return await called(agent, given)

    ended = await run_in_waves(run, book, book.left(), parallel, timeout, deadline)
    await in_thread(book.put_by, ended.unneeded)
    return await in_thread(book.result, ended, method)


def run_best_of(agent: Agent, question: str | Question, k: int = PAPER_K, **options: Any) -> Result:
    """``best_of`` for programs without an event loop, and beside one that runs; the options are the same."""
    found: Future[Result] = Future()
    stop: list[Callable[[], object]] = []

    async def main() -> None:
        task = asyncio.create_task(best_of(agent, question, k, **options))
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            found.set_result(await task)
        except BaseException as error:  # raised where it is waited for
            found.set_exception(error)

    # Not in this thread: asyncio waits at its end for tasks that refuse to be cancelled.
    Thread(target=copy_context().run, args=(asyncio.run, main()), name="tracerank-best-of", daemon=True).start()
    try:
        return found.result()
    except KeyboardInterrupt:
        for end in stop:
            end()
        raise


async def called(agent: Agent, given: object) -> object:
    """What the agent returns; a plain function runs in a thread, and what it returns may still have to be awaited."""
    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(getattr(agent, "__call__", None)):  # noqa: B004
        returned = agent(given)
    else:
        returned = await in_thread(agent, given)
    return await returned if isinstance(returned, Awaitable) else returned


class _Book:
    """Takes results into a session and a log; ``numbers`` tells which run stands at which place of the session."""

    def __init__(self, session: Session, log: str | os.PathLike[str] | None, k: int) -> None:
        self._session = session
        self._log = None if log is None else RunLog(log, session.question)
        self._k = k
        self._numbers: list[int] = []
        self._logged: Mapping[int, Rollout] = {}
        self._resumed = 0
        self._first: BaseException | None = None
        """What the first failed run raised."""
        self._hung = 0

    def take_up(self) -> None:
        """What the log has, in the order of the runs' numbers, as far as it is needed; what failed is made again."""
        self._logged = {} if self._log is None else self._log.kept()
        for number, rollout in self._logged.items():
            if not has_failed(rollout) and self._session.should_continue():
                self._add(number, rollout)
        self._resumed = len(self._numbers)

    def left(self) -> list[int]:
        """Numbers of the runs that may still be made."""
        fresh = (number for number in count() if number not in self._logged)
        return [*islice(fresh, self._k - self._resumed)]

    def queries(self) -> tuple[str, ...]:
        ordered = sorted(zip(self._numbers, self._session.pool.rollouts, strict=False), key=lambda one: one[0])
        searches = (search.query for _, rollout in ordered for search in rollout.searches)
        return tuple(dict.fromkeys(query for query in searches if query))

    def should_continue(self) -> Verdict:
        return self._session.should_continue()

    def take(self, number: int, ended: object) -> None:
        if isinstance(ended, Failure):
            self._failed(number, ended)
        else:
            try:
                self._add(number, ended)
            except (MalformedRollout, ReadError, UsageError) as error:
                self._failed(number, Failure(AgentError(f"what the agent returned cannot be read: {error}")))
        if self._log is not None:
            self._log.add(replace(self._session.pool.rollouts[-1], sample_id=number))

    def _failed(self, number: int, failure: Failure) -> None:
        self._first = self._first or failure.error
        self._hung += failure.is_late
        self._add(number, Rollout(number, None, problem=f"{FAILED}{failure.reason}"))

    def _add(self, number: int, ended: Any) -> None:
        run = _run_of(ended)
        self._session.add(run.transcript, answer=run.answer, usage=run.usage)
        self._numbers.append(number)

    def put_by(self, unneeded: Mapping[int, Any]) -> None:
        """Log what ended when it was clear already: it was paid for, and a later call may need it."""
        for number, ended in unneeded.items():
            if self._log is not None and not isinstance(ended, Failure):
                run = _run_of(ended)
                with suppress(MalformedRollout, ReadError, UsageError):  # then it is made again
                    read = self._session.read(run.transcript, answer=run.answer, usage=run.usage)
                    self._log.add(replace(read, sample_id=number))

    def result(self, ended: Ended, method: Method) -> Result:
        """What it all comes to; raises where there is nothing."""
        numbered = zip(self._numbers, self._session.pool.rollouts, strict=True)
        pool = Pool(self._session.question, tuple(replace(one, sample_id=number) for number, one in numbered))
        failed = sum(map(has_failed, pool.rollouts))
        if pool.rollouts and failed == len(pool.rollouts):
            why = (pool.rollouts[0].problem or "").removeprefix(FAILED)
            raise AgentError(f"all {failed} runs of the agent failed, the first because {why}") from self._first
        if self._numbers == sorted(self._numbers) and not isinstance(method, Escalating):
            decision = _renumbered(self._session.decision(), self._numbers)
        else:
            # Ties go to the first run, not to the first that ended; whoever is asked last is asked once.
            decision = with_evidence_note(pool, method.decide(pool))
        counts = Runs(
            len(pool) - failed,
            failed,
            len(ended.cancelled),
            len(ended.unneeded),
            len(ended.saved),
            self._hung,
            self._resumed,
        )
        return Result(decision, pool, counts, ended.verdict.reason, method)


def _run_of(ended: Any) -> AgentRun:
    run = ended if isinstance(ended, AgentRun) else AgentRun(ended)
    dump = getattr(run.transcript, "model_dump", None)  # an object of somebody's client
    return run if dump is None else replace(run, transcript=dump(mode="json"))


def _renumbered(decision: Decision, numbers: Sequence[int]) -> Decision:
    """The decision with the numbers of runs in the place of places."""
    return replace(
        decision,
        sample_id=None if decision.sample_id is None else numbers[decision.sample_id],
        scores={numbers[place]: score for place, score in decision.scores.items()},
        dropped={numbers[place]: reason for place, reason in decision.dropped.items()},
        group=tuple(numbers[place] for place in decision.group),
    )


def diverse_start(start: Start) -> str:
    """A hook for ``start``: the question, with what others have searched for and the wish to begin elsewhere."""
    if not start.queries:
        return start.question
    tried = "\n".join(f"- {query}" for query in start.queries[:_MOST_QUERIES])
    return f"{start.question}\n\nThese searches have been tried already; begin with a different one:\n{tried}"


_MOST_QUERIES = 16
