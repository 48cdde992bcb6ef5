"""What may carry further than the recipe of what ships: ``python -m studies.quality.carry_further CACHE``.

Columns: contradiction, the encoder's cosine of the question with the window around an answer, what a look at lost
questions of hotpot_agent suggested (so that set cannot confirm it), penalties, weights. With ``--networks``, instead:
a network in which answers attend to all texts of the pool. Each with an agent left out, judged labels, three seeds (of
the generated world that is fitted on, and of the network). Choose on the *other* questions; the rest confirms. Nothing
that is fitted here ships.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import tracerank as tr
from studies.quality.by_meaning import BUDGETS, OTHER, TEST, UNSEEN, WORLD, WORLD_BUDGETS
from studies.quality.carry_marks import (
    BEYOND_KIND,
    CONTRADICTION,
    COSINE,
    FURTHER_FEATURES,
    MEAN_COSINE,
    OWN_SEARCHES,
    REPEATS,
    SAYS_KIND,
    FurtherTables,
    MarkedTable,
    WindowCosines,
)
from studies.quality.carry_network import Attention, AttentionPlan, train
from studies.quality.figures import DRAWS, STRONGEST, Settled, View
from studies.quality.meaning_candidates import RECIPE, SeenPools
from studies.quality.methods import VOTES, votes
from studies.quality.parts import JUDGED_SEED
from studies.quality.pools import QualityPools, Scale
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.meaning_selector import GENERATED, PLAN, SEED, WEIGHT, Taught
from studies.shipped_weights.real_pools import MAY_TRAIN, folded
from tracerank.embedding.cache import VectorCache
from tracerank.embedding.cached import CachedEmbedder
from tracerank.embedding.load import load_embedder
from tracerank.evaluation.bootstrap import LEVEL, resampled_means
from tracerank.evaluation.labels import GIVEN
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import WEBQA
from tracerank.runs.atomic import write_text
from tracerank.selectors.features.fit import FeatureFitPlan, LinearPlan
from tracerank.selectors.features.model import FeatureModel, Scorer
from tracerank.selectors.meaning.selector import MeaningSelector
from tracerank.votes.base import Decision, Method

SEEDS = 3
FURTHER = (CONTRADICTION, COSINE, MEAN_COSINE, BEYOND_KIND, SAYS_KIND, OWN_SEARCHES)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The recipe with further columns, or fitted otherwise."""

    families: tuple[str, ...] = ()
    """Of further columns that it looks at."""
    without: tuple[str, ...] = ()
    l2: float | None = None
    """Penalty of weights; None: the recipe's."""
    is_monotone: bool = True
    generated: float = WEIGHT
    """The weight of a generated question."""

    @property
    def plan(self) -> FeatureFitPlan:
        """A choice needs no calibration."""
        dropped = tuple(name for name in FURTHER if name not in self.families) + self.without
        recipe = PLAN.linear or LinearPlan()
        linear = LinearPlan(recipe.l2 if self.l2 is None else self.l2, self.is_monotone)
        return replace(PLAN, folds=1, dropped_families=dropped, linear=linear)


CANDIDATES: Mapping[str, Candidate] = {
    RECIPE: Candidate(),
    "contradiction": Candidate((CONTRADICTION,)),
    "window cosine": Candidate((COSINE,)),
    "window cosine, means too": Candidate((COSINE, MEAN_COSINE)),
    "contradiction and window cosine": Candidate((CONTRADICTION, COSINE)),
    "these with means, any sign": Candidate((CONTRADICTION, COSINE, MEAN_COSINE), is_monotone=False),
    "no columns, any sign": Candidate(is_monotone=False),
    "repeats beyond kind": Candidate((BEYOND_KIND,), (REPEATS,)),
    "repeats beyond kind, says kind": Candidate((BEYOND_KIND, SAYS_KIND), (REPEATS,)),
    "all searched": Candidate((OWN_SEARCHES,)),
    "last three": Candidate((BEYOND_KIND, SAYS_KIND, OWN_SEARCHES), (REPEATS,)),
    **{f"penalty {l2:g}": Candidate(l2=l2) for l2 in (1.0, 10.0, 30.0, 100.0)},
    **{f"generated weigh {weight:g}": Candidate(generated=weight) for weight in (0.3, 3.0)},
}
NETWORKS: Mapping[str, AttentionPlan] = {
    "attention": AttentionPlan(),
    "attention, cosines too": AttentionPlan(has_cosines=True),
}
WEIGHTS = {"{}": None, "{} and recipe": 1.0, "{} (0.3) and recipe": 0.3}
"""How a network is judged: alone, and in the log-mean with the recipe, in which it weighs so much."""


