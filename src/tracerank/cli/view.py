"""``tracerank view``: pools and decisions as one page for the browser."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import SOME_FAILED, Inputs, check_output
from tracerank.cli.terminal import note

if TYPE_CHECKING:  # it takes longer to import than --help may take
    from tracerank.methods import MethodOptions

NAMED_FILES = 3
"""Files that the head of the page names; of others there is a mark."""


@click.command(epilog=opt.example("tracerank view logs/ -o report.html"))
@opt.output_option("The page to write, as HTML.", required=True)
@opt.method_option()
@opt.method_options()
@opt.inputs_options()
@opt.force_option
def view(output: Path, method: str, options: "MethodOptions", inputs: Inputs, force: bool) -> None:
    """Write one page that shows rollouts side by side and why the winner was chosen.

    The page holds everything, loads nothing from the network and opens from disk.
    """
    from tracerank.evidence.confidence import set_level
    from tracerank.evidence.level import read_ahead
    from tracerank.methods import fitted_by, load_method
    from tracerank.viewer.page import write_page

    check_output(output, inputs.files, force)
    title = ", ".join(map(str, inputs.files[:NAMED_FILES])) + (", …" if len(inputs.files) > NAMED_FILES else "")
    with inputs.opened("loading", (output,)) as (pools, progress, problems):
        chosen, vote = load_method(method, options), load_method("majority", options)
        level, pools = read_ahead(pools)
        set_level(chosen, level)
        progress.describe("explaining")
        size = write_page(
            output,
            pools,
            chosen,
            vote=vote,
            title=title,
            called=method,
            fitted=fitted_by([method]),
            on_failure=problems.undecided,
        )
    if not inputs.quiet:
        note(f"{size / 1e6:,.1f} MB written to {output}; open it in a browser")
    if problems.failures:
        note(f"{method}: failed on {problems.failures:,} questions; they are not on the page")
        sys.exit(SOME_FAILED)
