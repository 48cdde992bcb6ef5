"""``tracerank train``: a network from labelled pools, by one of three presets."""

import json
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
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
    from tracerank.fitting.presets import OnStep
    from tracerank.trace.training.fit import StepReport

OWN = "the preset's own, see docs/paper-map.md"


class PresetName(StrEnum):
    """What ``--preset`` takes."""

    PAPER = "paper"
    MARKS = "marks"
    PLUS = "plus"


class DeviceName(StrEnum):
    """What ``--device`` takes."""

    CPU = "cpu"
    CUDA = "cuda"


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
        help="The network: paper (TRACE as published, for many thousand labelled pools), marks (TRACE that sees where "
        "answers stand in the evidence instead of text vectors, on top of the vote; for some hundred pools, without an "
        "encoder) or plus (marks, with corrections by support and form; for few pools, too).",
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
OwnEncoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Of all texts: default (all-MiniLM-L6-v2), hash-256 (no model), a folder, a hub id or URL#MODEL. Not for "
        "marks, which reads no texts.",
        show_default="default",
    ),
]
K = Annotated[int | None, typer.Option("-k", min=2, help="Rollouts per question.", show_default=OWN)]
Epochs = Annotated[int | None, typer.Option(min=1, help="Times that every question is seen.", show_default=OWN)]
BatchPools = Annotated[int | None, typer.Option("--batch", min=1, help="Questions a step.", show_default=OWN)]
LearningRate = Annotated[float | None, typer.Option(min=0.0, help="Of AdamW.", show_default=OWN)]
Seed = Annotated[int | None, typer.Option(min=0, help="Of weights, order and dropout.", show_default=OWN)]
Seeds = Annotated[
    int | None, typer.Option(min=1, help="Networks that are averaged; of marks and plus.", show_default=OWN)
]
Identity = Annotated[
    bool, typer.Option("--identity", help="Of paper: encoders, queries and keys begin as the identity.")
]
Shared = Annotated[
    bool, typer.Option("--shared", help="Of paper: encoders begin with equal weights; so do queries and keys.")
]
Freeze = Annotated[
    int | None,
    typer.Option(
        "--freeze", metavar="STEPS", min=0, help="Of paper: steps before the encoders learn, too.", show_default="0"
    ),
]
Device = Annotated[
    DeviceName,
    typer.Option(
        "--device", help="Of paper: where it is trained. With cuda each process that torchrun starts takes one card."
    ),
]
Forced = Annotated[bool, typer.Option("--force", help="Train although the pools are of the other search setting.")]


def train(
    pools: SettingAndFiles,
    output: OutputFolder,
    preset: Preset = PresetName.PAPER,
    encoder: OwnEncoder = None,
    dims: Dims = None,
    k: K = None,
    epochs: Epochs = None,
    batch: BatchPools = None,
    learning_rate: LearningRate = None,
    seed: Seed = None,
    seeds: Seeds = None,
    identity: Identity = False,
    shared: Shared = False,
    freeze: Freeze = None,
    device: Device = DeviceName.CPU,
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
    Pools with only right or only wrong answers are left out, and 5% of the questions are held out. With paper they
    choose the best epoch; an interrupted run goes on when the same command is given again, and ends with the same
    weights. With marks and plus nothing is chosen by them, pools are also cut into random subsets, and after an
    interruption only what was prepared is kept. --identity, --shared and --freeze change where the paper's training
    begins, not its equations. Under torchrun the processes share every step of paper. At the end vote, shipped
    selector, network and oracle are compared on the pools that were held out. Use the result with --checkpoint FOLDER.
    """
    # Here, because this needs numpy and torch, which help should not wait for.
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.folder import write_network_card
    from tracerank.fitting.held_out import compare_held_out
    from tracerank.fitting.presets import TrainingSource, encoder_of, prepare_training, told_setting
    from tracerank.trace.training.processes import device_here, joined

    named, paths = _setting_and_files(pools)
    labelling = labelling_named(labels)
    held_out = None if split is None else split_named(split)
    where = device_here(str(device))
    with joined(where) as processes:
        if processes.count > 1 and preset is not PresetName.PAPER:
            raise UsageError(f"--preset {preset} is trained by one process; leave torchrun out, or take --preset paper")
        if not processes.is_writer:  # one of them speaks
            quiet, as_json, problems = True, False, None
        with Problems(problems, keep=paths) as report, working("preparing", quiet=quiet) as bar:
            found, stream = told_setting(_to_learn(pools_of(paths, reader, report), held_out))
            setting = named or found
            if setting != found and not force:
                raise UsageError(
                    f"the pools are of the setting {found}, not {setting}: a network of {setting} would learn little "
                    f"from them; leave {setting} out, or train all the same with --force"
                )
            made_from = json.dumps(fingerprint(paths)) + ("" if split is None else f", without --split {split}")
            embedder = load_embedder(encoder_of(str(preset), encoder), dims)
            source = TrainingSource(setting, bar.over(stream), made_from, embedder, labelling)
            prepare = partial(
                prepare_training,
                str(preset),
                source,
                output,
                k=k,
                epochs=epochs,
                batch_pools=batch,
                learning_rate=learning_rate,
                seed=seed,
                seeds=seeds,
                identity=identity or None,
                shared=shared or None,
                frozen_steps=freeze,
                device=where,
            )
            ready = processes.first_here(prepare)
        if not quiet:
            note(ready.about)
            if labelling.answers:  # none are labelled anew where examples are taken up again
                note(labelling.sentence)
            say_judge(labelling)
            if ready.caution is not None:
                note(ready.caution)
        with working("training", unit="steps", total=ready.steps, quiet=quiet) as bar:
            summary = ready.run(_showing(bar))
    if not processes.is_writer:
        return
    with working("comparing", quiet=quiet) as bar:
        again = bar.over(_to_learn(pools_of(paths, reader, lambda _: None), held_out))
        compared = compare_held_out(output, embedder, again, ready.k, labelling_named(labels))
    taught = labelling.sentence if labelling.answers else None  # none are labelled anew where examples are kept
    said = (ready.about, taught, ready.outcome(summary), compared.sentence, compared.warning)
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