@dataclass(frozen=True, slots=True)
class Known:
    """A scorer whose scores of the rows are known."""

    found: NDArray[np.float64]

    @property
    def kind(self) -> str:
        return "known"

    def scores(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        return self.found

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        return {"scores": self.found}


class Scored:
    """A network that looks at each table once, however many candidates ask."""

    def __init__(self, net: Attention) -> None:
        self._net = net
        self._made: dict[int, tuple[MarkedTable, NDArray[np.float64]]] = {}

    def scores(self, table: MarkedTable) -> NDArray[np.float64]:
        # The table is kept, so that no other takes over its identity.
        if id(table) not in self._made:
            self._made[id(table)] = table, self._net.scores(table)
        return self._made[id(table)][1]


@dataclass(frozen=True, slots=True)
class Fitted:
    """One seed of one candidate: a model, a network, or both in log-mean."""

    model: FeatureModel
    net: Scored | None = None
    weight: float | None = None
    """Of the network beside the model; None: it chooses alone."""

    def seeing(self, table: MarkedTable) -> FeatureModel:
        """The model for one pool."""
        if self.net is None or not len(table.values):
            return self.model
        scorer: Scorer = Known(self.net.scores(table))
        beside = () if self.weight is None else self.model.scorers
        return replace(self.model, scorers=(*beside, (scorer, self.weight or 1.0)))


@dataclass(frozen=True, slots=True)
class Carried:
    """A selector by meaning, seen through tables that are computed once."""

    name: str
    fitted: Fitted
    pools: SeenPools

    def decide(self, pool: tr.Pool) -> Decision:
        seen = self.pools.of(pool)
        if not isinstance(seen.table, MarkedTable):
            raise TypeError("tables need marks")
        return MeaningSelector(self.fitted.seeing(seen.table)).decision(pool, seen.retained, seen.table)


@dataclass(frozen=True, slots=True)
class Gain:
    """What a candidate gains, in points, as a mean over the seeds."""

    cell: str
    questions: int
    name: str
    over: str
    mean: float
    low: float
    high: float
    seeds: tuple[float, ...]

    def __str__(self) -> str:
        seeds = " / ".join(f"{each:+.1f}" for each in self.seeds)
        return f"{self.mean:+.2f} [{self.low:+.1f}, {self.high:+.1f}] ({seeds})"


def of_seed(name: str, seed: int) -> str:
    return f"{name}, seed {seed}"


class Carry:
    """Pools labelled by meaning, and every seed of every candidate fitted on them."""

    def __init__(self, pools: QualityPools, tables: FurtherTables, has_networks: bool = True) -> None:
        self._pools, self._judgements, self._tables = pools, Judgements.read(), tables
        self._networks = NETWORKS if has_networks else {}
        self._candidates = {RECIPE: CANDIDATES[RECIPE]} if has_networks else CANDIDATES
        self._taught = Taught(tables, FURTHER_FEATURES)
        self._generated = [list(iter_world(PRESETS["paper"][WEBQA], GENERATED, SEED + seed)) for seed in range(SEEDS)]
        self._meant: dict[str, list[tr.Pool]] = {}
        self._fitted: dict[str | None, dict[str, Fitted]] = {}

    def meant(self, name: str) -> list[tr.Pool]:
        if name not in self._meant:
            self._meant[name] = [self._judgements.labelled(pool) for pool in self._pools.real(name)]
        return self._meant[name]

    def fitted(self, left_out: str | None = None) -> dict[str, Fitted]:
        """All seeds, without test questions, and without an agent and all its questions."""
        if left_out not in self._fitted:
            known = {folded(pool.question.text) for pool in self.meant(left_out)} if left_out else set[str]()
            real = [
                pool
                for name in MAY_TRAIN
                if name != left_out
                for pool in self.meant(name)
                if not self._pools.is_test(pool) and folded(pool.question.text) not in known
            ]
            found = [self._seed(real, seed) for seed in range(SEEDS)]
            self._fitted[left_out] = {name: one for each in found for name, one in each.items()}
        return self._fitted[left_out]

    def _seed(self, real: Sequence[tr.Pool], seed: int) -> dict[str, Fitted]:
        generated = self._generated[seed]
        models = {
            name: self._taught.fit(real, generated, one.plan, one.generated) for name, one in self._candidates.items()
        }
        found = {of_seed(name, seed): Fitted(model) for name, model in models.items()}
        examples, importance = self._taught.examples(real, generated)
        for title, plan in self._networks.items():
            net = Scored(train(examples, importance, plan, seed))
            for form, weight in WEIGHTS.items():
                found[of_seed(form.format(title), seed)] = Fitted(models[RECIPE], net, weight)
        return found

    def settled(self, pools: Sequence[tr.Pool], ks: Sequence[int], fitted: Mapping[str, Fitted]) -> Settled:
        seen = SeenPools(self._tables)
        methods: dict[str, Method] = votes()
        methods |= {name: Carried(name, one, seen) for name, one in fitted.items()}
        return Settled(pools, ks, methods, orders=DRAWS)

    def left_out(self) -> list[Gain]:
        views: dict[str, list[View]] = {OTHER: [], TEST: []}
        for name in MAY_TRAIN:
            pools = [pool for pool in self.meant(name) if len(pool) >= BUDGETS[name][-1]]
            settled = self.settled(pools, BUDGETS[name], self.fitted(name))
            is_test = self._pools.test_questions(pools)
            views[OTHER].append(View(settled, GIVEN, ~is_test, VOTES))
            views[TEST].append(View(settled, GIVEN, is_test, VOTES))
        found = []
        for split, own in views.items():
            found += gains(f"{split}, mean", [(view, view.settled.ks) for view in own])
            for name, view in zip(MAY_TRAIN, own, strict=True):
                found += gains(f"{split}, {name}", [(view, view.settled.ks)])
        return found

    def unseen(self, name: str) -> list[Gain]:
        pools = [pool for pool in self.meant(name) if len(pool) >= BUDGETS[name][-1]]
        view = View(self.settled(pools, BUDGETS[name], self.fitted()), GIVEN, self._pools.new_to_shipped(pools), VOTES)
        return [gain for k in BUDGETS[name] for gain in gains(f"{name}, K={k}", [(view, (k,))])]

    def world(self) -> list[Gain]:
        pools = list(iter_world(PRESETS["paper"][WEBQA], self._pools.scale.world, JUDGED_SEED))
        settled = self.settled(pools, WORLD_BUDGETS, self.fitted())
        view = View(settled, GIVEN, np.ones(len(pools), np.bool_), VOTES)
        return [gain for k in WORLD_BUDGETS for gain in gains(f"{WORLD}, K={k}", [(view, (k,))])]


def gains(cell: str, views: Sequence[tuple[View, Sequence[int]]]) -> list[Gain]:
    """Every candidate over the best vote and over the recipe of the same seed; views weigh the same each."""
    settled = views[0][0].settled
    names = [name.removesuffix(of_seed("", 0)) for name in settled.methods if name.endswith(of_seed("", 0))]
    pairs = [(name, STRONGEST) for name in names] + [(name, RECIPE) for name in names if name != RECIPE]
    return [_gain(cell, views, name, over) for name, over in pairs]


def _gain(cell: str, views: Sequence[tuple[View, Sequence[int]]], name: str, over: str) -> Gain:
    drawn, means = [], []
    for place, (view, ks) in enumerate(views):
        by_seed = np.stack([_differences(view, ks, name, over, seed) for seed in range(SEEDS)])
        means.append(by_seed.mean(axis=1))
        drawn.append(resampled_means(by_seed.mean(axis=0)[:, None], seed=place)[:, 0])
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.mean(drawn, axis=0), (tail, 1 - tail))
    seeds = 100 * np.mean(means, axis=0)
    figures = float(seeds.mean()), 100 * float(low), 100 * float(high)
    return Gain(cell, sum(len(view) for view, _ in views), name, over, *figures, tuple(seeds.tolist()))


