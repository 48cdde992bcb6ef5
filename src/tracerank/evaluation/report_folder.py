"""A report from folders of records to a folder of files: Markdown, JSON, a CSV per table and plots.

What the tables say is the matter of ``report.py``; how a cell is written that of ``tables.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.fitted_questions import fitted_sentence
from tracerank.evaluation.gains import alike, gain_curves, merged
from tracerank.evaluation.labels import labels_words
from tracerank.evaluation.plots import draw_accuracy_by_cost, draw_accuracy_by_k, draw_gain_by_k
from tracerank.evaluation.prices import PriceTable
from tracerank.evaluation.record_folder import Evaluation, read_evaluation
from tracerank.evaluation.report import (
    MAJORITY,
    ReportPlan,
    accuracy_curves,
    baseline,
    cost_points,
    report_tables,
)
from tracerank.evaluation.report_page.page import report_page, write_page
from tracerank.evaluation.report_page.viewer_page import ViewerPage, find_viewer, read_viewer
from tracerank.evaluation.score_matrix import ScoreMatrix, score_matrix
from tracerank.evaluation.tables import Table, markdown, wide_csv
from tracerank.runs.atomic import write_json, write_text

WHOLE_REPORT = ReportPlan()
"""The largest K, against the majority vote."""


@dataclass(frozen=True, slots=True)
class Report:
    """Every table that the records of some evaluations allow."""

    title: str
    tables: tuple[Table, ...]
    scores: ScoreMatrix
    plan: ReportPlan
    labels: tuple[tuple[str, str], ...] = ()
    """Folder, and what labelled its answers."""
    warning: str | None = None
    """What the reader should know before comparing figures; None: nothing."""

    def record(self) -> dict[str, Any]:
        """The report as JSON has it, unrounded."""
        return {
            "title": self.title,
            "labels": dict(self.labels),
            "warnings": [] if self.warning is None else [self.warning],
            "tables": [table.as_json() for table in self.tables],
        }

    def markdown(self) -> str:
        """The report as a page."""
        return markdown(self.tables, self.title)

    def write(self, folder: str | Path, has_plots: bool = True, viewer: Path | None = None) -> None:
        """The page, Markdown, JSON, a CSV per table and, with matplotlib, the plots as SVG and PNG.

        The page links to ``viewer``, a page of the viewer, or to the first that lies in this folder or beside the
        records.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "report.md", self.markdown())
        write_json(folder / "report.json", self.record())
        for table in self.tables:
            write_text(folder / f"{table.name}.csv", wide_csv(table))
        write_page(folder, self.page(self._viewer(folder, viewer)))
        if has_plots:
            self.draw(folder)

    def page(self, viewer: ViewerPage | None = None) -> str:
        """The report as a page for the browser."""
        labels = [words for _, words in self.labels]
        return report_page(self.title, self.tables, self.scores, self.plan, labels, self.warning, viewer)

    def _viewer(self, folder: Path, given: Path | None) -> ViewerPage | None:
        path = given or find_viewer([folder, *(Path(name) for name, _ in self.labels)])
        return None if path is None else read_viewer(path, folder)

    def draw(self, folder: Path) -> None:
        """The plots alone; they need matplotlib."""
        self._draw_by_k(folder, "", "the first K rollouts", is_random=False)
        if self.scores.has_subsets:
            self._draw_by_k(folder, "random_", "random K rollouts, mean over subsets", is_random=True)
        k = self.plan.k or self.scores.ks[-1]
        if points := cost_points(self.scores, k):
            draw_accuracy_by_cost(points, f"accuracy against time, K={k}", folder)

    def _draw_by_k(self, folder: Path, name: str, words: str, is_random: bool) -> None:
        curves = merged(accuracy_curves(self.scores, self.plan, is_random), alike(self.scores))
        draw_accuracy_by_k(curves, f"accuracy with {words}", folder, f"accuracy_by_{name}k")
        if gains := gain_curves(self.scores, self.plan, is_random):
            against = baseline(self.scores, self.plan)
            title = f"gain over {against} with {words}, 95% paired bootstrap bands"
            draw_gain_by_k(gains, title, folder, f"gain_by_{name}k")


def make_report(
    folders: Sequence[str | Path], plan: ReportPlan = WHOLE_REPORT, prices: PriceTable | None = None
) -> Report:
    """Fold the records of evaluations; what the plan asks for must be among them."""
    paths = [Path(folder) for folder in folders]
    evaluations = [read_evaluation(path) for path in paths]
    labels = tuple((str(path), _labels_of(each)) for path, each in zip(paths, evaluations, strict=True))
    warning = _differing(labels)
    evaluations, fitted = _new_questions(evaluations, plan, paths)
    try:
        scores = score_matrix(evaluations, prices)
    except UsageError as error:
        raise error if warning is None else UsageError(f"{error}; {warning}") from None
    _check(scores, plan, paths)
    title = f"{len(scores.questions):,} questions of {', '.join(path.name for path in paths)}"
    main, *others = report_tables(scores, plan)
    told = "Labels: " + "; ".join(dict.fromkeys(words for _, words in labels)) + "."
    tables = (replace(main, notes=(*main.notes, told, *fitted)), *others)
    return Report(title, tables, scores, plan, labels, "; ".join(filter(None, (warning, *fitted))) or None)


def _new_questions(
    evaluations: list[Evaluation], plan: ReportPlan, paths: Sequence[Path]
) -> tuple[list[Evaluation], tuple[str, ...]]:
    """The evaluations without questions that were fitted on, unless the plan wants them, and what to say of it."""
    met = frozenset(facts.key for each in evaluations for facts in each.questions if facts.is_fitted)
    count = len({facts.key for each in evaluations for facts in each.questions})
    if not met:
        return evaluations, ()
    if plan.has_fitted:
        return evaluations, (fitted_sentence(len(met), count, are_judged=True),)
    if len(met) == count:
        raise UsageError(
            f"{', '.join(map(str, paths))}: a selector was fitted on all {count:,} questions; none is left to judge; "
            "--include-fitted judges them, too"
        )
    return [each.without(met) for each in evaluations], (fitted_sentence(len(met), count, are_judged=False),)


def _labels_of(evaluation: Evaluation) -> str:
    """What labelled the answers: as it was counted at the end, else as the run was told."""
    if evaluation.labels is not None:
        return labels_words(evaluation.labels)
    told = evaluation.config.get("labels")
    return "of the file, else exact match" if told in (None, "auto") else f"by the rule {told!r}"


def _differing(labels: Sequence[tuple[str, str]]) -> str | None:
    if len({words for _, words in labels}) < 2:
        return None
    listed = "; ".join(f"{folder}: {words}" for folder, words in labels)
    return f"the folders were labelled by different rules, so their figures are not of one kind ({listed})"


def _check(scores: ScoreMatrix, plan: ReportPlan, folders: Sequence[Path]) -> None:
    if not scores.columns:
        raise UsageError(f"{', '.join(map(str, folders))}: no records yet; let tracerank evaluate go on")
    if plan.k is not None and plan.k not in scores.ks:
        raise UsageError(f"-k {plan.k}: the records are of K={', '.join(map(str, scores.ks))}")
    if plan.against not in scores.methods and plan.against != MAJORITY:
        raise UsageError(f"--against {plan.against}: no such method there; there are {', '.join(scores.methods)}")
