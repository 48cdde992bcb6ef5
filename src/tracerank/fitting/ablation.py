"""The paper's two ablation tables: named changes to the full selector, trained and measured on the same questions.

A variant is values only; what a graph control changes stands in ``trace/graphs/schema.py``. All variants have
the same seeds and optimisation budget. One folder holds it all: ``configuration.json``, the pools as they were read,
examples once per graph recipe, and for each variant and seed a checkpoint and ``records.jsonl``, written last: what has
records is never trained again.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
from tracerank.evaluation.records import Record
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_test
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers import iter_pools
from tracerank.runs.atomic import write_json, write_lines
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.data import ExampleSet, prepare_examples
from tracerank.trace.recipe import CONTROLS, RECIPES, GraphRecipe, NetConfig, TrainingPlan
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import OnStep, train, train_two_stages
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.folders import remember_fitted
from tracerank.votes.voting import MajorityVote

FULL = "full"


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: a graph recipe and what differs in the net."""

    name: str
    recipe: GraphRecipe
    net: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``NetConfig`` that take another value."""
    published: float | None = None
    """The paper's accuracy in %, K=16; None: the paper left it out."""

    @property
    def slug(self) -> str:
        """The name as the command line and folders have it."""
        return self.name.lower().replace(" ", "-")

    @property
    def stages(self) -> int:
        """Trainings of one run, one after the other."""
        return 2 if self.net.get("readout") == "two_stage" else 1


_NET_CONTROLS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "no GNN": {"layers": 0},
        "fixed query": {"readout": "fixed"},
        "graph readout": {"readout": "graph"},
        "two-stage": {"readout": "two_stage"},
    }
)

PUBLISHED: Mapping[str, tuple[float | None, float | None]] = MappingProxyType(
    {
        FULL: (45.2, 78.6),
        "no cross-rollout": (43.9, 72.7),
        "no GNN": (43.7, 75.5),
        "fixed query": (44.7, 75.6),
        "merge evidence": (44.1, 77.1),
        "merge answers": (44.9, 76.3),
        "merge both": (44.4, 76.4),
        "graph readout": (44.7, 75.8),
        "two-stage": (44.8, 75.1),
        "no content links": (43.8, None),
        "no Doc or content links": (None, 71.1),
        "content links only": (None, 76.5),
        "Doc and content links": (None, 76.9),
    }
)
"""WebQA exact match and long-horizon accuracy in % (Tables 3 and B.1), in the order of the tables."""


def _variants(setting: str, published: Mapping[str, float | None]) -> Mapping[str, Variant]:
    recipes = {FULL: RECIPES[setting], **CONTROLS[setting]}
    found = [
        Variant(name, recipes.get(name, RECIPES[setting]), _NET_CONTROLS.get(name, {}), accuracy)
        for name, accuracy in published.items()
        if name in recipes or name in _NET_CONTROLS
    ]
    return MappingProxyType({variant.slug: variant for variant in found})


VARIANTS: Mapping[str, Mapping[str, Variant]] = MappingProxyType(
    {
        WEBQA: _variants(WEBQA, {name: figures[0] for name, figures in PUBLISHED.items()}),
        BROWSING: _variants(BROWSING, {name: figures[1] for name, figures in PUBLISHED.items()}),
    }
)
"""By setting and by name on the command line; ``full`` is first."""


def variants_named(setting: str, names: str | None = None) -> tuple[Variant, ...]:
    """The variants of a comma-separated list, in the order of the tables; all without a list."""
    known = VARIANTS[setting]
    if names is None:
        return tuple(known.values())
    wanted = {name.strip().lower().replace(" ", "-") for name in names.split(",")} - {""}
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
    """Standard deviation over seeds; None: there is one only."""
    against: float | None
    """Difference to the row compared with; None: that is this one, or it was not run."""
    error: float | None
    """Standard error of that difference over questions, whose correctness is averaged over seeds."""
    published: float | None = None
    """The paper's accuracy in %, on its own pools."""


def ablation_row(
    name: str,
    by_seed: Sequence[Sequence[Record]],
    compared: Sequence[Sequence[Record]] | None = None,
    published: float | None = None,
) -> AblationRow:
    """Mean and deviation of a variant, and its paired difference to another."""
    accuracies = [fmean(_judged(records).values()) for records in by_seed]
    own = _over_seeds(by_seed)
    differences: list[float] = []
    if compared is not None:
        other = _over_seeds(compared)
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


def _judged(records: Sequence[Record]) -> dict[str, float]:
    found = {record.question_id: record.correct for record in records if record.correct is not None}
    if not found:
        raise UsageError("not one tested question has a label or a reference; nothing to compare")
    return found


def _over_seeds(by_seed: Sequence[Sequence[Record]]) -> Mapping[str, float]:
    judged = [_judged(records) for records in by_seed]
    return {question: fmean(each[question] for each in judged) for question in judged[0]}


RECORDS = "records.jsonl"


@dataclass(frozen=True, slots=True)
class AblationSetup:
    """What all variants of one ablation have in common."""

    plan: TrainingPlan
    """Its seed is replaced by each run's own."""
    embedder: Embedder
    net: Mapping[str, Any]
    """Fields of ``NetConfig`` that differ from the paper's for every variant alike."""
    source: Mapping[str, Any]
    """What the pools were read from."""

    def configuration(self) -> dict[str, Any]:
        """What two runs must share to stand in one table."""
        plan = {name: value for name, value in asdict(self.plan).items() if name != "seed"}
        encoder = {"name": self.embedder.name, "width": self.embedder.width}
        made: dict[str, Any] = json.loads(
            json.dumps({"plan": plan, "net": dict(self.net), "encoder": encoder, **self.source})
        )
        return made


