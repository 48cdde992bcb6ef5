"""``tracerank lab world``: pools from a generated world with a known truth."""

from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import check_output
from tracerank.cli.terminal import note, working
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import BROWSING, WEBQA


@click.command(epilog=opt.example("tracerank lab world -o pools.jsonl --count 100"))
@opt.output_option("File to write; gzip if it ends with .gz.", required=True)
@opt.choice("--setting", (WEBQA, BROWSING), "Search protocol of the agents.", default=WEBQA)
@opt.option("--count N", "Number of questions.", opt.COUNT, default=1000)
@opt.option("-k K", "Rollouts per question.", opt.COUNT, default=PAPER_K)
@opt.seed_option("Another seed is another world.")
@opt.choice("--preset", PRESETS, "Parameters of the world.", default="paper")
@opt.force_option
@opt.quiet_option
def world(output: Path, setting: str, count: int, k: int, seed: int, preset: str, force: bool, quiet: bool) -> None:
    """Generate pools from a world of invented facts with a known truth.

    Agents meet namesakes and outdated pages, misread, and stop too early. Fewer questions or rollouts are a prefix of
    more. The preset paper has the pool shapes that the paper publishes.
    """
    check_output(output, (), force)
    with working("generating", total=count, quiet=quiet) as progress:
        write_pools(output, progress.over(iter_world(PRESETS[preset][setting], count, seed, k)))
    if not quiet:
        note(f"{count:,} generated questions, {count * k:,} rollouts; written to {output}")
