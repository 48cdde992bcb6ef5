"""A network from labelled pools by a preset: ``paper`` is TRACE as published, ``marks`` and ``plus`` are for few pools,
``small`` is the paper's in a minute, for a demonstration.

A preset turns pools into examples on disk and says how many steps are to come; training, saving and the summary follow
when it is run. The networks and their training are in ``selectors/trace`` and ``selectors/plus``.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tracerank.embedding.base import BlankEmbedder, Embedder
from tracerank.errors import UsageError
from tracerank.evaluation.labels import PAPER as PAPER_LABELS
from tracerank.evaluation.labels import Labelling
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.selectors.plus.description import PlusConfig
from tracerank.selectors.plus.examples import Cutting, prepare_plus
from tracerank.selectors.plus.facts import FAMILY_OF, plus_recipe
from tracerank.selectors.plus.fit import PlusPlan, train_plus
from tracerank.trace.settings import setting_named
from tracerank.trace.sizes import NetConfig
from tracerank.trace.training.beginning import Beginning
from tracerank.trace.training.examples import prepare_examples
from tracerank.trace.training.fit import StepReport, train
from tracerank.trace.training.processes import PROCESSOR, Device
from tracerank.votes.selector import FITTED_ON, remember_fitted

PAPER, MARKS, PLUS, SMALL = "paper", "marks", "plus", "small"
DEVICE = "device"
"""What is given of a preset but neither of its plan nor of its beginning."""
LOOKED_AT = 64
"""Pools that tell the search setting where it is not named."""
ENOUGH_POOLS: Mapping[str, int] = MappingProxyType({WEBQA: 10_000, BROWSING: 2_655})
"""Mixed pools below which the paper's network tends to lose to the vote: by setting, measured by
``studies/quality/scaling.py``, and of browsing, where that was not done, what the paper had."""

_SMALL_NET: Mapping[str, Any] = MappingProxyType({"hidden": 64, "feed_forward": 256, "dropout": 0.5})
"""Small enough to be trained in seconds; the paper's is four times as wide."""
_SMALL_PLAN: Mapping[str, Any] = MappingProxyType(
    {"epochs": 2, "batch_pools": 8, "learning_rate": 1e-3, "weight_decay": 3.0, "vote_rate": 100.0}
)
"""What keeps a few hundred questions from being learned by heart; chosen on other questions of the world (LOG.md)."""

MARKS_NET: Mapping[str, Any] = MappingProxyType(
    {
        "dropped_families": tuple(sorted(set(FAMILY_OF.values()) - {"votes", "pool"})),
        "sources": 0.0,
        "among": 0,
        "gate": 1.0,
    }
)
"""TRACE over marks of where answers stand in the evidence, on top of the vote, and nothing else: no text's vector."""
MARKS_PLAN: Mapping[str, Any] = MappingProxyType({"most_steps": 600})

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
    caution: str | None
    """What speaks against the preset here, in a line; None: nothing."""
    steps: int
    """How often ``on_step`` will be called by a run that was not interrupted."""
    run: Callable[[OnStep | None], Mapping[str, Any]]
    """Trains, saves and sums up."""
    outcome: Callable[[Mapping[str, Any]], str]
    """How well a summary says it went, in a line."""
    k: int | None = None
    """Rollouts of a question that are looked at; None: all."""


def told_setting(pools: Iterable[Pool]) -> tuple[str, Iterator[Pool]]:
    """The search setting of most of the first pools, and all the pools."""
    stream = iter(pools)
    first = list(islice(stream, LOOKED_AT))
    if not first:
        raise UsageError("no pools to learn from: give some")
    ((setting, _),) = Counter(pool.setting for pool in first).most_common(1)
    return setting, chain(first, stream)


def encoder_of(preset: str, named: str | None) -> str:
    """The encoder that a preset takes where the user names this one or none."""
    if preset != MARKS:
        return named or "default"
    if named is not None:
        raise UsageError(f"--preset {MARKS} reads no texts' vectors: leave --encoder out")
    return BlankEmbedder.name


def prepare_training(
    preset: str, source: TrainingSource, output: str | Path, **given: int | float | Device | None
) -> PreparedTraining:
    """Make the examples of a preset, or take them up again; the checkpoint will go to ``output``.

    ``given`` are fields of the preset's plan that take another value (k, epochs, batch_pools, learning_rate, seed, of
    marks and plus also seeds, of the others those of ``Beginning`` and the device); None leaves the preset's own.
    """
    if preset not in PRESETS:
        raise UsageError(f"no preset is called {preset!r}; choose one of {', '.join(PRESETS)}")
    values = {name: value for name, value in given.items() if value is not None}
    starts_as_vote = preset in (MARKS, PLUS)
    if "seeds" in values and not starts_as_vote:
        raise UsageError("--seeds: only --preset marks and --preset plus average several networks")
    if starts_as_vote and any(values.get(field.name) for field in fields(Beginning)):
        raise UsageError("--identity, --shared and --freeze are for the encoders of --preset paper")
    if starts_as_vote and values.pop(DEVICE, PROCESSOR) != PROCESSOR:
        raise UsageError(f"--device is for --preset paper: {preset} is trained on processors")
    if source.labels.rule != PAPER_LABELS:  # examples that were made by another rule are not taken up again
        source = replace(source, files=f"{source.files}, labels by {source.labels.name}")
    met = _Met(keeps_held_out=not starts_as_vote)
    labelled = replace(source, pools=met.over(source.labels.pools(source.pools)))
    prepared = PRESETS[preset](labelled, values, Path(output))
    if met.count or not (Path(output) / FITTED_ON).exists():
        # Examples of another day were taken up again: the pools were not looked at.
        for _ in () if met.count else met.over(source.pools):
            pass
        remember_fitted(output, met.questions)
    return prepared


