"""Methods on pools: one record per question, method, K and subset, and the table folded from the records.

Streams; a record keeps what was chosen, so that every figure can be traced to its questions. Rounds nothing.
"""

import time
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tracerank.evaluation.metrics import first_sample, mean_sample, oracle
from tracerank.pools.correctness import Compare, Outcome, best_of_group, by_exact_match, choice, is_judged, written
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.pools.subsets import FIRST, Cut, cuts
from tracerank.pools.types import BROWSING
from tracerank.votes.base import Decision, Method, OnFailure, decide_stream

SINGLE = "single"
"""The first rollout, whatever the pool is and whatever K is."""
MEAN_SINGLE = "mean-single"
"""The mean over all samples that are looked at: the paper's single rollout of browsing (App. A.1)."""
ORACLE = "oracle"
REFERENCES = (SINGLE, MEAN_SINGLE, ORACLE)
"""Rows of evaluations that decide nothing; mean-single is there for browsing pools, and where it is asked for."""

_CHUNK_POOLS = 64
"""Few enough to hold; their cuts to several K share texts, which are then embedded once."""

Key = tuple[str | None, str, str, int, int]
"""Backbone, question, method, K and subset: what a record is about."""


@dataclass(frozen=True, slots=True)
class EscalatedRecord:
    """What stood before another method was asked, and what asking it cost."""

    method: str
    """Who was asked."""
    below: float
    """The confidence below which it is asked."""
    outcome: str
    """``changed``, ``confirmed`` or ``kept``."""
    answer: str | None
    sample_id: int | None
    correct: float | None
    """Of the answer that stood before; None: nobody knows."""
    confidence: float | None
    """None: there was none, which counts as unsure."""
    calls: int | None = None
    """Of the other method alone; None: no model was asked, or nobody counted."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    problem: str | None = None
    """Why the other method failed, so that the first answer stands; the same run asks again. None: it did not."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one method chose on one question with K rollouts, and how good that was."""

    question_id: str
    dataset: str | None
    method: str
    k: int
    answer: str | None
    """None: the pool has no candidate, a model gave no answer (``counts``), or the figures are a mean over rollouts."""
    sample_id: int | None
    correct: float | None
    """Between 0 and 1; None: nobody knows."""
    f1: float | None
    """None: the question has no references."""
    group_correct: float | None = None
    """Of the best answer that the method takes for the same as the chosen one; None: nobody knows."""
    backbone: str | None = None
    """Who made the rollouts; None: nobody said."""
    subset: int = FIRST
    """0: the first K rollouts; from 1 on: a random subset."""
    seconds: float | None = None
    """Until the decision was there, after the one before; the time of a block is shared by all of it. What a method
    loads with its first decision is in there. None: nothing was decided."""
    prompt_tokens: int | None = None
    """Tokens and calls of deciding; None: no model was asked, or nobody counted."""
    completion_tokens: int | None = None
    calls: int | None = None
    note: str | None = None
    """What the method says about its decision."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason to number of rollouts that were no candidates."""
    confidence: float | None = None
    """The method's estimate that its answer is right; None: it gives none."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What happened while a model was asked, in the words of ``votes/base.py``."""
    reply: str | None = None
    """What a model wrote and the answer was read from; None: no model wrote an answer."""
    problem: str | None = None
    """Why nothing was decided: the method failed, which is wrong, or a server, which is in no figure. The same run
    makes such a record again."""
    escalated: EscalatedRecord | None = None
    """That another method was asked, because the first was unsure; None: it was not."""

    @property
    def key(self) -> Key:
        return self.backbone, self.question_id, self.method, self.k, self.subset

    @property
    def failure(self) -> str | None:
        """What failed, also where a decision could be made in spite of it; None: nothing did."""
        return self.problem or (None if self.escalated is None else self.escalated.problem)


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


def evaluate(
    methods: Sequence[Method],
    pools: Iterable[Pool],
    ks: Sequence[int],
    *,
    subsets: int = 0,
    seed: int = 0,
    backbone: str | None = None,
    done: Container[Key] = frozenset(),
    compare: Compare = by_exact_match,
    has_means: bool = False,
    on_failure: OnFailure | None = None,
) -> Iterator[Record]:
    """Records of a single rollout, of each method and of the oracle, each as soon as it is there.

    What is done already is left out. ``compare`` judges what a method wrote that no rollout said. ``has_means`` gives
    mean-single of all pools, not of browsing alone. A pool on which a method fails counts as wrong where
    ``on_failure`` is there to be told; else it raises.
    """
    stream = iter(pools)
    while chunk := list(islice(stream, _CHUNK_POOLS)):
        work = [_Work(pool, cut, backbone) for pool in chunk for cut in cuts(pool, ks, subsets, seed)]

        def left(method: str, work: list[_Work] = work) -> list[_Work]:
            return [each for each in work if each.key(method) not in done]

        yield from (each.record(SINGLE, first_sample(each.cut.pool)) for each in left(SINGLE))
        averaged = (each for each in left(MEAN_SINGLE) if has_means or each.pool.setting == BROWSING)
        yield from (each.record(MEAN_SINGLE, _mean_single(each, max(ks))) for each in averaged)
        for method in methods:
            for budget in _by_budget(left(method.name)):
                yield from _decided(method, budget, compare, on_failure)
        yield from (each.record(ORACLE, oracle(each.cut.pool)) for each in left(ORACLE))


