"""``tracerank report``: an evaluation's records as tables and figures."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracerank.cli.arguments import PricesFile, Quiet
from tracerank.cli.progress import working
from tracerank.cli.terminal import harmless, json_text, new_table, note, print_json, print_table
from tracerank.errors import UsageError

if TYPE_CHECKING:
    from tracerank.evaluation.report import ReportPlan
    from tracerank.evaluation.score_matrix import ScoreMatrix
    from tracerank.evaluation.tables import Table


class FormatName(StrEnum):
    """What ``--format`` takes."""

    TABLE = "table"
    MARKDOWN = "md"
    CSV = "csv"
    JSON = "json"


Folders = Annotated[
    list[Path], typer.Argument(metavar="DIR", help="Folders that evaluate -o has written.", show_default=False)
]
Format = Annotated[FormatName, typer.Option("--format", metavar="NAME", help="On stdout: table, md, csv or json.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        help="Also write report.md, report.json, a CSV per table and the plots (SVG, PNG) here.",
        show_default=False,
    ),
]
MainK = Annotated[
    int | None,
    typer.Option(
        "-k", metavar="K", min=1, help="K of the tables that show one; the largest if not given.", show_default=False
    ),
]
Against = Annotated[str, typer.Option("--against", metavar="METHOD", help="What the others are compared with.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of the bootstrap.")]
NoPlots = Annotated[bool, typer.Option("--no-plots", help="Write no plots, which need matplotlib.")]


def report(
    folders: Folders,
    output_format: Format = FormatName.TABLE,
    output: Output = None,
    k: MainK = None,
    against: Against = "majority",
    prices: PricesFile = None,
    seed: Seed = 0,
    no_plots: NoPlots = False,
    quiet: Quiet = False,
) -> None:
    """Fold the records of evaluations into tables: accuracy, differences, budgets, coverage, pools, cost.

    Intervals are paired bootstraps over questions; the sign test is exact. Questions without a candidate count as
    wrong. CSV and JSON are unrounded. Where two folders hold different runs of a method, each is shown with the label
    of its evaluation, as in `trace (large)`.
    """
    # They bring numpy, for which --help shall not wait.
    from tracerank.evaluation.prices import read_prices
    from tracerank.evaluation.record_folder import read_evaluation
    from tracerank.evaluation.report import ReportPlan, report_tables
    from tracerank.evaluation.score_matrix import score_matrix

    plan = ReportPlan(k, against, seed)
    asked = None if prices is None else read_prices(prices)
    with working("folding", quiet=quiet) as bar:
        evaluations = [read_evaluation(folder) for folder in folders]
        scores = score_matrix(evaluations, asked)
        _check(scores, plan, folders)
        bar.advance(len(scores.questions))
        tables = report_tables(scores, plan)
        title = f"{len(scores.questions):,} questions of {', '.join(folder.name for folder in folders)}"
        if output is not None:
            _write(tables, output, title)
    _print(tables, output_format, title)
    if output is not None and not no_plots:
        try:
            _draw(scores, plan, output)
        except UsageError as error:  # their library is an extra; the tables are what matters
            note(f"no plots: {error}")
    if output is not None and not quiet:
        note(f"written to {output}")


def _check(scores: "ScoreMatrix", plan: "ReportPlan", folders: Sequence[Path]) -> None:
    names = ", ".join(map(str, folders))
    if not scores.columns:
        raise UsageError(f"{names}: no records yet; let tracerank evaluate go on")
    if plan.k is not None and plan.k not in scores.ks:
        raise UsageError(f"-k {plan.k}: the records are of K={', '.join(map(str, scores.ks))}")
    if plan.against not in scores.methods and plan.against != "majority":
        raise UsageError(f"--against {plan.against}: no such method there; there are {', '.join(scores.methods)}")


def _print(tables: "Sequence[Table]", output_format: FormatName, title: str) -> None:
    from tracerank.evaluation.tables import TEXT, long_csv, markdown

    if output_format is FormatName.JSON:
        print_json(_json(tables, title), indent=2)
    elif output_format is FormatName.CSV:
        typer.echo(long_csv(tables), nl=False)
    elif output_format is FormatName.MARKDOWN:
        typer.echo(markdown(tables, title), nl=False)
    else:
        for table in tables:
            shown = new_table(*(harmless(column.name) for column in table.columns))
            for number, column in enumerate(table.columns):
                shown.columns[number].justify = "left" if column.kind == TEXT else "right"
            for row in table.shown_rows():
                shown.add_row(*map(harmless, row))
            print_table(shown, harmless(table.title))
            for line in table.notes:
                typer.echo(f" {line}\n")


def _json(tables: "Sequence[Table]", title: str) -> dict[str, Any]:
    return {"title": title, "tables": [table.as_json() for table in tables]}


def _write(tables: "Sequence[Table]", folder: Path, title: str) -> None:
    from tracerank.evaluation.tables import markdown, wide_csv

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(markdown(tables, title), encoding="utf-8")
    (folder / "report.json").write_text(json_text(_json(tables, title), indent=2) + "\n", encoding="utf-8")
    for table in tables:
        (folder / f"{table.name}.csv").write_text(wide_csv(table), encoding="utf-8")


def _draw(scores: "ScoreMatrix", plan: "ReportPlan", folder: Path) -> None:
    from tracerank.evaluation.plots import draw_accuracy_by_cost, draw_accuracy_by_k
    from tracerank.evaluation.report import accuracy_curves, cost_points

    draw_accuracy_by_k(accuracy_curves(scores, plan), "accuracy with the first K rollouts, 95% bootstrap bands", folder)
    if scores.has_subsets:
        curves = accuracy_curves(scores, plan, is_random=True)
        title = "accuracy with random K rollouts, mean over subsets, 95% bootstrap bands"
        draw_accuracy_by_k(curves, title, folder, "accuracy_by_random_k")
    k = plan.k or scores.ks[-1]
    if points := cost_points(scores, k):
        draw_accuracy_by_cost(points, f"accuracy against time, K={k}", folder)
