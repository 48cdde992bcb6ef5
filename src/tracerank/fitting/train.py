"""A network from labelled pools by a preset: ``paper`` is TRACE as published, ``small`` the same in a minute.

``prepare_training`` turns pools into examples on disk and reports how many steps are to come; training, saving and the
summary follow when the result is run. The network and its training are in ``trace/``.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tracerank.embedding.base import Embedder, EncoderIdentity
from tracerank.errors import UsageError
from tracerank.evaluation.labels import PAPER as PAPER_LABELS
from tracerank.evaluation.labels import Labelling
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.checkpoint import Checkpoint, load_checkpoint
from tracerank.trace.data import prepare_examples
from tracerank.trace.recipe import SETTINGS, GraphRecipe, NetConfig
from tracerank.trace.train import OnEpoch, OnStep, device_named, train
from tracerank.votes.folders import FITTED_ON, TRACE, fitted_on, folder_of, remember_fitted

PRESETS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = MappingProxyType(
    {
        "paper": ({}, {}),
        # Small enough to train in seconds; the plan keeps a few hundred questions from being memorised. Chosen on
        # other questions of the demonstration's world (studies/LOG.md).
        "small": (
            {"hidden": 64, "feed_forward": 256, "dropout": 0.5},
            {"epochs": 2, "batch_pools": 8, "learning_rate": 1e-3, "weight_decay": 3.0, "vote_rate": 100.0},
        ),
    }
)
"""What differs from the paper's network, and from its plan."""

SAMPLED_POOLS = 64
"""Pools that decide the search setting where it is not named."""
ENOUGH_POOLS: Mapping[str, int] = MappingProxyType({WEBQA: 10_000, BROWSING: 2_655})
"""Mixed pools below which the paper's network tends to lose to the vote: measured for WebQA (studies/LOG.md); for
browsing, where it was not, what the paper had."""
START_POOLS = 5_000
"""Mixed pools below which training starts from the network that ships: on other pools than those it learned from, and
on real agents, that was better than random weights (docs/paper.md)."""


@dataclass(frozen=True, slots=True)
class PreparedTraining:
    """A run whose examples are prepared."""

    about: str
    """What there is to learn from, in a line."""
    labelling: str | None
    """Where the labels came from, in a line; the same for a resumed run."""
    caution: str | None
    """What speaks against the preset here, in a line."""
    steps: int
    """How often ``on_step`` is called by a run that is not interrupted."""
    run: Callable[[OnStep, OnEpoch], Mapping[str, Any]]
    """Trains, saves and returns the summary."""
    k: int
    """Rollouts per question."""

    @staticmethod
    def outcome(summary: Mapping[str, Any]) -> str:
        """How well a summary says it went, in a line."""
        done, planned = len(summary["epochs"]), summary["plan"]["epochs"]
        stopped = "" if done == planned else f"; stopped after {done} of {planned} epochs: it stays below the vote"
        return (
            f"epoch {summary['best_epoch']} is best, {100 * summary['validation_accuracy']:.1f}% right on "
            f"{summary['questions']['validation']:,} held-out mixed pools, the vote "
            f"{100 * summary['validation_vote']:.1f}%{stopped}"
        )


def shipped_start(config: NetConfig, recipe: GraphRecipe, encoder: EncoderIdentity) -> Checkpoint | None:
    """The network that ships, if it is of the same sizes, of the same setting, and for the same vectors."""
    shipped = load_checkpoint(folder_of(TRACE))
    own = (shipped.net.config, shipped.net.recipe, shipped.encoder.fingerprint)
    return shipped if own == (config, recipe, encoder.fingerprint) else None


def guess_setting(pools: Iterable[Pool]) -> tuple[str, Iterator[Pool]]:
    """The search setting of most of the first pools, and all the pools."""
    stream = iter(pools)
    first = list(islice(stream, SAMPLED_POOLS))
    if not first:
        raise UsageError("no pools to learn from: give some")
    readable = [pool for pool in first if any(rollout.problem is None for rollout in pool.rollouts)]
    ((setting, _),) = Counter(pool.setting for pool in readable or first).most_common(1)
    return setting, chain(first, stream)


def prepare_training(
    preset: str,
    setting: str,
    pools: Iterable[Pool],
    output: str | Path,
    embedder: Embedder,
    *,
    files: str = "",
    labels: Labelling | None = None,
    device: str = "cpu",
    **given: int | float | None,
) -> PreparedTraining:
    """Make the examples of a preset, or reuse those in ``output``, where the checkpoint will be.

    ``files`` identify the input, for which alone examples are reused. Labels are the paper's by default. ``given`` are
    fields of the plan that take another value (k, epochs, batch_pools, …); None leaves the preset's own.
    """
    if preset not in PRESETS:
        raise UsageError(f"no preset is called {preset!r}; choose one of {', '.join(PRESETS)}")
    (net, changes), where, paper = PRESETS[preset], device_named(device), SETTINGS[setting]
    plan = replace(paper.plan, **{**changes, **{name: value for name, value in given.items() if value is not None}})
    labels, questions = labels or Labelling(PAPER_LABELS), list[str]()
    if labels.rule != PAPER_LABELS:  # examples with labels by another rule are not reused
        files = f"{files}, labels by {labels.name}"

    def labelled() -> Iterator[Pool]:
        for pool in labels.pools(pools):
            questions.append(pool.question.text)  # held-out questions too: they choose the epoch
            yield pool

    def on_read() -> Mapping[str, Any]:
        remember_fitted(output, questions)
        return {"labels": labels.sentence if labels.answers else None}

    folder = Path(output) / "training" / "examples"
    examples = prepare_examples(labelled(), paper.recipe, plan, embedder, folder, files, on_read=on_read)
    config = NetConfig(examples.encoder.width, **net)
    mixed, enough = len(examples.train()), ENOUGH_POOLS[setting]
    if not mixed or not len(examples.validation()):  # `run` refuses them; nothing is left behind
        shutil.rmtree(folder)
        (Path(output) / FITTED_ON).unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            folder.parent.rmdir()
            folder.parents[1].rmdir()
    start = shipped_start(config, paper.recipe, examples.encoder) if 0 < mixed < START_POOLS else None
    if start is not None:
        remember_fitted(output, (), fitted_on(output) | fitted_on(TRACE))
    few = (
        f"{mixed:,} pools with right and wrong answers are few: the paper's network tends to lose to the vote with "
        f"fewer than {enough:,}; `tracerank fit` works with some hundred"
    )

    def run(on_step: OnStep, on_epoch: OnEpoch) -> Mapping[str, Any]:
        train_from = partial(train, examples, config, paper.recipe, plan, output, start=start, stops_below_vote=True)
        return train_from(device=where, on_step=on_step, on_epoch=on_epoch).training

    counts = ", ".join(f"{count:,} {what}" for what, count in examples.manifest["counts"].items())
    return PreparedTraining(
        about=counts if start is None else f"{counts}; training starts from the network that ships",
        labelling=examples.manifest["notes"].get("labels"),
        caution=None if mixed >= enough else few,
        steps=plan.epochs * -(-mixed // plan.batch_pools),
        run=run,
        k=plan.k,
    )
