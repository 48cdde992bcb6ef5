"""Methods judged on pools: one record per question, method, K and subset, and the rows folded from the records.

``evaluate`` makes records of a stream of pools; ``run_evaluation`` does the whole work of ``tracerank evaluate``.
Nothing is rounded.
"""

import time
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.escalation import EscalationCurve, EscalationCurves
from tracerank.evaluation.labels import Labelling
from tracerank.evaluation.records import EscalatedRecord, Key, Record, RecordFolder, read_evaluation
from tracerank.evaluation.tally import Tally
from tracerank.pools.correctness import Compare, Outcome, best_of_group, by_exact_match, choice, is_judged, written
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.pools.subsets import FIRST, Cut, Split, cuts
from tracerank.pools.types import BROWSING
from tracerank.votes.base import Decision, Method, OnFailure, decide_stream

SINGLE = "single"
"""The first rollout, whatever the pool and K."""
MEAN_SINGLE = "mean-single"
"""The mean over all samples: the paper's single rollout of browsing (App. A.1)."""
ORACLE = "oracle"
REFERENCES = (SINGLE, MEAN_SINGLE, ORACLE)
"""Rows that decide nothing; mean-single is there for browsing pools, and where it is asked for."""
CHUNK_POOLS = 64
"""Few enough to hold; their cuts to several K share texts, which are then embedded once."""


@dataclass(frozen=True, slots=True)
class Row:
    """One method at one K over all questions, each with the same weight."""

    method: str
    k: int
    accuracy: float | None
    """None: no choice could be judged."""
    f1: float | None
    """None: no question has references."""
    questions: int
    """Questions in the accuracy; empty pools are among them, as wrong."""
    unjudged: int
    """Questions left out of it, because the correctness of the choice is unknown."""


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
    """Records of a single rollout, of each method and of the oracle, each as soon as it is made.

    Keys in ``done`` are left out. ``compare`` judges what a method wrote that is no rollout's answer. ``has_means``
    adds mean-single for all pools, not only for browsing. A pool on which a method fails counts as wrong and is
    reported to ``on_failure``; without ``on_failure`` the failure is raised.
    """
    stream = iter(pools)
    while chunk := list(islice(stream, CHUNK_POOLS)):
        work = [_Work(pool, cut, backbone) for pool in chunk for cut in cuts(pool, ks, subsets, seed)]

        def left(method: str, work: list[_Work] = work) -> list[_Work]:
            return [each for each in work if each.key(method) not in done]

        yield from (each.record(SINGLE, first_sample(each.cut.pool)) for each in left(SINGLE))
        averaged = (each for each in left(MEAN_SINGLE) if has_means or each.pool.setting == BROWSING)
        yield from (each.record(MEAN_SINGLE, each.mean_single(max(ks))) for each in averaged)
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

    def mean_single(self, largest: int) -> Outcome:
        """Over the first samples up to the largest K; of a random subset over its own samples."""
        return mean_sample(self.pool.first(largest) if self.cut.subset == FIRST else self.cut.pool)

    def record(self, method: str, outcome: Outcome) -> Record:
        """The record of an outcome that is known to be right or wrong if anything is known about the pool."""
        # By the whole pool, so that a question is in or out for every K alike.
        correct = outcome.correct if is_judged(self.pool) else None
        question = self.pool.question
        return Record(
            question.id,
            question.dataset,
            method,
            self.cut.k,
            outcome.answer,
            outcome.sample_id,
            correct,
            outcome.f1,
            group_correct=correct,
            backbone=self.backbone,
            subset=self.cut.subset,
        )

    def decided(self, method: str, decision: Decision, seconds: float, compare: Compare) -> Record:
        """The record of a decision; the choice of a server that failed is neither right nor wrong."""
        pool, usage = self.cut.pool, decision.usage
        made = self.record(method, judge(pool, decision, compare))
        is_outage = decision.problem is not None and not decision.is_fault
        is_known = is_judged(self.pool) and not is_outage
        if is_outage:
            made = replace(made, correct=None, group_correct=None, f1=None)
        elif decision.group and is_known:
            made = replace(made, group_correct=best_of_group(pool, decision.group))
        return replace(
            made,
            seconds=seconds,
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            calls=usage.calls if usage else None,
            note=decision.note,
            dropped=dict(Counter(drop_reasons(pool, decision.dropped))) if decision.dropped else {},
            confidence=decision.confidence,
            counts=dict(decision.counts),
            reply=decision.reply,
            problem=decision.problem,
            escalated=_escalated(pool, decision, compare, is_known),
        )


