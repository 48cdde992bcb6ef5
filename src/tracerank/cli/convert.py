"""``tracerank convert``: any readable files to one canonical or ATIF file, grouped by question."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import Files, Force, ProblemsFile, Quiet, ReaderName
from tracerank.cli.output import check_output
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import note, working
from tracerank.pools.atif_export import write_atif
from tracerank.pools.canonical import write_pools
from tracerank.readers.detect import AUTO

Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FILE", help="File to write; gzip if it ends with .gz.", show_default=False),
]


class FormatName(StrEnum):
    """What ``--to`` takes."""

    CANONICAL = "canonical"
    ATIF = "atif"


To = Annotated[FormatName, typer.Option("--to", metavar="NAME", help="Format to write: canonical or atif.")]


def convert(
    files: Files,
    output: Output,
    to: To = FormatName.CANONICAL,
    reader: ReaderName = AUTO,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Bring rollouts of any known format into the canonical one or into ATIF, grouped by question.

    Holds everything in memory, so the rollouts of a question may stand anywhere in the files. Nothing readable is
    left out: rollouts that could never be chosen keep their place.
    """
    check_output(output, files, force)
    with Problems(problems, keep=(*files, output)) as report, working("reading", quiet=quiet) as bar:
        pools = list(bar.over(pools_of(files, reader, report, is_grouped=False)))
        bar.describe("writing")
        (write_atif if to is FormatName.ATIF else write_pools)(output, pools)
    if not quiet:
        rollouts = sum(map(len, pools))
        note(f"{len(pools):,} questions, {rollouts:,} rollouts, {report.count:,} problems; written to {output}")
