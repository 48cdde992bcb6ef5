"""Methods on pools: one record per question, method and K, and the table folded from the records.

Streams; a record keeps what was chosen, so that every figure can be traced to its questions. Rounds nothing.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

from tracerank.evaluation.metrics import SINGLE_RULES, Outcome, choice, is_judged, oracle, written
from tracerank.methods.base import Decision, Method
from tracerank.pools.pool import Pool

SINGLE = "single"
ORACLE = "oracle"

_CHUNK_POOLS = 64
"""Few enough to hold; their cuts to several K share texts, which are then embedded once."""


@runtime_checkable
class StreamingMethod(Protocol):
    """A method that settles pools in batches of its own choosing."""

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]: ...


@dataclass(frozen=True, slots=True)
class Record:
    """What one method chose on one question with K rollouts, and how good that was."""

    question_id: str
    dataset: str | None
    method: str
    k: int
    answer: str | None
    """None: the pool has no candidate, or the figures are a mean over rollouts."""
    sample_id: int | None
    correct: float | None
    """Between 0 and 1; None: nobody knows."""
    f1: float | None
    """None: the question has no references."""


@dataclass(frozen=True, slots=True)
class Row:
    """One method at one K over all questions, each weighing the same."""

    method: str
    k: int
    accuracy: float | None
    """None: not one choice could be judged."""
    f1: float | None
    """None: not one question has references."""
    questions: int
    """Questions in the accuracy; empty pools are among them, as wrong."""
    unjudged: int
    """Questions left out of it, because nothing says whether the choice is right."""


def evaluate(methods: Sequence[Method], pools: Iterable[Pool], ks: Sequence[int]) -> Iterator[Record]:
    """Records of a single rollout, of each method and of the oracle, question by question."""
    stream = iter(pools)
    while chunk := list(islice(stream, _CHUNK_POOLS)):
        cuts = [(pool, k, pool.first(k)) for pool in chunk for k in ks]
        decided = [list(decide_stream(method, (first for _, _, first in cuts))) for method in methods]
        for place, (pool, k, first) in enumerate(cuts):
            yield _record(pool, SINGLE, k, SINGLE_RULES[pool.setting](first))
            for method, made in zip(methods, decided, strict=True):
                yield _record(pool, method.name, k, judge(first, made[place][1]))
            yield _record(pool, ORACLE, k, oracle(first))


def judge(pool: Pool, decision: Decision) -> Outcome:
    """How good a decision is: by the chosen rollout, or by its text where that was newly written."""
    if decision.sample_id is None and decision.answer:
        return written(pool, decision.answer)
    return choice(pool, decision.sample_id)


def decide_stream(method: Method, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Decision]]:
    """Each pool with its decision, in order; a method that works in batches gets the stream itself."""
    waiting: deque[Pool] = deque()

    def remembered() -> Iterator[Pool]:
        for pool in pools:
            waiting.append(pool)
            yield pool

    if isinstance(method, StreamingMethod):
        decisions = method.iter_decisions(remembered())
    else:
        decisions = map(method.decide, remembered())
    for decision in decisions:
        yield waiting.popleft(), decision


def fold(records: Iterable[Record]) -> list[Row]:
    """Rows by method and K, in order of first appearance."""
    sums: dict[tuple[str, int], _Sums] = {}
    for record in records:
        sums.setdefault((record.method, record.k), _Sums()).add(record)
    return [found.row(method, k) for (method, k), found in sums.items()]


@dataclass(slots=True)
class _Sums:
    correct: float = 0.0
    judged: int = 0
    f1: float = 0.0
    referenced: int = 0
    questions: int = 0

    def add(self, record: Record) -> None:
        self.questions += 1
        if record.correct is not None:
            self.correct += record.correct
            self.judged += 1
        if record.f1 is not None:
            self.f1 += record.f1
            self.referenced += 1

    def row(self, method: str, k: int) -> Row:
        accuracy = self.correct / self.judged if self.judged else None
        f1 = self.f1 / self.referenced if self.referenced else None
        return Row(method, k, accuracy, f1, self.judged, self.questions - self.judged)


def _record(pool: Pool, method: str, k: int, outcome: Outcome) -> Record:
    # Judged by the whole pool, so that a question is in or out for every K alike.
    correct = outcome.correct if is_judged(pool) else None
    question = pool.question
    return Record(question.id, question.dataset, method, k, outcome.answer, outcome.sample_id, correct, outcome.f1)
