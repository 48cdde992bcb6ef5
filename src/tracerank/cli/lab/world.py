"""``tracerank lab world``: pools from a generated world with a known truth."""

from pathlib import Path

import click

from tracerank.cli.inputs import check_output
from tracerank.cli.options import (
    COUNT,
    choice,
    example,
    force_option,
    option,
    output_option,
    quiet_option,
    seed_option,
)
from tracerank.cli.terminal import note, working
from tracerank.lab.worlds.presets import PRESETS, iter_world, preset_named
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import BROWSING, WEBQA


@click.command(epilog=example("tracerank lab world -o pools.jsonl --count 100"))
@output_option("File to write; gzip if it ends with .gz.", required=True)
@choice("--setting", (WEBQA, BROWSING), "Search protocol of the agents.", default=WEBQA)
@option("--count N", "Number of questions.", COUNT, default=1000)
@option("-k K", "Rollouts per question.", COUNT, default=PAPER_K)
@seed_option("Another seed is another world.")
@choice("--preset", PRESETS, "Parameters of the world.", default="paper")
@force_option
@quiet_option
def world(output: Path, setting: str, count: int, k: int, seed: int, preset: str, force: bool, quiet: bool) -> None:
    """Generate pools from a world of invented facts with a known truth.

    Agents meet namesakes and outdated pages, misread, and stop too early. Fewer questions or rollouts are a prefix of
    more. The preset paper has the pool shapes that the paper publishes.
    """
    check_output(output, (), force)
    chosen = preset_named(preset, setting)
    with working("generating", total=count, quiet=quiet) as progress:
        write_pools(output, progress.over(iter_world(chosen, count, seed, k)))
    if not quiet:
        note(f"{count:,} generated questions, {count * k:,} rollouts; written to {output}")
