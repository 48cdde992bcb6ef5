"""``tracerank lab ablate``: the rows of the paper's two ablation tables, trained and measured on the user's pools."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs, fingerprint
from tracerank.cli.terminal import note, print_json, print_table, working
from tracerank.cli.train import encoder_option, plan_options
from tracerank.pools.types import BROWSING, WEBQA

if TYPE_CHECKING:
    from tracerank.fitting.ablation import AblationRow


@click.command(epilog=opt.example("tracerank lab ablate pools.jsonl -o runs/ablation --seeds 3"))
@opt.output_option("Where pools, checkpoints and records go. Interrupted runs resume.", "FOLDER", required=True)
@opt.choice("--setting", (WEBQA, BROWSING), "Which of the two tables.", default=WEBQA)
@opt.option("--seeds N", "Runs of each variant.", opt.COUNT, default=3)
@opt.option("--variants NAME,…", "Only these rows of the table.")
@opt.option(
    "--test FILE",
    "Pools to measure on; by default a fixed fifth of the questions is held out. May be repeated.",
    opt.PATH,
    multiple=True,
)
@encoder_option
@opt.dims_option
@plan_options
@opt.option("--hidden N", "Width of the network's states.", click.IntRange(4))
@opt.option("--vote-rate X", "Factor on the learning rate of vote features; about 100 for few questions.", opt.SECONDS)
@opt.inputs_options(k=False)
@opt.json_option
def ablate(
    output: Path,
    setting: str,
    seeds: int,
    variants: str | None,
    test: tuple[Path, ...],
    encoder: str,
    dims: int | None,
    hidden: int | None,
    inputs: Inputs,
    as_json: bool,
    **given: Any,
) -> None:
    """Train the paper's ablations and compare them on held-out pools.

    All variants see the same questions, seeds and steps. Finished runs are kept, so that seeds and variants can be
    added to the same folder.
    """
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.ablation import Ablation, variants_named
    from tracerank.trace.recipe import SETTINGS

    chosen = variants_named(setting, variants)
    plan = replace(SETTINGS[setting].plan, **{name: one for name, one in given.items() if one is not None})
    net = {} if hidden is None else {"hidden": hidden, "feed_forward": 4 * hidden}
    source = {"setting": setting, "files": fingerprint(inputs.files), "test": fingerprint(test)}
    with inputs.opened("reading", test) as (pools, _, problems):
        ablation = Ablation(output, plan, load_embedder(encoder, dims), net, source)
        ablation.take(pools, inputs.pools(problems, files=test) if test else None)
    todo = ablation.remaining(chosen, seeds)
    with working("training", unit="runs", total=len(todo), quiet=inputs.quiet) as progress:
        for variant, seed in todo:
            progress.describe(f"{variant.name}, seed {seed}")
            ablation.run(variant, seed)
            progress.advance()
    if not inputs.quiet and len(todo) < seeds * len(chosen):
        note(f"{seeds * len(chosen) - len(todo)} of {seeds * len(chosen)} runs were done before")
    rows = ablation.rows(chosen, seeds)
    if as_json:
        print_json({"setting": setting, "k": plan.k, "rows": [asdict(row) for row in rows]}, indent=2)
    else:
        _print(rows, plan.k)


def _print(rows: "Sequence[AblationRow]", k: int) -> None:
    table = []
    for row in rows:
        figures = ((row.deviation, ".1f"), (row.against, "+.1f"), (row.error, ".1f"))
        published = "" if row.published is None else f"{row.published:.1f}"
        shown = ("" if value is None else f"{100 * value:{shape}}" for value, shape in figures)
        table.append((row.name, f"{100 * row.accuracy:.1f}", *shown, published))
    seeds = max(row.seeds for row in rows)
    print_table(
        ("variant", "right %", "±", "against full", "±", "paper %"),
        table,
        f"right % of {rows[0].questions:,} held-out questions, K={k}; mean and deviation over {seeds} seeds; "
        "difference to full with its standard error over questions; the paper's figures are of its own pools",
    )
