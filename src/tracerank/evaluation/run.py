"""The whole work of ``tracerank evaluate``: what is labelled and judged, recorded, left out, and said of it."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.agent_table import agents_record
from tracerank.evaluation.escalation import EscalationResult, escalations
from tracerank.evaluation.evaluate import REFERENCES, SINGLE, evaluate
from tracerank.evaluation.labels import Labelling
from tracerank.evaluation.records import Record, RecordFolder, read_records
from tracerank.evaluation.report_tables import Compared, Figures
from tracerank.evaluation.scores import Row, ScoreFold
from tracerank.evaluation.tables import POINTS, shown
from tracerank.evidence.confidence import set_level
from tracerank.evidence.level import read_ahead
from tracerank.pools.correctness import is_judged
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import Split
from tracerank.votes.agents import AgentTally
from tracerank.votes.base import Method, OnFailure
from tracerank.votes.tally import Tally


def fitted_sentence(fitted: int, questions: int, are_judged: bool) -> str | None:
    """How many questions a selector was fitted on, and what that means for the figures; None: it was on none."""
    if not fitted:
        return None
    found = f"{fitted:,} of these {questions:,} questions were fitted on"
    if are_judged:
        return f"{found}: the figures of what was fitted are too good"
    return f"{found}; only the other {questions - fitted:,} are judged (--include-fitted judges all)"


@dataclass(slots=True)
class Summary:
    """What a run found, beside its records."""

    labelling: Labelling
    include_fitted: bool = False
    rows: list[Row] = field(default_factory=list)
    compared: dict[int, list[Compared]] = field(default_factory=dict)
    """K to every method beside the vote; without a vote, beside the first rollout."""
    escalations: list[EscalationResult] = field(default_factory=list)
    not_held_out: int = 0
    """Questions that the split keeps for fitting."""
    met: int = 0
    """The other questions."""
    fitted: int = 0
    """Those of them that a selector was fitted on."""
    unjudged: int = 0
    """Questions without a label or a reference, which are not decided."""
    short: Counter[int] = field(default_factory=Counter)
    """K to questions with fewer rollouts."""
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Method to what is known of its decisions."""
    agents: AgentTally = field(default_factory=AgentTally)
    """What is known of the agents, where pools mix several."""

    @property
    def has_failures(self) -> bool:
        """Whether a decision or a label is missing that running again may bring."""
        return bool(self.labelling.failed) or any(tally.failed for tally in self.tallies.values())

    @property
    def sentences(self) -> list[str]:
        """What belongs to the figures: the rule of the labels, escalation, questions that were fitted on."""
        fitted = fitted_sentence(self.fitted, self.met, self.include_fitted)
        made = (self.labelling.sentence, *(one.sentence for one in self.escalations), fitted)
        return [sentence for sentence in made if sentence]

    @property
    def verdict(self) -> str | None:
        """Whether the best method surely beats the vote at the largest K; None: there is nothing to compare."""
        k, compared = max(self.compared.items())
        rivals = [one for one in compared if one.difference is not None and one.method not in REFERENCES]
        if not rivals:
            return None
        best = max(rivals, key=lambda one: one.accuracy or 0.0)
        vote = next(one.method for one in compared if one.difference is None)
        gain, low, high = (
            shown(value, POINTS) for value in (best.difference, best.difference_low, best.difference_high)
        )
        words = "no clear difference between {} and {}"
        if (best.difference_low or 0.0) > 0:
            words = "{} is better than {}"
        elif (best.difference_high or 0.0) < 0:
            words = "{} is worse than {}"
        return f"{words.format(best.method, vote)}: {gain} points at K={k}, 95% interval {low} to {high}"

    @property
    def notes(self) -> list[str]:
        """What the user should know about how the figures were made."""
        made = [f"warning: {warning}" for warning in self.labelling.warnings()]
        if self.labelling.judge is not None:
            made.append(self.labelling.judge.sentence)
        if self.unjudged:
            made.append(f"{self.unjudged:,} questions have neither a label nor a reference; they are left out")
        if self.short:
            few = ", ".join(f"{self.short[k]:,} questions at K={k}" for k in sorted(self.short))
            made.append(f"fewer rollouts than K: {few}")
        return made + [line for tally in self.tallies.values() for line in tally.notes()]

    @property
    def failures(self) -> list[str]:
        """Decisions and labels that failed."""
        made: list[str] = []
        for name, tally in self.tallies.items():
            then = "they count as wrong" if tally.is_wrong else "they are not in its figures"
            if any(one.method == name for one in self.escalations):
                then = "the first method's answer stands where it has one"
            made += filter(None, [tally.failures(then)])
        if self.labelling.judge is not None and self.labelling.failed:
            made.append(
                f"{len(self.labelling.failed):,} of {self.met:,} questions could not be judged, the first because "
                f"{self.labelling.judge.failed[0]}; they are left out; the same command asks about them again"
            )
        return made

    def record(self) -> dict[str, Any]:
        """As JSON has it, unrounded."""
        fitted = fitted_sentence(self.fitted, self.met, self.include_fitted)
        return {
            "labels": self.labelling.name,
            "labelling": {**self.labelling.record(), "sentence": self.labelling.sentence},
            "fitted_on": {"questions": self.fitted, "are_judged": self.include_fitted, "sentence": fitted},
            **({"escalation": [asdict(one) for one in self.escalations]} if self.escalations else {}),
            "rows": [asdict(row) for row in self.rows],
            **agents_record(self.agents),
        }

    def leave_out_repeats(self) -> None:
        """Show no K for which every question has too few rollouts, except the smallest: its figures are the same."""
        judged = max(row.questions for row in self.rows)
        for k in sorted(k for k, count in self.short.items() if count >= judged)[1:]:
            del self.compared[k], self.short[k]

    def refuse_nothing(self) -> None:
        """Refuse a run in which nothing was left to judge."""
        if not self.met and self.not_held_out:
            raise UsageError(f"--split: holds out none of {self.not_held_out:,} questions; nothing to judge")
        if self.fitted == self.met and self.met and not self.include_fitted:
            raise UsageError(
                f"all {self.met:,} questions were fitted on; none is left to judge. Evaluate on other questions, or "
                "fit and evaluate with the same --split 0.3; --include-fitted judges them all the same"
            )
        if any(row.questions for row in self.rows):
            return
        if self.labelling.judge is not None and self.labelling.failed:
            raise UsageError(f"no question could be judged, the first because {self.labelling.judge.failed[0]}")
        raise UsageError(f"none of {self.unjudged:,} questions has a label or a reference; nothing to compare")


