"""``tracerank report``: an evaluation's records as tables and figures."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import IncludeFitted, PricesFile, Quiet, written_place
from tracerank.cli.record_files import check_format, write_records
from tracerank.cli.terminal import harmless, json_text, new_table, note, print_json, print_table, working
from tracerank.runs.atomic import whole_file
from tracerank.votes.decision_table import NUMBER, TEXT

if TYPE_CHECKING:
    from tracerank.evaluation.report import Report
    from tracerank.evaluation.tables import Value


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
        callback=written_place,
        help="Also write index.html, report.md, report.json, a CSV per table here; or one "
        "FILE.md, .json, .csv or .parquet (a row per cell) with all tables.",
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
Viewer = Annotated[
    Path | None,
    typer.Option(
        "--viewer",
        metavar="FILE",
        help="Page of tracerank view that index.html links its questions to; one in FOLDER or DIR is found.",
        show_default=False,
    ),
]
AbstainBelow = Annotated[
    float | None,
    typer.Option(
        "--abstain-below",
        metavar="P",
        min=0.0,
        max=1.0,
        help="Also tell what comes of answering nothing below this confidence.",
        show_default=False,
    ),
]


def report(
    folders: Folders,
    output_format: Format = FormatName.TABLE,
    output: Output = None,
    k: MainK = None,
    against: Against = "majority",
    prices: PricesFile = None,
    seed: Seed = 0,
    include_fitted: IncludeFitted = False,
    viewer: Viewer = None,
    abstain_below: AbstainBelow = None,
    quiet: Quiet = False,
) -> None:
    """Fold the records of evaluations into tables: accuracy, differences, budgets, coverage, pools, cost.

    Intervals are paired bootstraps over questions; the sign test is exact. Questions without a candidate count as
    wrong. CSV and JSON are unrounded. Where two folders hold different runs of a method, each is shown with the label
    of its evaluation, as in `trace (large)`. Questions that a selector was fitted on are left out, and counted.
    """
    # They bring numpy, for which --help shall not wait.
    from tracerank.evaluation.prices import read_prices
    from tracerank.evaluation.report import ReportPlan, make_report

    asked = None if prices is None else read_prices(prices)
    with working("folding", quiet=quiet) as bar:
        made = make_report(
            folders, ReportPlan(k, against, seed, include_fitted=include_fitted, abstain_below=abstain_below), asked
        )
        bar.advance(len(made.figures.scores.questions))
        is_file = output is not None and output.suffix.lower() in _FILES and not output.is_dir()
        if output is not None and is_file:
            _FILES[output.suffix.lower()](made, output)
        elif output is not None:
            made.write(output, viewer=viewer)
    _print(made, output_format)
    if made.warning is not None:
        note(f"warning: {made.warning}")
    if output is not None and not quiet:
        note(f"written to {output}")


def _write_text(made: "Report", path: Path, text: "Callable[[Report], str]") -> None:
    with whole_file(path) as file:
        file.write(text(made).encode("utf-8", "backslashreplace"))


def _cells_csv(made: "Report") -> str:
    from tracerank.evaluation.tables import long_csv

    return long_csv(made.tables)


def _write_cells(made: "Report", path: Path) -> None:
    check_format(path)
    cells = (
        {"table": table.name, "row": str(row[0]), "column": column.name, **_value(value)}
        for table in made.tables
        for row in table.rows
        for value, column in zip(row[1:], table.columns[1:], strict=True)
    )
    write_records(path, cells, {"table": TEXT, "row": TEXT, "column": TEXT, "value": NUMBER, "text": TEXT})


def _value(value: "Value") -> dict[str, object]:
    return {"text": value} if isinstance(value, str) else {"value": None if value is None else float(value)}


_FILES: "Mapping[str, Callable[[Report, Path], None]]" = {
    ".md": partial(_write_text, text=lambda made: made.markdown()),
    ".json": partial(_write_text, text=lambda made: json_text(made.record(), indent=2) + "\n"),
    ".csv": partial(_write_text, text=_cells_csv),
    ".parquet": _write_cells,
}
"""What one file with all tables may be."""


def _print(made: "Report", output_format: FormatName) -> None:
    from tracerank.evaluation.tables import TEXT as LEFT

    if output_format is FormatName.JSON:
        print_json(made.record(), indent=2)
    elif output_format is FormatName.CSV:
        typer.echo(_cells_csv(made), nl=False)
    elif output_format is FormatName.MARKDOWN:
        typer.echo(made.markdown(), nl=False)
    else:
        for table in made.tables:
            shown = new_table(*(harmless(column.name) for column in table.columns))
            for number, column in enumerate(table.columns):
                shown.columns[number].justify = "left" if column.kind == LEFT else "right"
            for row in table.shown_rows():
                shown.add_row(*map(harmless, row))
            print_table(shown, harmless(table.title))
            for line in table.notes:
                typer.echo(f" {line}\n")
