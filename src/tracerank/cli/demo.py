"""``tracerank demo``: the vote and what ships, on rollouts of a real language model and on generated pools."""

from pathlib import Path

import click

from tracerank.cli import options as opt


@click.command(epilog=opt.example("tracerank demo"))
@opt.output_option("Where pools, decisions and the page go.", opt.FOLDER, "decisions.jsonl", default=Path("runs/demo"))
@opt.quiet_option
def demo(output: Path, quiet: bool) -> None:
    """Decide real questions by the majority vote and by the shipped selector.

    The rollouts ship with tracerank: a search agent with a language model of 1.5 billion parameters answered each
    question four times. Questions on which the vote and the selector differ are shown, whichever is right. Then the
    paper's network decides generated questions that it never saw, if torch is installed.
    """
    from tracerank.cli.demonstration import demonstrate

    demonstrate(output, quiet=quiet)
