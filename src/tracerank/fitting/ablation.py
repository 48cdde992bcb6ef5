"""The paper's two ablation tables: named changes to the full selector, trained and measured on the same questions.

One folder holds an ablation: ``configuration.json``, the pools as they were read, examples once per graph recipe, and
for each variant and seed a checkpoint and ``records.jsonl``, written last; a run that has records is not trained again.
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
from tracerank.trace.data import prepare_examples
from tracerank.trace.recipe import CONTROLS, RECIPES, GraphRecipe, NetConfig, TrainingPlan
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import OnStep, train
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.folders import remember_fitted
from tracerank.votes.voting import MajorityVote

FULL = "full"
RECORDS = "records.jsonl"


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: a graph recipe and what differs in the network."""

    name: str
    recipe: GraphRecipe
    net: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``NetConfig`` that take another value."""
    published: float | None = None
    """The paper's accuracy in %, K=16."""

    @property
    def slug(self) -> str:
        """The name on the command line and in folders."""
        return _slug(self.name)


def _slug(name: str) -> str:
    return name.strip().lower().replace(" ", "-")


_NET_CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "no GNN": {"layers": 0},
    "fixed query": {"readout": "fixed"},
    "graph readout": {"readout": "graph"},
    "two-stage": {"readout": "two_stage"},
}

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


def _variants(setting: str, column: int) -> Mapping[str, Variant]:
    recipes = {FULL: RECIPES[setting], **dict.fromkeys(_NET_CONTROLS, RECIPES[setting]), **CONTROLS[setting]}
    rows = [
        Variant(name, recipes[name], _NET_CONTROLS.get(name, {}), figures[column])
        for name, figures in PUBLISHED.items()
        if name in recipes
    ]
    return MappingProxyType({row.slug: row for row in rows})


VARIANTS: Mapping[str, Mapping[str, Variant]] = MappingProxyType(
    {WEBQA: _variants(WEBQA, 0), BROWSING: _variants(BROWSING, 1)}
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


def ablation_row(
    name: str,
    by_seed: Sequence[Sequence[Record]],
    compared: Sequence[Sequence[Record]] | None = None,
    published: float | None = None,
) -> AblationRow:
    """Mean and deviation of a variant, and its paired difference to another."""
    accuracies = [fmean(_judged(records).values()) for records in by_seed]
    own, other = _over_seeds(by_seed), _over_seeds(compared or ())
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
        raise UsageError("no tested question has a label or a reference; nothing to compare")
    return found


def _over_seeds(by_seed: Sequence[Sequence[Record]]) -> Mapping[str, float]:
    judged = [_judged(records) for records in by_seed]
    return {question: fmean(each[question] for each in judged) for question in (judged[0] if judged else ())}


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
        made = json.dumps({"plan": plan, "net": dict(self.net), "encoder": encoder, **self.source})
        return dict(json.loads(made))


class Ablation:
    """The folder of one ablation."""

    def __init__(self, folder: str | Path, setup: AblationSetup) -> None:
        self.folder, self.setup = Path(folder), setup
        self.folder.mkdir(parents=True, exist_ok=True)
        _claim(self.folder, setup.configuration())
        self._pools, self._test = self.folder / "pools.jsonl", self.folder / "test.jsonl"

    def take(self, pools: Iterable[Pool], test: Iterable[Pool] | None = None) -> None:
        """Keep the pools, with the paper's labels; without ``test`` a fixed fifth of the questions is held out."""
        if self._pools.exists():
            return
        k = self.setup.plan.k
        if test is not None:
            write_pools(self._test, (labelled(pool.first(k), PAPER) for pool in test))
        # Last: its presence means that both are complete.
        write_pools(self._pools, (labelled(pool.first(k), PAPER) for pool in pools))

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

    def measure_votes(self) -> None:
        """Records of single rollout, both majority votes and oracle, for comparison with the variants."""
        if not (self.folder / RECORDS).exists():
            votes = evaluate([MajorityVote(), MajorityVote(ExactGroups())], self.test_pools(), [self.setup.plan.k])
            write_lines(self.folder / RECORDS, map(asdict, votes))

    def is_done(self, variant: Variant, seed: int) -> bool:
        return (self._run(variant, seed) / RECORDS).exists()

    def remaining(self, variants: Sequence[Variant], seeds: int) -> list[tuple[Variant, int]]:
        """The runs with seeds 0 to ``seeds`` - 1 that are still to do, all variants of a seed before the next seed."""
        return [(variant, seed) for seed in range(seeds) for variant in variants if not self.is_done(variant, seed)]

    def run(self, variant: Variant, seed: int, on_step: OnStep = lambda loss: None) -> None:
        """Train and measure one variant with one seed, unless that was done before."""
        if self.is_done(variant, seed):
            return
        out, setup = self._run(variant, seed), self.setup
        remember_fitted(out, (pool.question.text for pool in self.training_pools()))
        plan, recipe = replace(setup.plan, seed=seed), variant.recipe
        digest = hashlib.sha256(json.dumps(asdict(recipe)).encode()).hexdigest()[:12]
        folder = self.folder / "examples" / digest
        examples = prepare_examples(self.training_pools(), recipe, plan, setup.embedder, folder, "the ablation's pools")
        config = NetConfig(examples.encoder.width, **{**setup.net, **variant.net})
        selector = TraceSelector(train(examples, config, recipe, plan, out, on_step=on_step), setup.embedder)
        found = evaluate([selector], self.test_pools(), [plan.k])
        own = (replace(record, method=variant.slug) for record in found if record.method == selector.name)
        write_lines(out / RECORDS, map(asdict, own))
        for path in out.rglob("training/*.safetensors"):
            path.unlink()  # only an unfinished run needs them

    def rows(self, variants: Sequence[Variant], seeds: int) -> list[AblationRow]:
        """The table: the votes, then the variants, each against the full selector where that was run."""
        by_name = {variant.name: [self.records(variant, seed) for seed in range(seeds)] for variant in variants}
        full, votes = by_name.get(FULL), self.vote_records()
        return [
            *(
                ablation_row(method, [[record for record in votes if record.method == method]], full)
                for method in dict.fromkeys(record.method for record in votes)
            ),
            *(
                ablation_row(each.name, by_name[each.name], None if each.name == FULL else full, each.published)
                for each in variants
            ),
        ]

    def records(self, variant: Variant, seed: int) -> list[Record]:
        return _read_records(self._run(variant, seed) / RECORDS)

    def vote_records(self) -> list[Record]:
        return _read_records(self.folder / RECORDS)

    def _run(self, variant: Variant, seed: int) -> Path:
        return self.folder / "runs" / variant.slug / f"seed-{seed}"


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
    elif os.listdir(folder):
        raise UsageError(f"{folder}: is not empty and holds no ablation; use another folder")
    else:
        write_json(path, configuration)


def _read_records(path: Path) -> list[Record]:
    with path.open(encoding="utf-8") as file:
        return [Record(**json.loads(line)) for line in file]
