"""``tracerank report``: an evaluation's records as tables, charts and a page."""

from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.terminal import note, print_json, print_tables, working


@click.command(epilog=opt.example("tracerank report runs/mine -o runs/report"))
@click.argument("folders", metavar="FOLDER...", type=opt.PATH, nargs=-1, required=True)
@opt.output_option(
    "Also write index.html, report.md, report.json and a CSV per table here.", opt.FOLDER, "report.md", "config.json"
)
@opt.option("-k K", "K of the tables that show one; the largest by default.", opt.COUNT)
@opt.option("--against METHOD", "What the others are compared with.", default="majority")
@opt.quiet_option
@opt.json_option
def report(
    folders: tuple[Path, ...],
    output: Path | None,
    k: int | None,
    against: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Turn the records of evaluations into tables, charts and a page.

    Intervals are paired bootstraps over questions; the sign test is exact. CSV and JSON are unrounded. Where two
    folders hold different runs of a method, each is shown with the name of its folder.
    """
    from tracerank.evaluation.report import make_report

    with working("folding", quiet=quiet):
        made = make_report(folders, k, against)
        if output is not None:
            made.write(output)
    if as_json:
        print_json(made.record(), indent=2)
    else:
        print_tables(made.tables)
    if made.warning is not None:
        note(f"warning: {made.warning}")
    if output is not None and not quiet:
        note(f"written to {output}")
