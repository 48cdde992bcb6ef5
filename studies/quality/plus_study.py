"""The ideas of the ``plus`` net, each left out: ``python -m studies.quality.plus_study FOLDER SOURCE SIZE [ROW…]``.

Sources: ``world`` and ``browsing`` (generated; other seeds validate), ``lexical`` (pools of our own agents, split by
the hash of the question) and ``real`` (permissively licensed rollouts, split the same way). Figures are shares of all
validation questions, also of those that nobody or everybody answers rightly. Test questions are never touched.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from studies.shipped_weights.real_pools import MAY_TRAIN, folded, lexical_pools, real_pools, tested_questions
from tracerank.answers.exact import exact_match
from tracerank.embedding.load import load_embedder
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_test
from tracerank.selectors.plus.examples import Cutting, PlusExamples, prepare_plus
from tracerank.selectors.plus.facts import CROSS_FAMILIES, plus_recipe
from tracerank.selectors.plus.fit import PlusPlan, accuracy, train_plus
from tracerank.selectors.plus.net import PlusConfig, PlusNet
from tracerank.trace.graphs.build import build_graph
from tracerank.trace.graphs.schema import CONTROLS, RECIPES, GraphRecipe

BUDGETS = (4, 16)
SEEDS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the study: what differs from the preset."""

    config: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    cutting: Mapping[str, Any] = field(default_factory=dict)
    control: str | None = None
    """Name of a recipe without some links."""


BARE = {"dropped_families": (), "sources": 0.0, "among": 0, "gate": 0.0}
START_ONLY = {"epochs": 1, "learning_rate": 0.0}
NO_LINKS = "no cross-rollout"
ROWS: Mapping[str, Row] = {
    "plus": Row(),
    "linear alone": Row(BARE, START_ONLY),
    "cross features, too": Row({"dropped_families": ()}),
    "no cross links": Row(control=NO_LINKS),
    "cross features, no cross links": Row({"dropped_families": ()}, control=NO_LINKS),
    "no sources": Row({"sources": 0.0}),
    "no comparison": Row({"among": 0}),
    "no chains": Row({"dropped_families": (*CROSS_FAMILIES, "chains")}),
    "no subsets": Row(cutting={"budgets": ()}),
    "three nets": Row(plan={"seeds": 3}),
    "gate from 1": Row({"gate": 1.0}),
}
"""Each against ``plus``; what was tried and not kept is in LOG.md and no longer in the code."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where pools come from."""

    setting: str
    train: Callable[[int], Iterable[Pool]]
    validation: Callable[[], Iterable[Pool]]


def _world(setting: str, validated: int) -> Source:
    preset = PAPER[setting]
    return Source(setting, lambda size: iter_world(preset, size, 100), lambda: iter_world(preset, validated, 200))


def _labelled(pool: Pool) -> Pool:
    right = (float(exact_match(rollout.answer, pool.question.references)) for rollout in pool.rollouts)
    return Pool.of(pool.question, [replace(r, label=label) for r, label in zip(pool.rollouts, right, strict=True)])


def _real() -> Iterator[Pool]:
    kept_away = tested_questions()
    for source in MAY_TRAIN:
        yield from (pool for pool in real_pools(source) if folded(pool.question.text) not in kept_away)


def _split(setting: str, train: Callable[[], Iterable[Pool]], validation: Callable[[], Iterable[Pool]]) -> Source:
    return Source(
        setting,
        lambda size: islice((_labelled(pool) for pool in train() if not is_test(pool.question.text)), size),
        lambda: (_labelled(pool) for pool in validation() if is_test(pool.question.text)),
    )


SOURCES: Mapping[str, Source] = {
    "world": _world("webqa", 1500),
    "browsing": _world("browsing", 400),
    "lexical": _split("webqa", lambda: lexical_pools(3), lambda: lexical_pools(1)),
    "real": _split("webqa", _real, _real),
}


@dataclass(frozen=True, slots=True)
class Validation:
    """Mixed validation pools at one budget, and what the others add."""

    examples: PlusExamples
    questions: int
    certain: int
    """Questions that any choice answers rightly."""

    def share(self, mixed: float) -> float:
        """Accuracy over all questions from that on mixed ones."""
        return (mixed * len(self.examples) + self.certain) / self.questions


class Study:
    """One source at one size, with its examples on disk."""

    def __init__(self, folder: Path, name: str, size: int, encoder: str) -> None:
        self.folder, self.size, self.name = folder, size, name
        self.source, self.embedder = SOURCES[name], load_embedder(encoder)
        self.label = f"{name}-{encoder}"
        self._validation: dict[tuple[GraphRecipe, int], Validation] = {}

    def recipe(self, row: Row) -> GraphRecipe:
        found = RECIPES[self.source.setting] if row.control is None else CONTROLS[self.source.setting][row.control]
        return plus_recipe(found)

    def training(self, row: Row) -> PlusExamples:
        cutting = Cutting(**row.cutting)
        place = f"{self.label}-{self.size}-{row.control or 'full'}-{len(cutting.budgets)}"
        pools = self.source.train(self.size)
        return prepare_plus(pools, self.recipe(row), cutting, self.embedder, self.folder / place, place)

    def validation(self, row: Row, k: int) -> Validation:
        key = (self.recipe(row), k)
        if key not in self._validation:
            place = self.folder / f"{self.label}-validation-{row.control or 'full'}-{k}"
            pools = [pool.first(k) for pool in self.source.validation()]
            certain = sum(_is_certain(pool, self.recipe(row)) for pool in pools)
            examples = prepare_plus(pools, self.recipe(row), Cutting(()), self.embedder, place, place.name)
            self._validation[key] = Validation(examples, len(pools), certain)
        return self._validation[key]

    def accuracies(self, row: Row, nets: tuple[PlusNet, ...]) -> list[float]:
        found = []
        for k in BUDGETS:
            held = self.validation(row, k)
            found.append(100 * held.share(accuracy(nets, held.examples, np.arange(len(held.examples)))))
        return found

    def vote(self) -> list[float]:
        """An untrained net is the vote with default equality and without abstentions."""
        config = PlusConfig(self.embedder.width, **BARE)
        return self.accuracies(Row(), (PlusNet(config, self.recipe(Row())).eval(),))

    def measure(self, row: Row) -> Iterator[list[float]]:
        examples = self.training(row)
        config = PlusConfig(self.embedder.width, **row.config)
        for seed in SEEDS:
            plan = PlusPlan(**{"seeds": 1, "seed": 10 * seed} | dict(row.plan))
            yield self.accuracies(row, train_plus(examples, config, plan).nets)


def _is_certain(pool: Pool, recipe: GraphRecipe) -> bool:
    kept = build_graph(pool, recipe).retained.kept
    return bool(kept) and all((rollout.label or 0.0) > 0.5 for rollout in kept)


def main(folder: str, name: str, size: str, encoder: str = "hash-256", *rows: str) -> None:
    """Measure the rows and print a line for each."""
    study = Study(Path(folder), name, int(size), encoder)
    vote = study.vote()
    print(f"{study.label} {size}: vote " + " ".join(f"K={k} {v:.1f}" for k, v in zip(BUDGETS, vote, strict=True)))
    for title in rows or ROWS:
        begun = time.process_time()
        found = np.array(list(study.measure(ROWS[title])))
        gains = found.mean(0) - np.array(vote)
        cells = [f"K={k} {g:+.1f} ± {s:.1f}" for k, g, s in zip(BUDGETS, gains, found.std(0, ddof=1), strict=True)]
        print(f"{title:36s} {'   '.join(cells)}   {time.process_time() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
