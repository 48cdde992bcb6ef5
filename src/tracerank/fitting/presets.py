"""A network from labelled pools by a preset: ``paper`` is TRACE as published, ``plus`` is for few pools, ``small`` is
TRACE in a minute, for a demonstration.

A preset turns pools into examples on disk and says how many steps are to come; training, saving and the summary follow
when it is run. The networks and their training are in ``selectors/trace`` and ``selectors/plus``.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tracerank.embedding.base import Embedder
from tracerank.errors import UsageError
from tracerank.evaluation.labels import PAPER as PAPER_LABELS
from tracerank.evaluation.labels import Labelling
from tracerank.pools.pool import Pool
from tracerank.selectors.plus.description import PlusConfig
from tracerank.selectors.plus.examples import Cutting, prepare_plus
from tracerank.selectors.plus.facts import plus_recipe
from tracerank.selectors.plus.fit import PlusPlan, train_plus
from tracerank.selectors.trace.settings import setting_named
from tracerank.selectors.trace.sizes import NetConfig
from tracerank.selectors.trace.training.examples import prepare_examples
from tracerank.selectors.trace.training.fit import StepReport, train

PAPER, PLUS, SMALL = "paper", "plus", "small"
LOOKED_AT = 64
"""Pools that tell the search setting where it is not named."""

_SMALL_NET: Mapping[str, Any] = MappingProxyType({"hidden": 64, "feed_forward": 256, "dropout": 0.5})
"""Small enough to be trained in seconds; the paper's is four times as wide."""
_SMALL_PLAN: Mapping[str, Any] = MappingProxyType(
    {"epochs": 2, "batch_pools": 8, "learning_rate": 1e-3, "weight_decay": 3.0, "vote_rate": 100.0}
)
"""What keeps a few hundred questions from being learned by heart; chosen on other questions of the world (LOG.md)."""

OnStep = Callable[[StepReport], None]


@dataclass(frozen=True, slots=True)
class TrainingSource:
    """What there is to learn from."""

    setting: str
    """``webqa`` or ``browsing``."""
    pools: Iterable[Pool]
    files: str
    """Tells one input from another: examples in a folder are taken up again only for the same."""
    embedder: Embedder
    labels: Labelling = field(default_factory=lambda: Labelling(PAPER_LABELS))
    """By which rule answers are right: the paper's, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class PreparedTraining:
    """A run whose examples are prepared."""

    about: str
    """What there is to learn from, in a line."""
    steps: int
    """How often ``on_step`` will be called by a run that was not interrupted."""
    run: Callable[[OnStep | None], Mapping[str, Any]]
    """Trains, saves and sums up."""
    outcome: Callable[[Mapping[str, Any]], str]
    """How well a summary says it went, in a line."""


def told_setting(pools: Iterable[Pool]) -> tuple[str, Iterator[Pool]]:
    """The search setting of most of the first pools, and all the pools."""
    stream = iter(pools)
    first = list(islice(stream, LOOKED_AT))
    if not first:
        raise UsageError("no pools to learn from: give some")
    ((setting, _),) = Counter(pool.setting for pool in first).most_common(1)
    return setting, chain(first, stream)


def prepare_training(
    preset: str, source: TrainingSource, output: str | Path, **given: int | float | None
) -> PreparedTraining:
    """Make the examples of a preset, or take them up again; the checkpoint will go to ``output``.

    ``given`` are fields of the preset's plan that take another value (k, epochs, batch_pools, learning_rate, seed, of
    plus also seeds); None leaves the preset's own.
    """
    if preset not in PRESETS:
        raise UsageError(f"no preset is called {preset!r}; choose one of {', '.join(PRESETS)}")
    values = {name: value for name, value in given.items() if value is not None}
    if "seeds" in values and preset != PLUS:
        raise UsageError("--seeds: only --preset plus averages several networks")
    if source.labels.rule != PAPER_LABELS:  # examples that were made by another rule are not taken up again
        source = replace(source, files=f"{source.files}, labels by {source.labels.name}")
    labelled = replace(source, pools=source.labels.pools(source.pools))
    return PRESETS[preset](labelled, values, Path(output))


def _paper(source: TrainingSource, given: Mapping[str, Any], output: Path) -> PreparedTraining:
    return _trace(source, given, output, {})


def _small(source: TrainingSource, given: Mapping[str, Any], output: Path) -> PreparedTraining:
    return _trace(source, {**_SMALL_PLAN, **given}, output, _SMALL_NET)


def _trace(source: TrainingSource, given: Mapping[str, Any], output: Path, net: Mapping[str, Any]) -> PreparedTraining:
    """TRACE by the paper's plan and net but for the values that are given."""
    chosen = setting_named(source.setting)
    plan = replace(chosen.plan, **given)
    folder = _examples_folder(output)
    examples = prepare_examples(source.pools, chosen.recipe, plan, source.embedder, folder, source.files)
    config = NetConfig(examples.width, **net)
    return PreparedTraining(
        ", ".join(f"{count:,} {what}" for what, count in examples.manifest["counts"].items()),
        plan.epochs * -(-len(examples.train()) // plan.batch_pools),
        lambda on_step: train(examples, config, chosen.recipe, plan, output, on_step=on_step).training,
        lambda summary: (
            f"epoch {summary['best_epoch']} is best, "
            f"{_right(summary)} {summary['questions']['validation']:,} held-out mixed pools"
        ),
    )


def _plus(source: TrainingSource, given: Mapping[str, Any], output: Path) -> PreparedTraining:
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
    return PreparedTraining(
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


PRESETS: Mapping[str, Callable[[TrainingSource, Mapping[str, Any], Path], PreparedTraining]] = MappingProxyType(
    {PAPER: _paper, PLUS: _plus, SMALL: _small}
)


def _examples_folder(output: Path) -> Path:
    """The same for both presets, so that one cannot be trained over the other."""
    return output / "training" / "examples"


def _right(summary: Mapping[str, Any]) -> str:
    return f"{100 * summary['validation_accuracy']:.1f}% right on"