def _differences(view: View, ks: Sequence[int], name: str, over: str, seed: int) -> NDArray[np.float64]:
    """Per question, means over the budgets, which share their questions."""
    rival = over if over == STRONGEST else of_seed(over, seed)
    found = [view.of(of_seed(name, seed), k)[:, 0] - view.of(rival, k)[:, 0] for k in ks]
    return np.asarray(np.mean(found, axis=0), np.float64)


PARTS: Mapping[str, Callable[[Carry], list[Gain]]] = {
    "left_out": Carry.left_out,
    **{name: partial(Carry.unseen, name=name) for name in UNSEEN},
    WORLD: Carry.world,
}


def tables(found: Sequence[Gain]) -> list[str]:
    """A candidate a row, a cell a column; over the recipe, then over the best vote."""
    lines: list[str] = []
    for over in (RECIPE, STRONGEST):
        own = {(gain.name, gain.cell): gain for gain in found if gain.over == over}
        cells = list(dict.fromkeys(cell for _, cell in own))
        lines += [f"| over {over} | {' | '.join(cells)} |", "|---" * (len(cells) + 1) + "|"]
        for name in dict.fromkeys(name for name, _ in own):
            lines.append(f"| {name} | {' | '.join(str(own[name, cell]) for cell in cells)} |")
        lines.append("")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.carry_further", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for vectors and finished parts")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--networks", action="store_true", help="networks instead of columns")
    parser.add_argument("--again", action="store_true", help="measure finished parts again")
    chosen = parser.parse_args(arguments)
    names = chosen.parts or list(PARTS)
    if unknown := set(names) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    folder = chosen.cache / f"carry-further-{'networks' if chosen.networks else 'columns'}"
    folder.mkdir(parents=True, exist_ok=True)
    encoder = CachedEmbedder(
        load_embedder("default", is_cached=False), VectorCache(chosen.cache / "carry-further-vectors")
    )
    carry = Carry(
        QualityPools(chosen.cache, folder, Scale()), FurtherTables(WindowCosines(encoder).of), chosen.networks
    )
    console, found = Console(stderr=True), []
    for name in names:
        file = folder / f"{name}.json"
        if chosen.again or not file.exists():
            began = time.monotonic()
            write_text(file, json.dumps([asdict(gain) for gain in PARTS[name](carry)]))
            console.print(f"{name}: {time.monotonic() - began:.0f} s")
        found += [Gain(**row | {"seeds": tuple(row["seeds"])}) for row in json.loads(file.read_text("utf-8"))]
    print("\n".join(tables(found)))


if __name__ == "__main__":
    main()