def _escalated(pool: Pool, decision: Decision, compare: Compare, is_known: bool) -> EscalatedRecord | None:
    found = decision.escalated
    if found is None:
        return None
    usage, before = found.usage, found.before
    return EscalatedRecord(
        found.method,
        found.below,
        found.outcome,
        before.answer,
        before.sample_id,
        judge(pool, before, compare).correct if is_known else None,
        before.confidence,
        usage.calls if usage else None,
        usage.prompt_tokens if usage else None,
        usage.completion_tokens if usage else None,
        found.problem,
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
    for _, decision in decide_stream(method, drawn(), on_failure):
        # A method that draws several pools before its first decision works on all of them.
        part = (time.monotonic() - began) / len(shares)
        shares = deque(share + part for share in shares)
        yield next(waiting).decided(method.name, decision, shares.popleft(), compare)
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
    correct = [outcome.correct for outcome in outcomes if outcome.correct is not None]
    f1 = [outcome.f1 for outcome in outcomes if outcome.f1 is not None]
    return Outcome(None, None, sum(correct) / len(correct) if correct else None, sum(f1) / len(f1) if f1 else None)


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


def fold(records: Iterable[Record]) -> list[Row]:
    """Rows of the first K rollouts: methods in order of first appearance, their K ascending."""
    sums: dict[tuple[str, int], list[float]] = {}
    for record in records:
        if record.subset == FIRST:
            found = sums.setdefault((record.method, record.k), [0.0] * 5)
            found[0] += 1
            for index, value in ((1, record.correct), (3, record.f1)):
                if value is not None:
                    found[index] += 1
                    found[index + 1] += value
    methods = list(dict.fromkeys(method for method, _ in sums))
    rows = []
    for method, k in sorted(sums, key=lambda key: (methods.index(key[0]), key[1])):
        questions, judged, correct, referenced, f1 = sums[method, k]
        accuracy = correct / judged if judged else None
        row = Row(method, k, accuracy, f1 / referenced if referenced else None, int(judged), int(questions - judged))
        rows.append(row)
    return rows


def fitted_sentence(fitted: int, questions: int, are_judged: bool) -> str:
    """How many questions a selector was fitted on, and what that means for the figures."""
    found = f"{fitted:,} of these {questions:,} questions were fitted on"
    if are_judged:
        return f"{found}: the figures of what was fitted are too good"
    return f"{found}; only the other {questions - fitted:,} are judged (--include-fitted judges all)"


@dataclass(slots=True)
class Summary:
    """What a run of ``run_evaluation`` found, beside its records."""

    labelling: Labelling
    include_fitted: bool = False
    rows: list[Row] = field(default_factory=list)
    escalations: list[EscalationCurve] = field(default_factory=list)
    not_held_out: int = 0
    """Questions that the split keeps for fitting."""
    fitted: int = 0
    """Questions that a selector was fitted on."""
    new: int = 0
    """Questions that no selector was fitted on."""
    unjudged: int = 0
    """Questions without a label or a reference, which are not decided."""
    short: Counter[int] = field(default_factory=Counter)
    """K to questions with fewer rollouts."""
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Method to what is known of its decisions."""
    wrong: set[str] = field(default_factory=set)
    """Methods whose failed decisions count as wrong."""

    @property
    def has_failures(self) -> bool:
        """Whether a decision or a label is missing that running again may bring."""
        return bool(self.labelling.failed) or any(tally.failed for tally in self.tallies.values())

    @property
    def sentences(self) -> list[str]:
        """What belongs to the figures: the rule of the labels, escalation, questions that were fitted on."""
        fitted = [fitted_sentence(self.fitted, self.fitted + self.new, self.include_fitted)] if self.fitted else []
        return [self.labelling.sentence, *(curve.sentence for curve in self.escalations), *fitted]

    @property
    def notes(self) -> list[str]:
        """What the user should know about how the figures were made."""
        made = [f"warning: {warning}"] if (warning := self.labelling.warning()) else []
        if self.labelling.judge is not None:
            made.append(self.labelling.judge.sentence)
        if self.unjudged:
            made.append(f"{self.unjudged:,} questions have neither a label nor a reference; they are left out")
        if self.short:
            few = ", ".join(f"{self.short[k]:,} questions at K={k}" for k in sorted(self.short))
            made.append(f"fewer rollouts than K: {few}")
        for tally in self.tallies.values():
            made += tally.notes()
        return made

    @property
    def failures(self) -> list[str]:
        """Decisions and labels that failed."""
        made: list[str] = []
        for name, tally in self.tallies.items():
            then = "they count as wrong" if name in self.wrong else "they are not in its figures"
            if any(curve.method == name for curve in self.escalations):
                then = "the first method's answer stands where it has one"
            made += filter(None, [tally.failures(then)])
        if self.labelling.judge is not None and self.labelling.failed:
            count, first = len(self.labelling.failed), self.labelling.judge.failed[0]
            made.append(
                f"{count:,} of {self.fitted + self.new:,} questions could not be judged, the first because {first}; "
                "they are left out; the same command asks about them again"
            )
        return made

    def record(self) -> dict[str, Any]:
        """As JSON has it, unrounded."""
        fitted = fitted_sentence(self.fitted, self.fitted + self.new, self.include_fitted) if self.fitted else None
        return {
            "labels": self.labelling.name,
            "labelling": {**self.labelling.record(), "sentence": self.labelling.sentence},
            "fitted_on": {"questions": self.fitted, "are_judged": self.include_fitted, "sentence": fitted},
            **({"escalation": [curve.record() for curve in self.escalations]} if self.escalations else {}),
            "rows": [asdict(row) for row in self.rows],
        }


def run_evaluation(
    methods: Sequence[Method],
    sets: Iterable[tuple[str | None, Iterable[Pool]]],
    ks: Sequence[int],
    labelling: Labelling,
    *,
    folder: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    subsets: int = 0,
    seed: int = 0,
    fitted: Container[Pool] = (),
    include_fitted: bool = False,
    split: Split | None = None,
    has_means: bool = False,
    on_failure: OnFailure | None = None,
) -> Summary:
    """Label and judge sets of pools, each with the name of its backbone, and record every decision in the folder.

    An interrupted run of the same ``settings`` resumes; other settings are refused unless ``force`` is set. Questions
    in ``fitted`` are left out unless ``include_fitted`` is set; of a ``split`` only what it holds out is judged.
    """
    summary = Summary(labelling, include_fitted)
    curves = EscalationCurves()
    whole = {**(settings or {}), "ks": list(ks), "subsets": subsets, "seed": seed, "labels": labelling.name}

    def judged(pools: Iterable[Pool]) -> Iterator[Pool]:
        for pool in pools:
            if split is not None and not split.holds_out(pool.question):
                summary.not_held_out += 1
                continue
            is_fitted = pool in fitted
            summary.fitted += is_fitted
            summary.new += not is_fitted
            if include_fitted or not is_fitted:
                yield pool

    def labelled(pools: Iterable[Pool]) -> Iterator[Pool]:
        for pool in labelling.pools(judged(pools)):
            if pool.question.id in labelling.failed:
                continue
            if not is_judged(pool):
                summary.unjudged += 1
                continue
            summary.short.update(k for k in ks if len(pool) < k)
            yield pool

    def passed(records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            summary.tallies.setdefault(record.method, Tally(record.method)).add(record)
            if record.failure is not None and record.correct is not None:
                summary.wrong.add(record.method)
            curves.add(record)
            yield record

    def made(target: RecordFolder | None) -> Iterator[Record]:
        if target is not None:
            yield from read_evaluation(target.folder).records()
        for backbone, pools in sets:
            known = labelled(pools)
            if target is not None:
                known = target.noting(known, backbone, fitted)
            for record in evaluate(
                methods,
                known,
                ks,
                subsets=subsets,
                seed=seed,
                backbone=backbone,
                done=target.done if target is not None else (),
                compare=labelling.answer,
                has_means=has_means,
                on_failure=on_failure,
            ):
                if target is not None:
                    target.write(record)
                yield record

    with nullcontext() if folder is None else RecordFolder(folder, whole, force) as target:
        summary.rows = fold(passed(made(target)))
        _check_judged(summary)
        if target is not None:
            target.write_labels(labelling.record())
            if labelling.failed:
                target.leave_incomplete()
    summary.escalations = curves.all()
    return summary


def _check_judged(summary: Summary) -> None:
    """Refuse that nothing was left to judge."""
    met, failed = summary.fitted + summary.new, summary.labelling.failed
    if not met and summary.not_held_out:
        raise UsageError(f"--split: holds out none of {summary.not_held_out:,} questions; nothing to judge")
    if summary.fitted == met and met and not summary.include_fitted:
        raise UsageError(
            f"all {met:,} questions were fitted on; none is left to judge. Evaluate on other questions, or fit and "
            "evaluate with the same --split 0.3; --include-fitted judges them all the same"
        )
    if any(row.questions for row in summary.rows):
        return
    if summary.labelling.judge is not None and failed:
        raise UsageError(f"no question could be judged, the first because {summary.labelling.judge.failed[0]}")
    raise UsageError(f"none of {summary.unjudged:,} questions has a label or a reference; nothing to compare")
