"""Methods judged on pools: one record per question, method and K, each as soon as it is made."""

import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import fmean
from typing import Any

from tracerank.evaluation.records import EscalatedRecord, Key, Record
from tracerank.pools.correctness import Compare, Outcome, by_exact_match, choice, is_judged, written
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.pools.types import BROWSING
from tracerank.votes.base import Decision, Method, OnFailure, decide_stream

SINGLE = "single"
"""The first rollout, for any pool and K."""
MEAN_SINGLE = "mean-single"
"""The mean over all samples: the paper's single rollout of browsing (App. A.1)."""
ORACLE = "oracle"
REFERENCES = (SINGLE, MEAN_SINGLE, ORACLE)
"""Rows that decide nothing; mean-single is there for browsing pools, and where it is asked for."""
CHUNK_POOLS = 64
"""Few enough to hold; pools of several K share texts, which are then embedded once."""


def evaluate(
    methods: Sequence[Method],
    pools: Iterable[Pool],
    ks: Sequence[int],
    *,
    backbone: str | None = None,
    done: Container[Key] = frozenset(),
    compare: Compare = by_exact_match,
    has_means: bool = False,
    on_failure: OnFailure | None = None,
) -> Iterator[Record]:
    """Records of a single rollout, of each method and of the oracle, with the first K rollouts.

    Keys in ``done`` are left out. ``compare`` judges what a method wrote that is no rollout's answer. ``has_means``
    adds mean-single for all pools, not only for browsing. A pool on which a method fails counts as wrong and is
    reported to ``on_failure``; without ``on_failure`` the failure is raised.
    """
    stream = iter(pools)
    while chunk := list(islice(stream, CHUNK_POOLS)):
        work = [_Work(pool, k, pool.first(k), backbone) for pool in chunk for k in ks]

        def left(method: str, work: list[_Work] = work) -> list[_Work]:
            return [each for each in work if each.key(method) not in done]

        yield from (each.record(SINGLE, first_sample(each.first)) for each in left(SINGLE))
        averaged = (each for each in left(MEAN_SINGLE) if has_means or each.pool.setting == BROWSING)
        yield from (each.record(MEAN_SINGLE, mean_sample(each.pool.first(max(ks)))) for each in averaged)
        for method in methods:
            open_work = left(method.name)
            for k in sorted(ks, reverse=True):  # a K at a time, the largest first: it pays for new vectors
                yield from _decided(method, [each for each in open_work if each.k == k], compare, on_failure)
        yield from (each.record(ORACLE, oracle(each.first)) for each in left(ORACLE))


@dataclass(frozen=True, slots=True)
class _Work:
    """One question with its first K rollouts, for any method."""

    pool: Pool
    k: int
    first: Pool
    backbone: str | None

    def key(self, method: str) -> Key:
        return self.backbone, self.pool.question.id, method, self.k

    def record(self, method: str, outcome: Outcome, **decided: Any) -> Record:
        """The record of an outcome that is known to be right or wrong if anything is known about the pool."""
        question = self.pool.question
        return Record(
            question_id=question.id,
            dataset=question.dataset,
            method=method,
            k=self.k,
            answer=outcome.answer,
            sample_id=outcome.sample_id,
            # By the whole pool, so that a question is in or out for every K alike.
            correct=outcome.correct if is_judged(self.pool) else None,
            f1=outcome.f1,
            backbone=self.backbone,
            **decided,
        )

    def decided(self, method: str, decision: Decision, seconds: float, compare: Compare) -> Record:
        """The record of a decision; the choice of a server that failed is neither right nor wrong."""
        pool, outcome = self.first, judge(self.first, decision, compare)
        is_outage = decision.problem is not None and not decision.is_fault
        if is_outage:
            outcome = Outcome(outcome.answer, outcome.sample_id, None, None)
        return self.record(
            method,
            outcome,
            seconds=seconds,
            **(asdict(decision.usage) if decision.usage is not None else {}),
            note=decision.note,
            dropped=dict(Counter(drop_reasons(pool, decision.dropped))) if decision.dropped else {},
            confidence=decision.confidence,
            counts=dict(decision.counts),
            reply=decision.reply,
            problem=decision.problem,
            escalated=_escalated(pool, decision, compare, is_judged(self.pool) and not is_outage),
        )


def _escalated(pool: Pool, decision: Decision, compare: Compare, is_known: bool) -> EscalatedRecord | None:
    found = decision.escalated
    if found is None:
        return None
    before = found.before
    return EscalatedRecord(
        method=found.method,
        below=found.below,
        outcome=found.outcome,
        answer=before.answer,
        sample_id=before.sample_id,
        correct=judge(pool, before, compare).correct if is_known else None,
        confidence=before.confidence,
        **(asdict(found.usage) if found.usage is not None else {}),
        problem=found.problem,
    )


def _decided(method: Method, work: Sequence[_Work], compare: Compare, on_failure: OnFailure | None) -> Iterator[Record]:
    began = time.monotonic()
    decisions = decide_stream(method, (each.first for each in work), on_failure)
    for each, (_, decision) in zip(work, decisions, strict=True):
        yield each.decided(method.name, decision, time.monotonic() - began, compare)
        began = time.monotonic()


def judge(pool: Pool, decision: Decision, compare: Compare = by_exact_match) -> Outcome:
    """How good a decision is: by the chosen rollout, or by its text where that was newly written."""
    if decision.sample_id is None and decision.answer:
        return written(pool, decision.answer, compare)
    return choice(pool, decision.sample_id)


def first_sample(pool: Pool) -> Outcome:
    """Sample 0, unfiltered: a single rollout, and the paper's single rollout of WebQA (App. A.1)."""
    return choice(pool, pool.rollouts[0].sample_id if pool.rollouts else None)


def mean_sample(pool: Pool) -> Outcome:
    """The mean over all judged samples: the paper's single rollout of long-horizon browsing (App. A.1)."""
    outcomes = [choice(pool, rollout.sample_id) for rollout in pool.rollouts]
    correct = [one.correct for one in outcomes if one.correct is not None]
    f1 = [one.f1 for one in outcomes if one.f1 is not None]
    return Outcome(None, None, fmean(correct) if correct else None, fmean(f1) if f1 else None)


def oracle(pool: Pool) -> Outcome:
    """The best that any choice among all samples, retained or not, could reach; F1 and correctness each on its own."""
    outcomes = [choice(pool, rollout.sample_id) for rollout in pool.rollouts]
    known = [outcome for outcome in outcomes if outcome.correct is not None]
    best = max(known, key=lambda outcome: outcome.correct or 0.0, default=None)
    f1 = max((outcome.f1 or 0.0 for outcome in outcomes), default=0.0) if pool.question.references else None
    if best is None or ((best.correct or 0.0) < 1 and len(known) < len(outcomes)):
        return Outcome(None, None, None, f1)  # an unjudged sample may be right
    if not best.correct:
        return Outcome(None, None, 0.0, f1)
    return Outcome(best.answer, best.sample_id, best.correct, f1)
