"""``tracerank train``: a network from labelled pools, by a preset."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AsJson, Dims, ProblemsFile, Quiet, ReaderName, SplitName, written_place
from tracerank.cli.labelling import Labels, labelling_named, say_judge
from tracerank.cli.output import fingerprint
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import Bar, note, print_json, working
from tracerank.errors import UsageError
from tracerank.evaluation import labels as label_rules
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import Split, split_named
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers.detect import AUTO

if TYPE_CHECKING:
    from tracerank.trace.train import OnStep, StepReport

OWN = "the preset's own, see docs/paper-map.md"


class PresetName(StrEnum):
    """What ``--preset`` takes."""

    PAPER = "paper"
    SMALL = "small"


SettingAndFiles = Annotated[
    list[str],
    typer.Argument(
        metavar=f"[{WEBQA}|{BROWSING}] FILE",
        help="The search setting, told from the pools if left out; then files, folders or patterns of rollouts.",
        show_default=False,
    ),
]
OutputFolder = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        callback=written_place,
        help="Where the checkpoint goes.",
        show_default=False,
    ),
]
Preset = Annotated[
    PresetName,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="The network: paper (TRACE as published, for many thousand labelled pools) or small (a quarter as wide, "
        "in a minute).",
    ),
]
Encoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Of all texts: default (all-MiniLM-L6-v2), multilingual, hash-256 (no model), folder, hub id, URL#MODEL.",
    ),
]
K = Annotated[int | None, typer.Option("-k", min=2, help="Rollouts per question.", show_default=OWN)]
Epochs = Annotated[int | None, typer.Option(min=1, help="Times that every question is seen.", show_default=OWN)]
BatchPools = Annotated[int | None, typer.Option("--batch", min=1, help="Questions a step.", show_default=OWN)]
LearningRate = Annotated[float | None, typer.Option(min=0.0, help="Of AdamW.", show_default=OWN)]
Seed = Annotated[int | None, typer.Option(min=0, help="Of weights, order and dropout.", show_default=OWN)]
Device = Annotated[
    str,
    typer.Option("--device", metavar="NAME", help="Where it is trained, as torch names it: cpu, cuda, cuda:1."),
]
Forced = Annotated[bool, typer.Option("--force", help="Train although the pools are of the other search setting.")]


def train(
    pools: SettingAndFiles,
    output: OutputFolder,
    preset: Preset = PresetName.PAPER,
    encoder: Encoder = "default",
    dims: Dims = None,
    k: K = None,
    epochs: Epochs = None,
    batch: BatchPools = None,
    learning_rate: LearningRate = None,
    seed: Seed = None,
    device: Device = "cpu",
    split: SplitName = None,
    labels: Labels = label_rules.PAPER,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    force: Forced = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Train a network on pools with labels or references, with the preset's settings unless told otherwise.

    The labels are the paper's: those of the file, else exact match (--labels meaning judges by meaning).
    Pools with only right or only wrong answers are left out; 5% of the questions are held out and choose the best
    epoch. An interrupted run resumes when the same command is given again, and ends with the same weights. At the end
    vote, shipped selector, network and oracle are compared on the pools that were held out.
    """
    # Here, because this needs numpy and torch, which help should not wait for.
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.folder import write_network_card
    from tracerank.fitting.held_out import compare_held_out
    from tracerank.fitting.train import TrainingSource, guess_setting, prepare_training

    named, paths = _setting_and_files(pools)
    labelling = labelling_named(labels)
    held_out = None if split is None else split_named(split)
    with Problems(problems, keep=paths) as report, working("preparing", quiet=quiet) as bar:
        found, stream = guess_setting(_to_learn(pools_of(paths, reader, report), held_out))
        setting = named or found
        if setting != found and not force:
            raise UsageError(
                f"the pools are of the setting {found}, not {setting}: a network of {setting} would learn little "
                f"from them; leave {setting} out, or train all the same with --force"
            )
        made_from = json.dumps(fingerprint(paths)) + ("" if split is None else f", without --split {split}")
        embedder = load_embedder(encoder, dims)
        ready = prepare_training(
            str(preset),
            TrainingSource(setting, bar.over(stream), made_from, embedder, labelling),
            output,
            device=device,
            k=k,
            epochs=epochs,
            batch_pools=batch,
            learning_rate=learning_rate,
            seed=seed,
        )
    if not quiet:
        note(ready.about)
        if ready.labelling is not None:
            note(ready.labelling)
        say_judge(labelling)
        if ready.caution is not None:
            note(ready.caution)
    with working("training", unit="steps", total=ready.steps, quiet=quiet) as bar:
        summary = ready.run(_showing(bar))
    with working("comparing", quiet=quiet) as bar:
        again = bar.over(_to_learn(pools_of(paths, reader, lambda _: None), held_out))
        compared = compare_held_out(output, embedder, again, ready.k, labelling_named(labels))
    said = (ready.about, ready.labelling, ready.outcome(summary), compared.sentence, compared.warning)
    write_network_card(output, f"TRACE network ({preset}, {setting})", [line for line in said if line])
    if as_json:
        about = {"folder": str(output), "preset": str(preset), "setting": setting, "labels": labelling.name}
        print_json({**about, "training": summary, "held_out": compared.record()}, indent=2)
    if not quiet:
        note(f"{output}: {ready.outcome(summary)}")
        if compared.sentence is not None:
            note(compared.sentence)
        if compared.warning is not None:
            note(f"warning: {compared.warning}")


def _to_learn(pools: Iterator[Pool], held_out: Split | None) -> Iterator[Pool]:
    return (pool for pool in pools if held_out is None or not held_out.holds_out(pool.question))


def _setting_and_files(words: list[str]) -> tuple[str | None, list[Path]]:
    """The first word may be the setting or a file like the others."""
    first, *others = words
    if first in (WEBQA, BROWSING):
        if not others:
            raise UsageError(f"no files to learn from; name them after {first}")
        return first, list(map(Path, others))
    if not Path(first).suffix and not Path(first).exists() and not set(first) & set("*?[:"):
        raise UsageError(f"{first}: neither a search setting ({WEBQA}, {BROWSING}) nor a file or folder that exists")
    return None, list(map(Path, words))


def _showing(bar: Bar) -> "OnStep":
    def on_step(done: "StepReport") -> None:
        bar.advance()
        bar.describe(f"epoch {done.epoch} of {done.epochs}, loss {done.loss:.3f}")

    return on_step