def run_evaluation(
    methods: Sequence[Method],
    sets: Iterable[tuple[str | None, Iterable[Pool]]],
    ks: Sequence[int],
    labelling: Labelling,
    *,
    folder: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
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
    summary, scores = Summary(labelling, include_fitted), ScoreFold()
    whole = {**(settings or {}), "ks": list(ks), "labels": labelling.name}

    def held_out(pools: Iterable[Pool]) -> Iterator[Pool]:
        for pool in pools:
            if split is not None and not split.holds_out(pool.question):
                summary.not_held_out += 1
                continue
            is_fitted = pool in fitted
            summary.met += 1
            summary.fitted += is_fitted
            if include_fitted or not is_fitted:
                yield pool

    def labelled(pools: Iterable[Pool]) -> Iterator[Pool]:
        for pool in labelling.pools(held_out(pools)):
            if pool.question.id in labelling.failed:
                continue
            if not is_judged(pool):
                summary.unjudged += 1
                continue
            summary.short.update(k for k in ks if len(pool) < k)
            summary.agents.add(pool)
            yield pool

    def add(record: Record) -> None:
        summary.tallies.setdefault(record.method, Tally(record.method)).add(record, record.correct)
        scores.add(record)

    with nullcontext() if folder is None else RecordFolder(folder, whole, force) as target:
        for record in () if target is None else read_records(target.folder):
            add(record)
        for backbone, pools in sets:
            level, every = read_ahead(pools)
            for method in methods:
                set_level(method, level)
            known = labelled(every)
            for record in evaluate(
                methods,
                known if target is None else target.noting(known, backbone, fitted),
                ks,
                backbone=backbone,
                done=() if target is None else target.done,
                compare=labelling.answer,
                has_means=has_means,
                on_failure=on_failure,
            ):
                if target is not None:
                    target.write(record)
                add(record)
        matrix = scores.matrix()
        summary.compared = {k: Figures.of(matrix, k).compared or Figures(matrix, k, SINGLE).compared for k in matrix.ks}
        summary.rows, summary.escalations = matrix.rows(), escalations(matrix, matrix.ks)
        summary.refuse_nothing()
        if target is not None:
            target.write_labels(labelling.record())
            target.write_agents(summary.agents.figures())
            if labelling.failed:
                target.leave_incomplete()
    return summary