@dataclass(slots=True)
class _Met:
    """Questions that a network learns from; also those that choose its epoch, where some do."""

    keeps_held_out: bool
    count: int = 0
    questions: list[str] = field(default_factory=list)

    def over(self, pools: Iterable[Pool]) -> Iterator[Pool]:
        for pool in pools:
            self.count += 1
            if self.keeps_held_out or not is_validation(pool.question.text):
                self.questions.append(pool.question.text)
            yield pool


def _paper(source: TrainingSource, given: Mapping[str, Any], output: Path) -> PreparedTraining:
    return _trace(source, given, output, {})


def _small(source: TrainingSource, given: Mapping[str, Any], output: Path) -> PreparedTraining:
    return _trace(source, {**_SMALL_PLAN, **given}, output, _SMALL_NET)


def _trace(source: TrainingSource, given: Mapping[str, Any], output: Path, net: Mapping[str, Any]) -> PreparedTraining:
    """TRACE by the paper's plan and net but for the values that are given."""
    chosen = setting_named(source.setting)
    first = {field.name for field in fields(Beginning)}
    beginning = Beginning(**{name: value for name, value in given.items() if name in first})
    plan = replace(chosen.plan, **{name: value for name, value in given.items() if name not in {*first, DEVICE}})
    device = given.get(DEVICE, PROCESSOR)
    folder = _examples_folder(output)
    examples = prepare_examples(source.pools, chosen.recipe, plan, source.embedder, folder, source.files)
    config = NetConfig(examples.width, **net)
    return PreparedTraining(
        ", ".join(f"{count:,} {what}" for what, count in examples.manifest["counts"].items()),
        _too_few(len(examples.train()), ENOUGH_POOLS[source.setting]),
        plan.epochs * -(-len(examples.train()) // plan.batch_pools),
        lambda on_step: (
            train(
                examples, config, chosen.recipe, plan, output, beginning=beginning, device=device, on_step=on_step
            ).training
        ),
        lambda summary: (
            f"epoch {summary['best_epoch']} is best, "
            f"{_right(summary)} {summary['questions']['validation']:,} held-out mixed pools"
        ),
        plan.k,
    )


def _too_few(mixed: int, enough: int) -> str | None:
    if mixed >= enough:
        return None
    return (
        f"{mixed:,} pools with right and wrong answers are few: the paper's network tends to lose to the vote with "
        f"fewer than {enough:,}; --preset {MARKS} works with some hundred"
    )


def _plus(source: TrainingSource, given: Mapping[str, Any], output: Path) -> PreparedTraining:
    return _from_the_vote(source, given, output, {})


def _marks(source: TrainingSource, given: Mapping[str, Any], output: Path) -> PreparedTraining:
    blank = replace(source, embedder=BlankEmbedder())
    return _from_the_vote(blank, {**MARKS_PLAN, **given}, output, MARKS_NET)


def _from_the_vote(
    source: TrainingSource, given: Mapping[str, Any], output: Path, net: Mapping[str, Any]
) -> PreparedTraining:
    """Networks that start as the vote, ``plus`` but for the values that are given."""
    k = given.get("k")
    taken = {field.name for field in fields(PlusPlan)}
    plan = PlusPlan(**{name: value for name, value in given.items() if name in taken})
    if "epochs" in given:
        plan = replace(plan, most_steps=sys.maxsize)  # who names epochs gets them all
    recipe = plus_recipe(setting_named(source.setting).recipe)
    pools = (pool if k is None else pool.first(k) for pool in source.pools)
    made_from = source.files if k is None else f"{source.files}, the first {k} rollouts"
    cutting = Cutting(seed=plan.seed)
    examples = prepare_plus(pools, recipe, cutting, source.embedder, _examples_folder(output), made_from)
    learn, held_out = examples.examples.train(), examples.examples.validation()
    config = PlusConfig(examples.examples.width, **net)
    return PreparedTraining(
        f"{len(learn):,} mixed pools and subsets of {len(set(examples.questions(learn))):,} questions to learn from, "
        f"{len(held_out):,} of {len(set(examples.questions(held_out))):,} held out",
        None,
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
        k,
    )


PRESETS: Mapping[str, Callable[[TrainingSource, Mapping[str, Any], Path], PreparedTraining]] = MappingProxyType(
    {PAPER: _paper, MARKS: _marks, PLUS: _plus, SMALL: _small}
)


def _examples_folder(output: Path) -> Path:
    """The same for all presets, so that one cannot be trained over the other."""
    return output / "training" / "examples"


def _right(summary: Mapping[str, Any]) -> str:
    return f"{100 * summary['validation_accuracy']:.1f}% right on"
