"""The paper's two ablation tables: named changes to the full selector, trained and measured on the same questions.

One folder holds an ablation: ``configuration.json``, the pools as they were read, examples once per graph recipe, and
for each variant and seed a checkpoint and ``records.jsonl``, written last; a run that has records is not trained again.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.embedding.base import Embedder
from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_test
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers import iter_pools
from tracerank.runs.atomic import write_json, write_lines
from tracerank.runs.resumable import read_lines
from tracerank.trace.data import prepare_examples
from tracerank.trace.recipe import CONTROLS, RECIPES, GraphRecipe, NetConfig, TrainingPlan
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import OnStep, train
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.folders import remember_fitted
from tracerank.votes.voting import MajorityVote

FULL = "full"
RECORDS = "records.jsonl"
_ROWS: tuple[tuple[str, Mapping[str, Any], float | None, float | None], ...] = (
    (FULL, {}, 45.2, 78.6),
    ("no cross-rollout", {}, 43.9, 72.7),
    ("no GNN", {"layers": 0}, 43.7, 75.5),
    ("fixed query", {"readout": "fixed"}, 44.7, 75.6),
    ("merge evidence", {}, 44.1, 77.1),
    ("merge answers", {}, 44.9, 76.3),
    ("merge both", {}, 44.4, 76.4),
    ("graph readout", {"readout": "graph"}, 44.7, 75.8),
    ("two-stage", {"readout": "two_stage"}, 44.8, 75.1),
    ("no content links", {}, 43.8, None),
    ("no Doc or content links", {}, None, 71.1),
    ("content links only", {}, None, 76.5),
    ("Doc and content links", {}, None, 76.9),
)
"""Name, changes of ``NetConfig``, WebQA exact match and long-horizon accuracy in % (Tables 3 and B.1, in their order);
changes of graphs are in ``CONTROLS``."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: a graph recipe and what differs in the network."""

    name: str
    recipe: GraphRecipe
    net: Mapping[str, Any]
    """Fields of ``NetConfig`` that take another value."""
    published: float
    """The paper's accuracy in %, K=16."""

    @property
    def slug(self) -> str:
        """The name on the command line and in folders."""
        return _slug(self.name)


def _slug(name: str) -> str:
    return name.strip().lower().replace(" ", "-")


def _variants(setting: str, figures: Iterable[float | None]) -> Mapping[str, Variant]:
    rows = [
        Variant(name, CONTROLS[setting].get(name, RECIPES[setting]), net, figure)
        for (name, net, *_), figure in zip(_ROWS, figures, strict=True)
        if figure is not None
    ]
    return MappingProxyType({row.slug: row for row in rows})


VARIANTS: Mapping[str, Mapping[str, Variant]] = MappingProxyType(
    {WEBQA: _variants(WEBQA, (row[2] for row in _ROWS)), BROWSING: _variants(BROWSING, (row[3] for row in _ROWS))}
)
"""By setting and slug; ``full`` is first."""


def variants_named(setting: str, names: str | None = None) -> tuple[Variant, ...]:
    """The variants of a comma-separated list, in the order of the tables; all without a list."""
    known = VARIANTS[setting]
    wanted = known.keys() if names is None else set(map(_slug, names.split(","))) - {""}
    unknown = sorted(wanted - known.keys())
    if unknown or not wanted:
        raise UsageError(
            f"no variant of {setting} is called {unknown[0] if unknown else names!r}; choose from {', '.join(known)}"
        )
    return tuple(variant for slug, variant in known.items() if slug in wanted)


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One variant over all its seeds; accuracies between 0 and 1."""

    name: str
    seeds: int
    questions: int
    accuracy: float
    """Mean over seeds."""
    deviation: float | None
    """Standard deviation over seeds; None with a single seed."""
    against: float | None
    """Difference to the full selector; None if this is it, or it was not run."""
    error: float | None
    """Standard error of that difference over questions, whose correctness is averaged over seeds."""
    published: float | None = None
    """The paper's accuracy in %, on its own pools."""


Judged = Mapping[str, float]
"""Question to correctness, of those that can be judged."""


def ablation_row(
    name: str, by_seed: Sequence[Judged], compared: Sequence[Judged] | None = None, published: float | None = None
) -> AblationRow:
    """Mean and deviation of a variant, and its paired difference to another."""
    accuracies = [fmean(judged.values()) for judged in by_seed]
    own, other = _over_seeds(by_seed), _over_seeds(compared or [{}])
    differences = [correct - other[question] for question, correct in own.items() if question in other]
    return AblationRow(
        name,
        len(by_seed),
        len(own),
        fmean(accuracies),
        stdev(accuracies) if len(accuracies) > 1 else None,
        fmean(differences) if differences else None,
        stdev(differences) / sqrt(len(differences)) if len(differences) > 1 else None,
        published,
    )


def _over_seeds(by_seed: Sequence[Judged]) -> Judged:
    return {question: fmean(each[question] for each in by_seed) for question in by_seed[0]}


