"""``tracerank train``: a network from labelled pools, by one of two presets."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracerank.cli.arguments import AsJson, Dims, ProblemsFile, Quiet, ReaderName
from tracerank.cli.output import fingerprint
from tracerank.cli.problems import Problems
from tracerank.cli.progress import Bar, working
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import note, print_json
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers.detect import AUTO

if TYPE_CHECKING:
    from tracerank.embedding.base import Embedder
    from tracerank.selectors.trace.training.fit import StepReport

OWN = "the preset's own, see docs/paper-map.md"
LOOKED_AT = 64
"""Pools that tell the search setting where it is not named."""


class PresetName(StrEnum):
    """What ``--preset`` takes."""

    PAPER = "paper"
    PLUS = "plus"


SettingAndFiles = Annotated[
    list[str],
    typer.Argument(
        metavar=f"[{WEBQA}|{BROWSING}] FILE",
        help="The search setting, told from the pools if left out; then files, folders or patterns of rollouts.",
        show_default=False,
    ),
]
OutputFolder = Annotated[
    Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the checkpoint goes.", show_default=False)
]
Preset = Annotated[
    PresetName,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="The network: paper (TRACE as published) or plus (starts as the vote and learns corrections from votes, "
        "support and form; for few labelled pools).",
    ),
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
LearningRate = Annotated[float | None, typer.Option(min=0.0, help="Of AdamW.", show_default=OWN)]
Seed = Annotated[int | None, typer.Option(min=0, help="Of weights, order and dropout.", show_default=OWN)]
Seeds = Annotated[int | None, typer.Option(min=1, help="Networks that are averaged; of plus alone.", show_default=OWN)]


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
    seeds: Seeds = None,
    reader: ReaderName = AUTO,
    as_json: AsJson = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Train a network on pools with labels or references, with the preset's settings unless told otherwise.

    Pools with only right or only wrong answers are left out, and 5% of the questions are held out. With paper they
    choose the best epoch; an interrupted run goes on when the same command is given again, and ends with the same
    weights. With plus nothing is chosen by them, pools are also cut into random subsets, and after an interruption only
    what was encoded is kept. Use the result with --checkpoint FOLDER.
    """
    # Here, because this needs numpy and torch, which help should not wait for.
    from tracerank.embedding.load import load_embedder

    if seeds is not None and preset is not PresetName.PLUS:
        raise UsageError("--seeds: only --preset plus averages several networks")
    named, paths = _setting_and_files(pools)
    given = {"k": k, "epochs": epochs, "batch_pools": batch, "learning_rate": learning_rate}
    given |= {"seed": seed, "seeds": seeds}
    values = {name: value for name, value in given.items() if value is not None}
    with Problems(problems, keep=paths) as report, working("preparing", quiet=quiet) as bar:
        setting, stream = _told(named, pools_of(paths, reader, report))
        source = _Source(setting, bar.over(stream), json.dumps(fingerprint(paths)), load_embedder(encoder, dims))
        prepare = _paper if preset is PresetName.PAPER else _plus
        ready = prepare(source, values, output)
    if not quiet:
        note(ready.about)
    with working("training", unit="steps", total=ready.steps, quiet=quiet) as bar:
        summary = ready.run(_showing(bar))
    if as_json:
        print_json({"folder": str(output), "preset": str(preset), "setting": setting, "training": summary}, indent=2)
    if not quiet:
        note(f"{output}: {ready.outcome(summary)}")


@dataclass(frozen=True, slots=True)
class _Source:
    """What there is to learn from."""

    setting: str
    pools: Iterator[Pool]
    files: str
    """Fingerprint of what the pools are read from."""
    embedder: "Embedder"


