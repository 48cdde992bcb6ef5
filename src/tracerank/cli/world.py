"""``tracerank world``: pools from a generated world with a known truth."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import Force, Quiet, written_place
from tracerank.cli.output import check_output
from tracerank.cli.terminal import note, working
from tracerank.lab.worlds.presets import PRESETS, iter_world, preset_named
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import BROWSING, WEBQA


class WorldSetting(StrEnum):
    """What ``--setting`` takes."""

    WEBQA = WEBQA
    BROWSING = BROWSING


Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        callback=written_place,
        help="File to write; gzip if it ends with .gz.",
        show_default=False,
    ),
]
Setting = Annotated[
    WorldSetting, typer.Option("--setting", metavar="NAME", help="Search protocol of the agents: webqa or browsing.")
]
Questions = Annotated[int, typer.Option("--questions", metavar="N", min=1, help="How many questions.")]
Rollouts = Annotated[int, typer.Option("-k", metavar="K", min=1, help="How many rollouts a question.")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help="Settles everything; another seed is another world.")]
PresetName = Annotated[
    str, typer.Option("--preset", metavar="NAME", help=f"Parameters of the world: {', '.join(PRESETS)}.")
]


def world(
    output: Output,
    setting: Setting = WorldSetting.WEBQA,
    questions: Questions = 1000,
    k: Rollouts = PAPER_K,
    seed: Seed = 0,
    preset: PresetName = "paper",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Generate a world of facts, pages and questions, let agents search it, and write their pools.

    All of it is invented, so the truth is known: who was misled by a namesake or an old page, who misread, who stopped
    too early. Fewer questions or rollouts are a prefix of more. The preset paper has the pool shapes that the paper
    publishes.
    """
    check_output(output, (), force)
    chosen = preset_named(preset, str(setting))
    with working("generating", total=questions, quiet=quiet) as bar:
        write_pools(output, bar.over(iter_world(chosen, questions, seed, k)))
    if not quiet:
        note(f"{questions:,} generated questions, {questions * k:,} rollouts; written to {output}")
