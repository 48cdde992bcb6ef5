"""``tracerank train``: a selector from labelled pools."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import Dims, Files, ProblemsFile, Quiet, ReaderName
from tracerank.cli.output import fingerprint
from tracerank.cli.problems import Problems
from tracerank.cli.progress import working
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import note
from tracerank.readers.detect import AUTO

OWN = "the paper's, see docs/paper-map.md"

Setting = Annotated[str, typer.Argument(metavar="webqa|browsing", help="The search setting.", show_default=False)]
OutputFolder = Annotated[
    Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the checkpoint goes.", show_default=False)
]
Encoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Of all texts: default (all-MiniLM-L6-v2), hash-256 (no model), a folder, a hub id or URL#model.",
    ),
]
K = Annotated[int | None, typer.Option("-k", min=2, help="Rollouts per question.", show_default=OWN)]
Epochs = Annotated[int | None, typer.Option(min=1, help="Times that every question is seen.", show_default=OWN)]
BatchPools = Annotated[int | None, typer.Option("--batch", min=1, help="Questions a step.", show_default=OWN)]
LearningRate = Annotated[float | None, typer.Option(min=0.0, help="Of AdamW, constant.", show_default=OWN)]
Seed = Annotated[int | None, typer.Option(min=0, help="Of weights, order and dropout.", show_default=OWN)]


def train(
    setting: Setting,
    files: Files,
    output: OutputFolder,
    encoder: Encoder = "default",
    dims: Dims = None,
    k: K = None,
    epochs: Epochs = None,
    batch: BatchPools = None,
    learning_rate: LearningRate = None,
    seed: Seed = None,
    reader: ReaderName = AUTO,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Train a selector on pools with labels or references, with the paper's settings unless told otherwise.

    Pools with only right or only wrong answers are left out; 5% of the questions are held out to choose the best
    epoch. An interrupted run goes on when the same command is given again, and ends with the same weights.
    """
    # Here, because this needs numpy and torch, which help should not wait for.
    from tracerank.cli.encoders import encoder_named
    from tracerank.model.net import NetConfig
    from tracerank.search_settings import setting_named
    from tracerank.training.examples import prepare_examples
    from tracerank.training.fit import StepReport
    from tracerank.training.fit import train as fit

    chosen = setting_named(setting)
    given = {"k": k, "epochs": epochs, "batch_pools": batch, "learning_rate": learning_rate, "seed": seed}
    plan = replace(chosen.plan, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    embedder = encoder_named(encoder, dims)
    with Problems(problems, keep=files) as report, working("preparing", quiet=quiet) as bar:
        pools = bar.over(pools_of(files, reader, report))
        source = json.dumps(fingerprint(files))
        examples = prepare_examples(pools, chosen.recipe, plan, embedder, output / "training" / "examples", source)
    counts = examples.manifest["counts"]
    if not quiet:
        note(", ".join(f"{count:,} {what}" for what, count in counts.items()))
    steps = plan.epochs * -(-len(examples.train()) // plan.batch_pools)
    with working("training", unit="steps", total=steps, quiet=quiet) as bar:

        def on_step(done: StepReport) -> None:
            bar.advance()
            bar.describe(f"epoch {done.epoch} of {done.epochs}, loss {done.loss:.3f}")

        checkpoint = fit(examples, NetConfig(examples.width), chosen.recipe, plan, output, on_step=on_step)
    if not quiet:
        summary = checkpoint.training
        note(
            f"{output}: epoch {summary['best_epoch']} is best, {100 * summary['validation_accuracy']:.1f}% right on "
            f"{summary['questions']['validation']:,} held-out mixed pools"
        )