OnStep = Callable[["StepReport"], None]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A run whose examples are prepared."""

    about: str
    """What there is to learn from, in a line."""
    steps: int
    run: Callable[[OnStep], Mapping[str, Any]]
    """Trains, saves and sums up."""
    outcome: Callable[[Mapping[str, Any]], str]
    """The last line about a summary."""


def _setting_and_files(words: list[str]) -> tuple[str | None, list[Path]]:
    """The first word may be the setting or a file like the others."""
    first, *others = words
    if first in (WEBQA, BROWSING):
        if not others:
            raise UsageError(f"no files to learn from; name them after {first}")
        return first, list(map(Path, others))
    if not Path(first).suffix and not Path(first).exists() and not set(first) & set("*?["):
        raise UsageError(f"{first}: neither a search setting ({WEBQA}, {BROWSING}) nor a file or folder that exists")
    return None, list(map(Path, words))


def _told(setting: str | None, pools: Iterator[Pool]) -> tuple[str, Iterable[Pool]]:
    """The setting, if need be that of most of the first pools, and all pools."""
    if setting is not None:
        return setting, pools
    first = list(islice(pools, LOOKED_AT))
    ((setting, _),) = Counter(pool.setting for pool in first).most_common(1)
    return setting, chain(first, pools)


def _examples_folder(output: Path) -> Path:
    """The same for both presets, so that one cannot be trained over the other."""
    return output / "training" / "examples"


def _paper(source: _Source, given: Mapping[str, Any], output: Path) -> _Ready:
    from tracerank.selectors.trace.net import NetConfig
    from tracerank.selectors.trace.settings import setting_named
    from tracerank.selectors.trace.training.examples import prepare_examples
    from tracerank.selectors.trace.training.fit import train as fit

    chosen = setting_named(source.setting)
    plan = replace(chosen.plan, **given)
    folder = _examples_folder(output)
    examples = prepare_examples(source.pools, chosen.recipe, plan, source.embedder, folder, source.files)
    config = NetConfig(examples.width)
    return _Ready(
        ", ".join(f"{count:,} {what}" for what, count in examples.manifest["counts"].items()),
        plan.epochs * -(-len(examples.train()) // plan.batch_pools),
        lambda on_step: fit(examples, config, chosen.recipe, plan, output, on_step=on_step).training,
        lambda summary: (
            f"epoch {summary['best_epoch']} is best, "
            f"{_right(summary)} {summary['questions']['validation']:,} held-out mixed pools"
        ),
    )


def _plus(source: _Source, given: Mapping[str, Any], output: Path) -> _Ready:
    from tracerank.selectors.plus.examples import Cutting, prepare_plus
    from tracerank.selectors.plus.facts import plus_recipe
    from tracerank.selectors.plus.fit import PlusPlan, train_plus
    from tracerank.selectors.plus.net import PlusConfig
    from tracerank.selectors.trace.settings import setting_named

    k = given.get("k")
    plan = PlusPlan(**{name: value for name, value in given.items() if name != "k"})
    if "epochs" in given:
        plan = replace(plan, most_steps=sys.maxsize)  # who names epochs gets them all
    recipe = plus_recipe(setting_named(source.setting).recipe)
    pools = (pool if k is None else pool.first(k) for pool in source.pools)
    made_from = source.files if k is None else f"{source.files}, the first {k} rollouts"
    cutting = Cutting(seed=plan.seed)
    examples = prepare_plus(pools, recipe, cutting, source.embedder, _examples_folder(output), made_from)
    learn, held_out = examples.examples.train(), examples.examples.validation()
    config = PlusConfig(examples.examples.width)
    return _Ready(
        f"{len(learn):,} mixed pools and subsets of {len(set(examples.questions(learn))):,} questions to learn from, "
        f"{len(held_out):,} of {len(set(examples.questions(held_out))):,} held out",
        plan.steps(len(learn)),
        lambda on_step: train_plus(examples, config, plan, output, on_step=on_step).training,
        lambda summary: (
            f"the mean of {plan.seeds} networks, "
            + (
                f"{_right(summary)} {len(held_out):,} held-out pools and subsets"
                if len(held_out)
                else "nothing held out"
            )
        ),
    )


def _right(summary: Mapping[str, Any]) -> str:
    return f"{100 * summary['validation_accuracy']:.1f}% right on"


def _showing(bar: Bar) -> OnStep:
    def on_step(done: "StepReport") -> None:
        bar.advance()
        bar.describe(f"epoch {done.epoch} of {done.epochs}, loss {done.loss:.3f}")

    return on_step
