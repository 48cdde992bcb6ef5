"""``tracerank report``: an evaluation's records as tables, charts and a page."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.terminal import json_text, note, print_tables, working
from tracerank.runs.atomic import write_text

if TYPE_CHECKING:
    from tracerank.evaluation.report import Report

FILES = (".md", ".json", ".csv")
"""What one file with all tables may be."""


@click.command(epilog=opt.example("tracerank report runs/mine -o runs/report"))
@click.argument("folders", metavar="FOLDER...", type=opt.PATH, nargs=-1, required=True)
@opt.output_option(
    "Also write index.html, report.md, report.json and a CSV per table here; or one FILE.md, .json or .csv.",
    "FOLDER|FILE",
)
@opt.choice("--format", ("table", "md", "csv", "json"), "What is printed.", default="table")
@opt.option("-k K", "K of the tables that show one; the largest by default.", opt.COUNT)
@opt.option("--against METHOD", "What the others are compared with.", default="majority")
@opt.seed_option("Seed of the bootstrap.")
@opt.quiet_option
def report(
    folders: tuple[Path, ...],
    output: Path | None,
    format: str,
    k: int | None,
    against: str,
    seed: int,
    quiet: bool,
) -> None:
    """Turn the records of evaluations into tables, charts and a page.

    Intervals are paired bootstraps over questions; the sign test is exact. CSV and JSON are unrounded. Where two
    folders hold different runs of a method, each is shown with the label of its evaluation.
    """
    from tracerank.evaluation.report import make_report

    kind = "" if output is None or output.is_dir() else output.suffix.lower()
    with working("folding", quiet=quiet):
        made = make_report(folders, k, against, seed=seed)
        if output is not None and kind in FILES:
            write_text(output, _text(made, kind[1:]))
        elif output is not None:
            made.write(output)
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
