"""Labelled pools as examples for the ``plus`` net: packed graphs as TRACE's training writes them, and facts.

A pool is cut into random subsets of its rollouts, each an example of its own: users' pools are smaller than training
pools, and a subset shows the same texts with other votes. Beside the files of an ``ExampleSet`` lie ``features.f32``,
``groups.i32``, ``marks.f32`` and ``facts.i64`` (where each example ends in candidates and occurrences, and its pool).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tracerank.embedding.base import Embedder
from tracerank.pools.pool import Pool
from tracerank.selectors.features.lines import TextLines
from tracerank.selectors.plus.description import NO_TEXTS
from tracerank.selectors.plus.facts import FEATURE_NAMES, FEATURE_VERSION, MARKS, PlusFacts, facts_of
from tracerank.selectors.plus.inputs import PlusInputs, plus_inputs
from tracerank.trace.graphs.build import build_graph
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.training.examples import ExampleSet, map_file, prepare_examples, why_not_trainable
from tracerank.trace.training.losses import LossRule, TrainingPlan

BUDGETS = (2, 3, 4, 6, 8)
"""Sizes of the random subsets that a pool is cut into, besides the whole pool."""
K = 64
"""Rollouts of a pool that are used at most."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """Which examples a pool makes."""

    budgets: tuple[int, ...] = BUDGETS
    """One random subset of each size; none: the whole pool alone."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PlusBlock:
    """Some examples, ready for the net."""

    inputs: PlusInputs
    labels: Tensor


class PlusExamples:
    """Examples on disk."""

    def __init__(self, examples: ExampleSet, recipe: GraphRecipe) -> None:
        self.examples, self.recipe = examples, recipe
        folder = examples.folder
        self._ends = np.fromfile(folder / "facts.i64", np.int64).reshape(-1, 3)
        self._features = map_file(folder / "features.f32", np.float32).reshape(-1, len(FEATURE_NAMES))
        self._groups = map_file(folder / "groups.i32", np.int32)
        self._marks = map_file(folder / "marks.f32", np.float32).reshape(-1, len(MARKS))

    def __len__(self) -> int:
        return len(self._ends)

    def facts(self, number: int) -> PlusFacts:
        """Of one example."""
        begins, ends = self._ends[number - 1, :2] if number else (0, 0), self._ends[number, :2]
        candidates, occurrences = (slice(int(b), int(e)) for b, e in zip(begins, ends, strict=True))
        return PlusFacts(self._features[candidates], self._groups[candidates], self._marks[occurrences])

    def features(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Of all candidates of the examples, abstentions left out."""
        found = [self.facts(int(number)) for number in numbers]
        return np.concatenate([each.features[each.groups >= 0] for each in found])

    def questions(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for the question of each example, equal for the subsets of a pool."""
        found: NDArray[np.int64] = self._ends[numbers, 2]
        return found

    def block(self, numbers: Sequence[int] | NDArray[np.int64]) -> PlusBlock:
        """The examples as one batch."""
        block = self.examples.block(numbers)
        facts = [self.facts(int(number)) for number in numbers]
        return PlusBlock(plus_inputs(block.batch, self.recipe, block.vectors, facts), block.labels)


class NoTexts:
    """Stands for the encoder of nets that read no vectors: a zero for every text."""

    name = "none"
    width = NO_TEXTS

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), self.width), np.float32)


def prepare_plus(
    pools: Iterable[Pool],
    recipe: GraphRecipe,
    cutting: Cutting,
    embedder: Embedder | None,
    folder: str | Path,
    source: str,
) -> PlusExamples:
    """Write the trainable subsets of pools as examples, or take them up again when they were made from the same.

    Without an embedder they are for nets without ``sources``.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = f"{source}; {cutting}; features {FEATURE_VERSION}"
    kept = _with_facts(pools, recipe, cutting, folder)
    return PlusExamples(prepare_examples(kept, recipe, _PLAN, embedder or NoTexts(), folder, made), recipe)


_PLAN = TrainingPlan(LossRule(listwise_needs_negatives=True), batch_pools=1, mixed_among="retained", k=K)
"""Only what decides which pools teach: right and wrong candidates that may be chosen."""


def _with_facts(pools: Iterable[Pool], recipe: GraphRecipe, cutting: Cutting, folder: Path) -> Iterator[Pool]:
    """The trainable subsets, whose facts are written as they pass."""
    ends = np.zeros(3, np.int64)
    with ExitStack() as stack:
        names = ("features.f32", "groups.i32", "marks.f32", "facts.i64")
        features, groups, marks, index = (stack.enter_context((folder / name).open("wb")) for name in names)
        for number, pool in enumerate(pools):
            lines = TextLines()
            for subset in cut(pool, cutting):
                graph = build_graph(subset, recipe)
                if why_not_trainable(subset, graph, _PLAN) is not None:
                    continue
                facts = facts_of(graph, lines)
                features.write(facts.features.tobytes())
                groups.write(facts.groups.tobytes())
                marks.write(facts.marks.tobytes())
                ends[:2] += (len(facts.groups), len(facts.marks))
                ends[2] = number
                index.write(ends.tobytes())
                yield subset


def cut(pool: Pool, cutting: Cutting) -> Iterator[Pool]:
    """The pool and its random subsets."""
    pool = pool.first(K)
    rng = Random(crc32(f"{cutting.seed}|{pool.question.text}".encode()))
    yield pool
    for k in cutting.budgets:
        if k < len(pool):
            yield Pool.of(pool.question, rng.sample(pool.rollouts, k))