@dataclass(frozen=True, slots=True)
class _Work:
    """One cut of one question, for any method."""

    pool: Pool
    cut: Cut
    backbone: str | None

    def key(self, method: str) -> Key:
        return self.backbone, self.pool.question.id, method, self.cut.k, self.cut.subset

    def record(
        self,
        method: str,
        outcome: Outcome,
        decision: Decision | None = None,
        seconds: float | None = None,
        compare: Compare = by_exact_match,
    ) -> Record:
        # Judged by the whole pool, so that a question is in or out for every K alike; an outage is judged by nobody.
        is_outage = decision is not None and decision.problem is not None and not decision.is_fault
        is_known = is_judged(self.pool) and not is_outage
        correct = outcome.correct if is_known else None
        group = decision.group if decision else ()
        usage = decision.usage if decision else None
        question = self.pool.question
        return Record(
            question.id,
            question.dataset,
            method,
            self.cut.k,
            outcome.answer,
            outcome.sample_id,
            correct,
            None if is_outage else outcome.f1,
            best_of_group(self.cut.pool, group) if group and is_known else correct,
            self.backbone,
            self.cut.subset,
            seconds,
            usage.prompt_tokens if usage else None,
            usage.completion_tokens if usage else None,
            usage.calls if usage else None,
            decision.note if decision else None,
            _reasons(self.cut.pool, decision.dropped) if decision else {},
            decision.confidence if decision else None,
            dict(decision.counts) if decision else {},
            decision.reply if decision else None,
            decision.problem if decision else None,
            _escalated(self.cut.pool, decision, compare, is_known) if decision else None,
        )


def _escalated(pool: Pool, decision: Decision, compare: Compare, is_known: bool) -> EscalatedRecord | None:
    told = decision.escalated
    if told is None:
        return None
    usage, before = told.usage, told.before
    return EscalatedRecord(
        told.method,
        told.below,
        told.outcome,
        before.answer,
        before.sample_id,
        judge(pool, before, compare).correct if is_known else None,
        before.confidence,
        usage.calls if usage else None,
        usage.prompt_tokens if usage else None,
        usage.completion_tokens if usage else None,
        told.problem,
    )


def _by_budget(work: list[_Work]) -> list[list[_Work]]:
    """One K at a time, so that a block's time belongs to it; the largest first, so that it pays for new vectors."""
    found: dict[tuple[int, int], list[_Work]] = {}
    for each in work:
        found.setdefault((each.cut.subset, -each.cut.k), []).append(each)
    return [found[budget] for budget in sorted(found)]


def _decided(method: Method, work: list[_Work], compare: Compare, on_failure: OnFailure | None) -> Iterator[Record]:
    waiting = iter(work)
    shares: deque[float] = deque()  # seconds of each pool that was drawn and is not decided yet

    def drawn() -> Iterator[Pool]:
        for each in work:
            shares.append(0.0)
            yield each.cut.pool

    began = time.monotonic()
    for pool, decision in decide_stream(method, drawn(), on_failure):
        # Who draws several pools before the first decision works on all of them.
        part = (time.monotonic() - began) / len(shares)
        shares = deque(share + part for share in shares)
        outcome = judge(pool, decision, compare)
        yield next(waiting).record(method.name, outcome, decision, shares.popleft(), compare)
        began = time.monotonic()


def _mean_single(work: _Work, largest: int) -> Outcome:
    """Whatever K is, over all samples that are looked at; of a random subset over its own."""
    return mean_sample(work.pool.first(largest) if work.cut.subset == FIRST else work.cut.pool)


def _reasons(pool: Pool, dropped: Mapping[int, str]) -> dict[str, int]:
    return dict(Counter(drop_reasons(pool, dropped))) if dropped else {}


def judge(pool: Pool, decision: Decision, compare: Compare = by_exact_match) -> Outcome:
    """How good a decision is: by the chosen rollout, or by its text where that was newly written."""
    if decision.sample_id is None and decision.answer:
        return written(pool, decision.answer, compare)
    return choice(pool, decision.sample_id)


def fold(records: Iterable[Record]) -> list[Row]:
    """Rows of the first K rollouts: methods in order of first appearance, their K ascending."""
    sums: dict[tuple[str, int], _Sums] = {}
    for record in records:
        if record.subset == FIRST:
            sums.setdefault((record.method, record.k), _Sums()).add(record)
    methods = list(dict.fromkeys(method for method, _ in sums))
    return [sums[key].row(*key) for key in sorted(sums, key=lambda key: (methods.index(key[0]), key[1]))]


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