class Ablation:
    """The folder of one ablation."""

    def __init__(
        self,
        folder: str | Path,
        plan: TrainingPlan,
        embedder: Embedder,
        net: Mapping[str, Any],
        source: Mapping[str, Any],
    ) -> None:
        """What all variants have in common: the plan but for its seed, fields of ``NetConfig``, the input."""
        self.folder, self.plan, self.embedder, self.net = Path(folder), plan, embedder, net
        self._pools, self._test = self.folder / "pools.jsonl", self.folder / "test.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        shared = {name: value for name, value in asdict(plan).items() if name != "seed"}
        encoder = {"name": embedder.name, "width": embedder.width}
        _claim(self.folder, {"plan": shared, "net": dict(net), "encoder": encoder, **source})

    def take(self, pools: Iterable[Pool], test: Iterable[Pool] | None = None) -> None:
        """Keep the pools, with the paper's labels; without ``test`` a fixed fifth of the questions is held out."""
        if self._pools.exists():
            return
        if test is not None:
            write_pools(self._test, (labelled(pool.first(self.plan.k), PAPER) for pool in test))
        # Last: its presence means that both are complete.
        write_pools(self._pools, (labelled(pool.first(self.plan.k), PAPER) for pool in pools))

    def training_pools(self) -> Iterator[Pool]:
        """Pools to learn from: never one whose question is tested."""
        pools = iter_pools(self._pools)
        if not self._test.exists():
            return (pool for pool in pools if not is_test(pool.question.text))
        tested = {normalize_text(pool.question.text) for pool in iter_pools(self._test)}
        return (pool for pool in pools if normalize_text(pool.question.text) not in tested)

    def test_pools(self) -> Iterator[Pool]:
        """Pools that no variant learns from."""
        if self._test.exists():
            return iter_pools(self._test)
        return (pool for pool in iter_pools(self._pools) if is_test(pool.question.text))

    def remaining(self, variants: Sequence[Variant], seeds: int) -> list[tuple[Variant, int]]:
        """The runs with seeds 0 to ``seeds`` - 1 that are still to do, all variants of a seed before the next seed."""
        runs = [(variant, seed) for seed in range(seeds) for variant in variants]
        return [run for run in runs if not (self._run(*run) / RECORDS).exists()]

    def run(self, variant: Variant, seed: int, on_step: OnStep = lambda loss: None) -> None:
        """Train and measure one variant with one seed."""
        out, recipe, plan = self._run(variant, seed), variant.recipe, replace(self.plan, seed=seed)
        remember_fitted(out, (pool.question.text for pool in self.training_pools()))
        digest = hashlib.sha256(json.dumps(asdict(recipe)).encode()).hexdigest()[:12]
        folder = self.folder / "examples" / digest
        examples = prepare_examples(self.training_pools(), recipe, plan, self.embedder, folder, "the ablation's pools")
        config = NetConfig(examples.encoder.width, **{**self.net, **variant.net})
        selector = TraceSelector(train(examples, config, recipe, plan, out, on_step=on_step), self.embedder)
        found = evaluate([selector], self.test_pools(), [plan.k])
        own = (replace(record, method=variant.slug) for record in found if record.method == selector.name)
        write_lines(out / RECORDS, map(asdict, own))
        for path in out.rglob("training/*.safetensors"):
            path.unlink()  # only an unfinished run needs them

    def rows(self, variants: Sequence[Variant], seeds: int) -> list[AblationRow]:
        """The table: the votes, then the variants, each against the full selector where that was run."""
        runs = {
            each.name: [_judged(self._run(each, seed) / RECORDS)[each.slug] for seed in range(seeds)]
            for each in variants
        }
        if not (votes := self.folder / RECORDS).exists():
            found = evaluate([MajorityVote(), MajorityVote(ExactGroups())], self.test_pools(), [self.plan.k])
            write_lines(votes, map(asdict, found))
        full = runs.get(FULL)
        return [
            *(ablation_row(method, [judged], full) for method, judged in _judged(votes).items()),
            *(
                ablation_row(each.name, runs[each.name], None if each.name == FULL else full, each.published)
                for each in variants
            ),
        ]

    def _run(self, variant: Variant, seed: int) -> Path:
        return self.folder / "runs" / variant.slug / f"seed-{seed}"


def _judged(path: Path) -> Mapping[str, Judged]:
    """What is right by method, as a file of records has it."""
    found: dict[str, dict[str, float]] = {}
    for line in read_lines(path):
        if line["correct"] is not None:
            found.setdefault(line["method"], {})[line["question_id"]] = line["correct"]
    if not found:
        raise UsageError("no tested question has a label or a reference; nothing to compare")
    return found


def _claim(folder: Path, configuration: Mapping[str, Any]) -> None:
    """Mark a new folder with its configuration; refuse one that has another."""
    path, configuration = folder / "configuration.json", json.loads(json.dumps(configuration))
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = {}
        if differing := sorted(key for key in configuration if found.get(key) != configuration[key]):
            raise UsageError(f"{folder}: holds an ablation with another {', '.join(differing)}; use another folder")
    elif os.listdir(folder):
        raise UsageError(f"{folder}: is not empty and holds no ablation; use another folder")
    else:
        write_json(path, configuration)
