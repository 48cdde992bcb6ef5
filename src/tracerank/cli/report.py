"""``tracerank report``: an evaluation's records as tables, charts and a page."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracerank.cli.options import (
    COUNT,
    PATH,
    SHARE,
    choice,
    example,
    include_fitted_option,
    option,
    output_option,
    prices_option,
    quiet_option,
    seed_option,
)
from tracerank.cli.record_files import check_format, write_records
from tracerank.cli.tables import print_tables
from tracerank.cli.terminal import json_text, note, working
from tracerank.runs.atomic import write_text
from tracerank.votes.decision_table import NUMBER, TEXT

if TYPE_CHECKING:
    from tracerank.evaluation.report import Report

PARQUET = ".parquet"
FILES = (".md", ".json", ".csv", PARQUET)
"""What one file with all tables may be."""


@click.command(epilog=example("tracerank report runs/mine -o runs/report"))
@click.argument("folders", metavar="FOLDER...", type=PATH, nargs=-1, required=True)
@output_option(
    "Also write index.html, report.md, report.json and a CSV per table here; or one FILE.md, .json, .csv or .parquet.",
    "FOLDER|FILE",
)
@choice("--format", ("table", "md", "csv", "json"), "What is printed.", default="table")
@option("-k K", "K of the tables that show one; the largest by default.", COUNT)
@option("--against METHOD", "What the others are compared with.", default="majority")
@prices_option
@seed_option("Seed of the bootstrap.")
@include_fitted_option
@option("--viewer FILE", "Page of tracerank view to link to.", PATH)
@option("--abstain-below P", "Also show what comes of giving no answer below this confidence.", SHARE)
@quiet_option
def report(
    folders: tuple[Path, ...],
    output: Path | None,
    format: str,
    k: int | None,
    against: str,
    prices: Path | None,
    seed: int,
    include_fitted: bool,
    viewer: Path | None,
    abstain_below: float | None,
    quiet: bool,
) -> None:
    """Turn the records of evaluations into tables, charts and a page.

    Intervals are paired bootstraps over questions; the sign test is exact. CSV and JSON are unrounded. Where two
    folders hold different runs of a method, each is shown with the label of its evaluation.
    """
    from tracerank.evaluation.prices import read_prices
    from tracerank.evaluation.report import make_report

    read = None if prices is None else read_prices(prices)
    kind = "" if output is None or output.is_dir() else output.suffix.lower()
    if kind == PARQUET and output is not None:
        check_format(output)
    with working("folding", quiet=quiet):
        made = make_report(
            folders, k, against, prices=read, seed=seed, include_fitted=include_fitted, abstain_below=abstain_below
        )
        if output is not None and kind not in FILES:
            made.write(output, viewer=viewer)
    if output is not None and kind == PARQUET:
        columns = {"table": TEXT, "row": TEXT, "column": TEXT, "value": NUMBER, "text": TEXT}
        write_records(output, made.cells(), columns)
    elif output is not None and kind in FILES:
        write_text(output, _text(made, kind[1:]))
    if format == "table":
        print_tables(made.tables)
    else:
        click.echo(_text(made, format), nl=False)
    if made.warning is not None:
        note(f"warning: {made.warning}")
    if output is not None and not quiet:
        note(f"written to {output}")


def _text(made: "Report", kind: str) -> str:
    if kind == "json":
        return json_text(made.record(), indent=2) + "\n"
    return made.csv() if kind == "csv" else made.markdown()
