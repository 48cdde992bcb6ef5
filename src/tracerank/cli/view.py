"""``tracerank view``: pools and decisions as one page for the browser."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tracerank.cli.inputs import Inputs
from tracerank.cli.options import (
    example,
    force_option,
    inputs_options,
    method_option,
    method_options,
    output_option,
)
from tracerank.cli.output import SOME_FAILED, check_output
from tracerank.cli.terminal import note
from tracerank.methods import MethodOptions, fitted_by, load_method

NAMED_FILES = 3
"""Files that the head of the page names; the others are counted."""


@click.command(epilog=example("tracerank view logs/ -o report.html"))
@output_option("The page to write, as HTML.", required=True)
@method_option()
@method_options()
@inputs_options()
@force_option
def view(output: Path, method: str, options: MethodOptions, inputs: Inputs, force: bool) -> None:
    """Write one page that shows rollouts side by side and why the winner was chosen.

    The page holds everything, loads nothing from the network and opens from disk.
    """
    from tracerank.viewer.page import write_page

    check_output(output, inputs.files, force)
    with inputs.opened("loading", (output,)) as (pools, progress, problems):
        chosen, vote, fitted = load_method(method, options), load_method("majority", options), fitted_by([method])
        progress.describe("explaining")
        size = write_page(
            output,
            pools,
            chosen,
            vote=vote,
            title=_title(inputs.files),
            called=method,
            fitted=fitted,
            on_failure=problems.undecided,
        )
    if not inputs.quiet:
        note(f"{size / 1e6:,.1f} MB written to {output}; open it in a browser")
    if problems.failures:
        note(f"{method}: failed on {problems.failures:,} questions; they are not on the page")
        sys.exit(SOME_FAILED)


def _title(files: Sequence[Path]) -> str:
    """The files as the user named them; of many, the first."""
    named = [str(path) for path in files[:NAMED_FILES]]
    more = len(files) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")
