"""``tracerank ablate``: every row of the paper's two ablation tables, trained and measured on the user's pools."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AsJson, Dims, Files, ProblemsFile, Quiet, ReaderName, written_place
from tracerank.cli.output import fingerprint
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import new_table, note, print_json, print_table, working
from tracerank.cli.train import OWN, BatchPools, Encoder, Epochs, K, LearningRate
from tracerank.cli.world import Setting, WorldSetting
from tracerank.readers.detect import AUTO

if TYPE_CHECKING:
    from tracerank.fitting.ablation import Ablation, AblationRow, Variant

Folder = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        callback=written_place,
        help="Where pools, checkpoints and records go.",
        show_default=False,
    ),
]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Runs of each variant: seeds 0 to N-1.")]
VariantNames = Annotated[
    str | None,
    typer.Option("--variants", metavar="NAME,NAME,…", help="Only these rows.", show_default="all of the setting"),
]
TestFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="Pools to measure on (repeat for several); without them a fixed fifth of the questions is held out.",
        show_default=False,
    ),
]
Hidden = Annotated[int | None, typer.Option(min=4, help="Width of the net's states.", show_default=OWN)]

VoteRate = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        help="Factor on the learning rate of vote features; about 100 where there are few questions.",
        show_default="1",
    ),
]


def ablate(
    files: Files,
    output: Folder,
    setting: Setting = WorldSetting.WEBQA,
    seeds: Seeds = 3,
    variants: VariantNames = None,
    test: TestFiles = None,
    encoder: Encoder = "default",
    dims: Dims = None,
    k: K = None,
    epochs: Epochs = None,
    batch: BatchPools = None,
    learning_rate: LearningRate = None,
    hidden: Hidden = None,
    vote_rate: VoteRate = None,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Train the full selector and every control of the paper's ablation tables, and compare them on held-out pools.

    All variants see the same questions, seeds and steps. Each finished run is kept: the same command goes on where it
    was interrupted, and more seeds or variants are added to the same folder.
    """
    # Here, because this needs numpy and torch, which help should not wait for.
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.ablation import Ablation, AblationSetup, variants_named
    from tracerank.trace.recipe import setting_named

    chosen = variants_named(str(setting), variants)
    given = {"k": k, "epochs": epochs, "batch_pools": batch, "learning_rate": learning_rate, "vote_rate": vote_rate}
    plan = replace(setting_named(str(setting)).plan, **{n: value for n, value in given.items() if value is not None})  # type: ignore[arg-type]
    net = {} if hidden is None else {"hidden": hidden, "feed_forward": 4 * hidden}
    source = {"setting": str(setting), "files": fingerprint(files), "test": fingerprint(test or [])}
    with Problems(problems, keep=(*files, *(test or []))) as report, working("reading", quiet=quiet) as bar:
        ablation = Ablation(output, AblationSetup(plan, load_embedder(encoder, dims), net, source))
        tested = pools_of(test, reader, report) if test else None
        ablation.take(bar.over(pools_of(files, reader, report)), tested)
    _run_all(ablation, chosen, seeds, quiet)
    rows = ablation.rows(chosen, seeds)
    if as_json:
        print_json({"setting": str(setting), "k": plan.k, "rows": [asdict(row) for row in rows]}, indent=2)
    else:
        _print(rows, plan.k)


def _run_all(ablation: "Ablation", variants: "tuple[Variant, ...]", seeds: int, quiet: bool) -> None:
    from tracerank.trace.train import StepReport

    todo = ablation.remaining(variants, seeds)
    with working("training", unit="runs", total=len(todo), quiet=quiet) as bar:
        ablation.measure_votes()
        for variant, seed in todo:
            bar.describe(f"{variant.name}, seed {seed}")

            def on_step(done: StepReport, stages: int = variant.stages) -> None:
                bar.advance(1 / (stages * done.steps * done.epochs))

            ablation.run(variant, seed, on_step)
    if not quiet and len(todo) < seeds * len(variants):
        note(f"{seeds * len(variants) - len(todo)} of {seeds * len(variants)} runs were done before")


def _print(rows: "list[AblationRow]", k: int) -> None:
    table = new_table("variant", "right %", "±", "against full", "±", "paper %")
    for row in rows:
        table.add_row(
            row.name,
            f"{100 * row.accuracy:.1f}",
            *(
                "" if value is None else f"{100 * value:{shape}}"
                for value, shape in ((row.deviation, ".1f"), (row.against, "+.1f"), (row.error, ".1f"))
            ),
            "" if row.published is None else f"{row.published:.1f}",
        )
    seeds = max(row.seeds for row in rows)
    print_table(
        table,
        f"right % of {rows[0].questions:,} held-out questions, K={k}; mean and deviation over {seeds} seeds; "
        "difference to full with its standard error over questions; the paper's figures are of its own pools",
    )
