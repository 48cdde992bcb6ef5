"""Every variant trained and measured on the same questions, with the same seeds and optimisation budget.

One folder holds it all: ``configuration.json``, the pools as they were read, examples once per graph recipe, and for
each variant and seed a checkpoint and ``records.jsonl``, written last: what has records is never trained again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.embedding.base import Embedder
from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import Record, evaluate
from tracerank.fitting.variants import Variant
from tracerank.methods.answer_groups import ExactGroups
from tracerank.methods.voting import MajorityVote
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.splits import is_test
from tracerank.pools.whole_files import write_lines
from tracerank.readers import iter_pools
from tracerank.selectors.folders import write_whole
from tracerank.selectors.trace.checkpoint import Checkpoint
from tracerank.selectors.trace.graphs.schema import GraphRecipe
from tracerank.selectors.trace.net import NetConfig
from tracerank.selectors.trace.selector import TraceSelector
from tracerank.selectors.trace.training.examples import ExampleSet, prepare_examples
from tracerank.selectors.trace.training.fit import StepReport, train, train_two_stages
from tracerank.selectors.trace.training.plan import TrainingPlan

OnStep = Callable[[StepReport], None]
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

    def take(self, pools: Iterable[Pool], test: Iterable[Pool] | None = None) -> None:
        """Keep the pools; without ``test`` a fixed fifth of the questions is held out."""
        if self._pools.exists():
            return
        k = self.setup.plan.k
        if test is not None:
            write_pools(self._test, (pool.first(k) for pool in test))
        write_pools(self._pools, (pool.first(k) for pool in pools))  # last: it says that both are there

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
        checkpoint = self._train(variant, seed, out, on_step)
        selector = TraceSelector(checkpoint, self.setup.embedder)
        found = evaluate([selector], self.test_pools(), [self.setup.plan.k])
        own = (replace(record, method=variant.slug) for record in found if record.method == selector.name)
        write_lines(out / RECORDS, map(asdict, own))
        for path in out.rglob("training/*.safetensors"):
            path.unlink()  # only of use to a run that is not finished

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
    text = json.dumps(configuration, indent=2) + "\n"
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _read_records(path: Path) -> list[Record]:
    with path.open(encoding="utf-8") as file:
        return [Record(**json.loads(line)) for line in file]
