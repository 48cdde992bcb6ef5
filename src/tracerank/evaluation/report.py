"""A report: evaluations folded into tables, and written as a page, Markdown, JSON and a CSV per table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import fitted_sentence
from tracerank.evaluation.figures import MAJORITY, Figures
from tracerank.evaluation.labels import labels_words
from tracerank.evaluation.page import report_page, write_page
from tracerank.evaluation.prices import PriceTable
from tracerank.evaluation.records import Evaluation, read_evaluation
from tracerank.evaluation.report_tables import report_tables
from tracerank.evaluation.scores import ScoreMatrix, score_matrix
from tracerank.evaluation.tables import Table, long_csv, markdown, wide_csv
from tracerank.evaluation.viewer_page import ViewerPage, find_viewer, read_viewer
from tracerank.runs.atomic import write_json, write_text


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What a report is about."""

    k: int | None = None
    """K of the tables that show one; None: the largest."""
    against: str = MAJORITY
    """The method that the others are compared with; the paper's vote stands in for a missing ``majority``."""
    seed: int = 0
    """Of the bootstrap."""
    include_fitted: bool = False
    """Whether questions count that a selector was fitted on."""
    abstain_below: float | None = None
    """Confidence below which nothing would be answered; None: not asked for."""


@dataclass(frozen=True, slots=True)
class Report:
    """Every table that the records of some evaluations allow."""

    title: str
    tables: tuple[Table, ...]
    figures: Figures
    labels: tuple[tuple[str, str], ...] = ()
    """Folder, and what labelled its answers."""
    warning: str | None = None
    """What the reader should know before comparing figures; None: nothing."""

    def record(self) -> dict[str, Any]:
        """As JSON has it, unrounded."""
        return {
            "title": self.title,
            "labels": dict(self.labels),
            "warnings": [] if self.warning is None else [self.warning],
            "tables": [table.as_json() for table in self.tables],
        }

    def markdown(self) -> str:
        return markdown(self.tables, self.title)

    def csv(self) -> str:
        """All tables, a line per cell."""
        return long_csv(self.tables)

    def cells(self) -> Iterator[dict[str, Any]]:
        """The same as records: numbers as ``value``, texts as ``text``."""
        for table in self.tables:
            for row in table.rows:
                for value, column in zip(row[1:], table.columns[1:], strict=True):
                    cell = {"text": value} if isinstance(value, str) else {"value": None if value is None else +value}
                    yield {"table": table.name, "row": str(row[0]), "column": column.name, **cell}

    def page(self, viewer: ViewerPage | None = None) -> str:
        """The report as a page for the browser."""
        words = [words for _, words in self.labels]
        return report_page(self.title, self.tables, self.figures, words, self.warning, viewer)

    def write(self, folder: str | Path, viewer: Path | None = None) -> None:
        """``index.html``, ``report.md``, ``report.json`` and a CSV per table.

        The page links to ``viewer``, a page of ``tracerank view``, or to the first one in this folder or beside the
        records.
        """
        folder = Path(folder)
        path = viewer or find_viewer([folder, *(Path(name) for name, _ in self.labels)])
        page = self.page(None if path is None else read_viewer(path, folder))
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "report.md", self.markdown())
        write_json(folder / "report.json", self.record())
        for table in self.tables:
            write_text(folder / f"{table.name}.csv", wide_csv(table))
        write_page(folder, page)


def make_report(
    folders: Sequence[str | Path], plan: ReportPlan | None = None, prices: PriceTable | None = None
) -> Report:
    """Fold the records of evaluations; what the plan asks for must be among them."""
    plan = plan or ReportPlan()
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
    figures = replace(Figures.of(scores, plan.k, plan.against, seed=plan.seed), abstain_below=plan.abstain_below)
    title = f"{len(scores.questions):,} questions of {', '.join(path.name for path in paths)}"
    main, *others = report_tables(figures)
    labelled = "Labels: " + "; ".join(dict.fromkeys(words for _, words in labels)) + "."
    tables = (replace(main, notes=(*main.notes, labelled, *fitted)), *others)
    return Report(title, tables, figures, labels, "; ".join(filter(None, (warning, *fitted))) or None)


def _new_questions(
    evaluations: list[Evaluation], plan: ReportPlan, paths: Sequence[Path]
) -> tuple[list[Evaluation], tuple[str, ...]]:
    """The evaluations without questions that were fitted on, unless the plan includes them, and a sentence on it."""
    met = frozenset(facts.key for each in evaluations for facts in each.questions if facts.is_fitted)
    count = len({facts.key for each in evaluations for facts in each.questions})
    if not met:
        return evaluations, ()
    sentence = (fitted_sentence(len(met), count, plan.include_fitted),)
    if plan.include_fitted:
        return evaluations, sentence
    if len(met) == count:
        raise UsageError(
            f"{', '.join(map(str, paths))}: a selector was fitted on all {count:,} questions; none is left to judge; "
            "--include-fitted judges them, too"
        )
    return [each.without(met) for each in evaluations], sentence


def _labels_of(evaluation: Evaluation) -> str:
    """What labelled the answers: as counted at the end, else as the settings say."""
    if evaluation.labels is not None:
        return labels_words(evaluation.labels)
    rule = evaluation.config.get("labels")
    return "unknown" if rule is None else f"by the rule {rule!r}"


def _differing(labels: Sequence[tuple[str, str]]) -> str | None:
    if len({words for _, words in labels}) < 2:
        return None
    listed = "; ".join(f"{folder}: {words}" for folder, words in labels)
    return f"the folders were labelled by different rules, so their figures cannot be compared ({listed})"


def _check(scores: ScoreMatrix, plan: ReportPlan, folders: Sequence[Path]) -> None:
    where = ", ".join(map(str, folders))
    if not scores.columns:
        raise UsageError(f"{where}: no records; run the same `tracerank evaluate` again")
    if all(facts.correct == () or set(facts.correct) == {None} for facts in scores.questions):
        raise UsageError(f"{where}: no question has a label or a reference; nothing to report")
    if plan.k is not None and plan.k not in scores.ks:
        raise UsageError(f"-k {plan.k}: the records are of K={', '.join(map(str, scores.ks))}")
    if plan.against not in scores.methods and plan.against != MAJORITY:
        raise UsageError(f"--against {plan.against}: no such method there; there are {', '.join(scores.methods)}")
