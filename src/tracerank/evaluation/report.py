"""A report: evaluations folded into tables, and written as a page, Markdown, JSON and a CSV per table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.agent_table import agents_table
from tracerank.evaluation.labels import labels_words
from tracerank.evaluation.page import report_page
from tracerank.evaluation.records import read_evaluation
from tracerank.evaluation.report_tables import MAJORITY, Figures, report_tables
from tracerank.evaluation.run import fitted_sentence
from tracerank.evaluation.scores import ScoreMatrix, score_matrix
from tracerank.evaluation.tables import Table, csv_text, markdown
from tracerank.runs.atomic import whole_file, write_json, write_text


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

    def page(self) -> str:
        """The report as a page for the browser."""
        words = [words for _, words in self.labels]
        return report_page(self.title, self.tables, self.figures, words, self.warning)

    def write(self, folder: str | Path) -> None:
        """``index.html``, ``report.md``, ``report.json`` and a CSV per table."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "report.md", markdown(self.tables, self.title))
        write_json(folder / "report.json", self.record())
        for table in self.tables:
            write_text(folder / f"{table.name}.csv", csv_text(table))
        with whole_file(folder / "index.html") as file:
            # Lone surrogates, as some logs hold, are not encodable; a browser shows a sign for them.
            file.write(self.page().encode("utf-8", "xmlcharrefreplace"))


def make_report(folders: Sequence[str | Path], k: int | None = None, against: str = MAJORITY) -> Report:
    """Fold the records of evaluations; what is asked for must be among them.

    The tables are of K or the largest one, and compare with the method ``against``.
    """
    paths = [Path(folder) for folder in folders]
    evaluations, where = [read_evaluation(path) for path in paths], ", ".join(map(str, paths))
    words = ["unknown" if each.labels is None else labels_words(each.labels) for each in evaluations]
    labels = tuple(zip(map(str, paths), words, strict=True))
    warning = _differing(labels)
    try:
        scores = score_matrix(evaluations)
    except UsageError as error:
        raise error if warning is None else UsageError(f"{error}; {warning}") from None
    _check(scores, k, against, where)
    fitted = fitted_sentence(sum(facts.is_fitted for facts in scores.questions), len(scores.questions), True)
    figures = Figures.of(scores, k, against)
    main, *others = report_tables(figures)
    labelled = f"Labels: {'; '.join(dict.fromkeys(words))}."
    main = replace(main, notes=(*main.notes, labelled, *filter(None, (fitted,))))
    agents = [
        replace(one, agent=one.agent if len(paths) == 1 else f"{each.folder.name}: {one.agent}")
        for each in evaluations
        for one in each.agents
    ]
    others += filter(None, [agents_table(agents)])
    title = f"{len(scores.questions):,} questions of {', '.join(path.name for path in paths)}"
    return Report(title, (main, *others), figures, labels, "; ".join(filter(None, (warning, fitted))) or None)


def _differing(labels: Sequence[tuple[str, str]]) -> str | None:
    if len({words for _, words in labels}) < 2:
        return None
    listed = "; ".join(f"{folder}: {words}" for folder, words in labels)
    return f"the folders were labelled by different rules, so their figures cannot be compared ({listed})"


def _check(scores: ScoreMatrix, k: int | None, against: str, where: str) -> None:
    if not scores.columns:
        raise UsageError(f"{where}: no records; run the same `tracerank evaluate` again")
    if all(set(facts.correct) <= {None} for facts in scores.questions):
        raise UsageError(f"{where}: no question has a label or a reference; nothing to report")
    if k is not None and k not in scores.ks:
        raise UsageError(f"-k {k}: the records are of K={', '.join(map(str, scores.ks))}")
    if against not in scores.methods and against != MAJORITY:
        raise UsageError(f"--against {against}: no such method there; there are {', '.join(scores.methods)}")