class Ablation:
    """The folder of one ablation."""

    def __init__(self, folder: str | Path, setup: AblationSetup) -> None:
        self.folder, self.setup = Path(folder), setup
        self.folder.mkdir(parents=True, exist_ok=True)
        _claim(self.folder, setup.configuration())
        self._pools, self._test = self.folder / "pools.jsonl", self.folder / "test.jsonl"
        self._questions: list[str] | None = None

    def take(self, pools: Iterable[Pool], test: Iterable[Pool] | None = None) -> None:
        """Keep the pools, with the paper's labels; without ``test`` a fixed fifth of the questions is held out."""
        if self._pools.exists():
            return
        k = self.setup.plan.k
        if test is not None:
            write_pools(self._test, (labelled(pool.first(k), PAPER) for pool in test))
        write_pools(
            self._pools, (labelled(pool.first(k), PAPER) for pool in pools)
        )  # last: it says that both are there

    def measure_votes(self) -> None:
        """Records of single rollout, both majority votes and oracle, beside which the variants are read."""
        if not (self.folder / RECORDS).exists():
            named = [MajorityVote(), MajorityVote(ExactGroups())]
            votes = evaluate(named, self.test_pools(), [self.setup.plan.k])
            write_lines(self.folder / RECORDS, map(asdict, votes))

    def is_done(self, variant: Variant, seed: int) -> bool:
        return (self._run(variant, seed) / RECORDS).exists()

    def run(self, variant: Variant, seed: int, on_step: OnStep | None = None) -> None:
        """Train and measure one variant with one seed, unless that was done before."""
        out = self._run(variant, seed)
        if self.is_done(variant, seed):
            return
        remember_fitted(out, self._learned())
        checkpoint = self._train(variant, seed, out, on_step)
        selector = TraceSelector(checkpoint, self.setup.embedder)
        found = evaluate([selector], self.test_pools(), [self.setup.plan.k])
        own = (replace(record, method=variant.slug) for record in found if record.method == selector.name)
        write_lines(out / RECORDS, map(asdict, own))
        for path in out.rglob("training/*.safetensors"):
            path.unlink()  # only of use to a run that is not finished

    def remaining(self, variants: Sequence[Variant], seeds: int) -> list[tuple[Variant, int]]:
        """The runs with seeds 0 to ``seeds`` - 1 that are still to do, all variants of a seed before the next seed."""
        return [(variant, seed) for seed in range(seeds) for variant in variants if not self.is_done(variant, seed)]

    def rows(self, variants: Sequence[Variant], seeds: int) -> list[AblationRow]:
        """The table: the votes, then the variants, each against the full selector where that was run."""
        by_name = {variant.name: [self.records(variant, seed) for seed in range(seeds)] for variant in variants}
        full = by_name.get(FULL)
        votes = self.vote_records()
        found = [
            ablation_row(method, [[record for record in votes if record.method == method]], full)
            for method in dict.fromkeys(record.method for record in votes)
        ]
        return found + [
            ablation_row(variant.name, by_name[variant.name], None if variant.name == FULL else full, variant.published)
            for variant in variants
        ]

    def records(self, variant: Variant, seed: int) -> list[Record]:
        return _read_records(self._run(variant, seed) / RECORDS)

    def vote_records(self) -> list[Record]:
        return _read_records(self.folder / RECORDS)

    def examples(self, recipe: GraphRecipe) -> ExampleSet:
        """Training questions under a graph recipe, prepared once."""
        digest = hashlib.sha256(json.dumps(asdict(recipe)).encode()).hexdigest()[:12]
        folder = self.folder / "examples" / digest
        return prepare_examples(
            self.training_pools(), recipe, self.setup.plan, self.setup.embedder, folder, "the ablation's pools"
        )

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

    def _learned(self) -> list[str]:
        """The questions that every variant learns from, read once."""
        if self._questions is None:
            self._questions = [pool.question.text for pool in self.training_pools()]
        return self._questions

    def _run(self, variant: Variant, seed: int) -> Path:
        return self.folder / "runs" / variant.slug / f"seed-{seed}"

    def _train(self, variant: Variant, seed: int, out: Path, on_step: OnStep | None) -> Checkpoint:
        examples = self.examples(variant.recipe)
        config = NetConfig(examples.width, **{**self.setup.net, **variant.net})
        fit = train_two_stages if config.readout == "two_stage" else train
        plan = replace(self.setup.plan, seed=seed)
        return fit(examples, config, variant.recipe, plan, out, on_step=on_step)


def _claim(folder: Path, configuration: dict[str, Any]) -> None:
    """Mark a new folder with its configuration; refuse one that has another."""
    path = folder / "configuration.json"
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = {}
        differing = sorted(key for key in configuration if found.get(key) != configuration[key])
        if differing:
            raise UsageError(f"{folder}: holds an ablation with another {', '.join(differing)}; use another folder")
        return
    if os.listdir(folder):
        raise UsageError(f"{folder}: is not empty and holds no ablation; use another folder")
    write_json(path, configuration)


def _read_records(path: Path) -> list[Record]:
    with path.open(encoding="utf-8") as file:
        return [Record(**json.loads(line)) for line in file]
