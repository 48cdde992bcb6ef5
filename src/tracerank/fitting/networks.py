"""The rungs of the ladder that train networks: TRACE over marks, TRACE, its ``plus``, a stack of TRACE and features.

Graphs and vectors are prepared once for all pools; a fold is a list of their numbers. A network that was trained on
some pools is kept under their digest, so that rungs share it and an interrupted run goes on.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import BlankEmbedder, Embedder
from tracerank.errors import TrainingError
from tracerank.fitting.presets import MARKS_NET, MARKS_PLAN
from tracerank.fitting.rungs import UNCALIBRATED, Rung
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import FIRST, cuts
from tracerank.selectors.features.fit import FeatureFitPlan, LabelledTable, fit_features, labelled_table
from tracerank.selectors.plus.checkpoint import nets_of
from tracerank.selectors.plus.description import PlusConfig
from tracerank.selectors.plus.examples import Cutting, PlusExamples, prepare_plus
from tracerank.selectors.plus.facts import plus_recipe
from tracerank.selectors.plus.fit import PlusPlan, train_plus
from tracerank.selectors.plus.selector import PlusSelector
from tracerank.selectors.stack import COLUMN, StackedSelector, with_scores
from tracerank.trace.checkpoint import CONFIG_FILE
from tracerank.trace.graphs.build import build_graph
from tracerank.trace.selector import TraceSelector
from tracerank.trace.settings import setting_named
from tracerank.trace.sizes import NetConfig
from tracerank.trace.training.examples import ExampleSet, prepare_examples, why_not_trainable
from tracerank.trace.training.fit import train
from tracerank.votes.selector import Selector
from tracerank.votes.voting import ANSWERED

HELD_OUT = 8
"""One of so many pools chooses the epoch."""
STEPS, BATCH_POOLS, MOST_EPOCHS, FEWEST_EPOCHS = 60, 16, 12, 3
"""Enough steps for few pools to be learned from at all, few enough for many to be seen three times."""
VOTE_RATE = 100.0
"""Few steps must be enough to find the vote; see ``TrainingPlan.vote_rate``."""
FEW_POOLS, SMALL_HIDDEN = 2_000, 64
"""Below so many mixed pools a smaller net; from there on the paper's."""
STACK_BUDGETS = (4, 8)
"""Sizes of the random subsets that a stack sees beside whole pools."""


class NumberedExamples(ExampleSet):
    """Examples on disk, of which some numbers are learned from and others held out."""

    def __init__(self, folder: Path, learn: NDArray[np.int64], held_out: NDArray[np.int64]) -> None:
        super().__init__(folder)
        self._learn, self._held_out = learn, held_out

    def train(self) -> NDArray[np.int64]:
        return self._learn

    def validation(self) -> NDArray[np.int64]:
        return self._held_out


class Networks:
    """TRACE trained on any of the pools."""

    def __init__(self, pools: Sequence[Pool], embedder: Embedder, seed: int, folder: Path) -> None:
        self.pools, self.embedder, self.folder = pools, embedder, folder
        counts = [pool.setting for pool in pools]
        self.setting = setting_named(max(dict.fromkeys(counts), key=counts.count))
        self.plan = replace(
            self.setting.plan,
            batch_pools=BATCH_POOLS,
            vote_rate=VOTE_RATE,
            k=max(map(len, pools)),
            seed=seed,
        )

    @cached_property
    def numbers(self) -> dict[int, int]:
        """Of the pools that can be learned from: place to number of the example."""
        mixed = [
            place
            for place, pool in enumerate(self.pools)
            if why_not_trainable(pool, build_graph(pool, self.setting.recipe), self.plan) is None
        ]
        return {place: number for number, place in enumerate(mixed)}

    @cached_property
    def examples(self) -> Path:
        """The folder with the examples of all pools."""
        folder = self.folder / "examples"
        prepare_examples(self.pools, self.setting.recipe, self.plan, self.embedder, folder, "the ladder's pools")
        return folder

    def fit(self, places: Sequence[int], folder: Path | None = None) -> Selector:
        """TRACE fitted on the mixed ones of these pools; from its folder where that was done before."""
        out = self.folder / "trace" / hashlib.sha256(json.dumps(sorted(places)).encode()).hexdigest()[:16]
        if (out / CONFIG_FILE).exists():
            return TraceSelector.load(out, self.embedder)
        numbers = np.array(sorted(self.numbers[place] for place in places if place in self.numbers), np.int64)
        if len(numbers) < HELD_OUT:
            raise TrainingError(f"TRACE needs {HELD_OUT} pools with right and wrong answers, found {len(numbers)}")
        is_held_out = np.arange(len(numbers)) % HELD_OUT == HELD_OUT - 1
        examples = NumberedExamples(self.examples, numbers[~is_held_out], numbers[is_held_out])
        epochs = min(max(-(-STEPS * BATCH_POOLS // len(examples.train())), FEWEST_EPOCHS), MOST_EPOCHS)
        config = NetConfig(examples.width)
        if len(numbers) < FEW_POOLS:
            config = replace(config, hidden=SMALL_HIDDEN, feed_forward=4 * SMALL_HIDDEN)
        checkpoint = train(examples, config, self.setting.recipe, replace(self.plan, epochs=epochs), out)
        return TraceSelector(checkpoint, self.embedder)


class PlusNetworks:
    """Networks that start as the vote, trained on any of the pools; they choose no epoch, so nothing is held out."""

    def __init__(self, networks: Networks, seed: int) -> None:
        self.networks, self.seed = networks, seed
        self.recipe = plus_recipe(networks.setting.recipe)

    @cached_property
    def examples(self) -> PlusExamples:
        """Of all pools and their random subsets."""
        networks, folder = self.networks, self.networks.folder / "plus-examples"
        cutting = Cutting(seed=self.seed)
        return prepare_plus(networks.pools, self.recipe, cutting, networks.embedder, folder, "the ladder's pools")

    def fit_plus(self, places: Sequence[int], folder: Path) -> PlusSelector:
        examples = self._of(places)
        checkpoint = train_plus(examples, PlusConfig(examples.examples.width), PlusPlan(seed=self.seed))
        return PlusSelector(nets_of(checkpoint, self.networks.embedder))

    def fit_marks(self, places: Sequence[int], folder: Path) -> PlusSelector:
        """The preset ``marks``: on the same examples, of whose vectors it sees nothing and needs none later."""
        plan = PlusPlan(seed=self.seed, **MARKS_PLAN)
        return PlusSelector(nets_of(train_plus(self._of(places), PlusConfig(BlankEmbedder.width, **MARKS_NET), plan)))

    def _of(self, places: Sequence[int]) -> PlusExamples:
        of_pool = self.examples.questions(np.arange(len(self.examples)))
        learn = np.flatnonzero(np.isin(of_pool, places))
        return PlusExamples(NumberedExamples(self.examples.examples.folder, learn, learn[:0]), self.recipe)


class Stacks:
    """Stacks of TRACE and features; what TRACE says about a pool is always said by one that has not seen it."""

    def __init__(self, networks: Networks, seed: int) -> None:
        self.networks, self.seed = networks, seed

    def _cuts(self, pool: Pool) -> list[Pool]:
        smaller = [k for k in STACK_BUDGETS if k < len(pool)]
        return [pool, *(cut.pool for cut in cuts(pool, smaller, 1, self.seed) if cut.subset != FIRST)]

    def fit(self, places: Sequence[int], folder: Path) -> StackedSelector:
        halves = places[::2], places[1::2]
        tables: list[LabelledTable] = []
        for learned, scored in (halves, halves[::-1]):
            trace = self.networks.fit(learned)
            pools = [pool for place in scored for pool in self._cuts(self.networks.pools[place])]
            tables += [
                table
                for pool, decision in zip(pools, trace.iter_decisions(pools), strict=True)
                if (table := _with_opinion(pool, decision.scores)) is not None
            ]
        model = fit_features(tables, FeatureFitPlan(folds=UNCALIBRATED), extra=(COLUMN,))
        return StackedSelector(self.networks.fit(places), model)


def _with_opinion(pool: Pool, scores: Mapping[int, float]) -> LabelledTable | None:
    found = labelled_table(pool, pool.rollouts)
    if found is None:
        return None
    kept = tuple(rollout for rollout in pool.rollouts if ANSWERED.reason_to_drop(rollout) is None)
    return replace(found, table=with_scores(found.table, kept, scores))


def network_rungs(pools: Sequence[Pool], embedder: Embedder, seed: int, folder: Path) -> tuple[Rung, ...]:
    """What learns from texts, the plain one first."""
    networks = Networks(pools, embedder, seed, folder)
    from_vote = PlusNetworks(networks, seed)
    return (
        Rung("trace-marks", "TRACE over marks of answers in the evidence, on top of the vote", from_vote.fit_marks),
        Rung("trace-paper", "the paper's network, smaller where pools are few", networks.fit),
        Rung("trace-plus", "a network that starts as the vote", from_vote.fit_plus),
        Rung("stack", "TRACE's scores as a feature among the others", Stacks(networks, seed).fit),
    )
