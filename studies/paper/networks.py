"""The study's networks, each trained once, on examples that runs of one size share, and measured on its test sets."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from studies import RESULTS, read_table, write_table
from studies.paper.questions import LEARN, PAPER, SCATTERED, TESTS, QuestionSet, Sizes
from studies.paper.records import Records, measure
from tracerank.cli.terminal import note, working
from tracerank.embedding.load import load_embedder
from tracerank.fitting.ablation import FULL, VARIANTS, Variant
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.checkpoint import CONFIG_FILE, Checkpoint
from tracerank.trace.data import ExampleSet, prepare_examples
from tracerank.trace.recipe import SETTINGS, GraphRecipe, NetConfig, TrainingPlan
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import train

HASHED, MINILM = "hash-256", "default"
SHIPPED = Path(str(files("tracerank.trace"))) / "shipped"
NETWORKS = RESULTS / "paper_runs.csv"
"""A line per trained network."""
HEAD = ("run", "learned from", "validation pools", "vote", "accuracy by epoch", "best epoch", "CPU seconds", "peak MB")
CONTROLS_LEARN = 30_000
"""Mixed pools of the WebQA controls, which at K=8 and this size fit the machine's time."""
FEW_LEARN = 10_000
"""Mixed pools of the row with a real encoder, and of the row with hashed words beside it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One network."""

    sizes: Sizes
    variant: str = FULL
    seed: int = 1
    encoder: str = HASHED

    @property
    def name(self) -> str:
        return f"{self.sizes.name}-{self.encoder}-{self.variant}-{self.seed}"

    @property
    def row(self) -> Variant:
        return VARIANTS[self.sizes.setting][self.variant]

    @property
    def plan(self) -> TrainingPlan:
        return replace(SETTINGS[self.sizes.setting].plan, k=self.sizes.k, seed=self.seed)

    @property
    def is_main(self) -> bool:
        """The full network at the paper's size, which is measured at every K and on other agents and facts."""
        return self.variant == FULL and self.sizes.learn == LEARN[self.sizes.setting] and self.encoder == HASHED

    def tests(self) -> Iterator[tuple[QuestionSet, Sequence[int]]]:
        """Test sets with the K at which this network is measured."""
        for test in TESTS:
            is_same = (self.sizes.world, self.sizes.setting) == (test.world, test.setting)
            if is_same and (self.is_main or test.is_main):
                yield test, test.ks if self.is_main else [self.sizes.k]

    def is_measured(self, records: Records) -> bool:
        return all(records.has(test, ks, self.name) for test, ks in self.tests())

    def examples(self, folder: Path) -> ExampleSet:
        """Examples are shared by the graphs that differ in links only."""
        recipe = _columns_of(self.row.recipe, SETTINGS[self.sizes.setting].recipe)
        kind = f"{recipe.documents}{'-merged' if recipe.merge_answers else ''}"
        place = folder / "examples" / f"{self.sizes.name}-{self.encoder}-{kind}"
        encoder = load_embedder(self.encoder)
        return prepare_examples(self.sizes.pools(), recipe, self.plan, encoder, place, self.sizes.name)

    def train(self, folder: Path, on_step: Callable[[float], object]) -> Path:
        """Train, or resume, unless it is trained; the folder with the network."""
        if self == SHIPPED_RUN:
            return SHIPPED
        out = folder / "networks" / self.name
        if not (out / CONFIG_FILE).exists() or _state(out).exists():
            examples, is_resumed, began = self.examples(folder), _state(out).exists(), time.process_time()
            config = NetConfig(examples.encoder.width, **self.row.net)
            checkpoint = train(examples, config, self.row.recipe, self.plan, out, on_step=on_step)
            seconds = "" if is_resumed else f"{time.process_time() - began:.0f}"
            remember_training(self.name, checkpoint, seconds)
            for path in out.rglob("training/*.safetensors"):
                path.unlink()
        return out

    def measure(self, network: Path, folder: Path, records: Records) -> None:
        methods = {self.name: TraceSelector.load(network)}
        for test, ks in self.tests():
            measure(test, methods, ks, folder, records)


def train_and_measure(run: Run, folder: Path, records: Records) -> None:
    """Done by a process of its own."""
    steps = run.plan.epochs * -(-run.sizes.learn // run.plan.batch_pools)
    with working(run.name, unit="steps", total=steps) as progress:
        network = run.train(folder, lambda loss: progress.advance())
    run.measure(network, folder, records)
    note(f"{run.name}: done")


def _state(out: Path) -> Path:
    return out / "training" / "state.safetensors"


def _columns_of(recipe: GraphRecipe, full: GraphRecipe) -> GraphRecipe:
    """The recipe with the links of the full one wherever they do not change the columns of a graph."""
    documents = recipe.documents if recipe.documents == "rollout" else full.documents
    return replace(full, documents=documents, merge_answers=recipe.merge_answers)


def remember_training(name: str, checkpoint: Checkpoint, seconds: str) -> None:
    """Keep how a training went in ``NETWORKS``, instead of what is there of an earlier one."""
    about = checkpoint.training
    epochs = "; ".join(f"{100 * epoch['accuracy']:.1f}" for epoch in about["epochs"])
    peak, vote = getrusage(RUSAGE_SELF).ru_maxrss // 1024, f"{100 * about['validation_vote']:.1f}"
    row = [name, *about["questions"].values(), vote, epochs, about["best_epoch"], seconds, peak]
    write_table(NETWORKS, HEAD, [*(line for line in read_table(NETWORKS) if line[0] != name), row])


WEB, BROWSE = (Sizes(SCATTERED, setting, PAPER_K, LEARN[setting]) for setting in (WEBQA, BROWSING))
SHIPPED_RUN = Run(WEB)
"""Its network, its matrices as bytes, is in the package."""


def runs() -> list[Run]:
    """In the order of what is missed most if time ends."""
    small = Sizes(SCATTERED, WEBQA, 8, CONTROLS_LEARN)
    few = Sizes(SCATTERED, WEBQA, 8, FEW_LEARN)
    other, other_browsing = (Sizes(PAPER, setting, PAPER_K, LEARN[setting]) for setting in (WEBQA, BROWSING))
    return [
        SHIPPED_RUN,
        *(Run(BROWSE, seed=seed) for seed in (1, 2, 3)),
        *(Run(BROWSE, variant) for variant in VARIANTS[BROWSING] if variant != FULL),
        *(Run(BROWSE, "no-cross-rollout", seed) for seed in (2, 3)),
        *(Run(WEB, seed=2), Run(WEB, "no-cross-rollout"), Run(WEB, seed=3)),
        *(Run(small, variant) for variant in VARIANTS[WEBQA]),
        *(Run(sizes, variant) for sizes in (other_browsing, other) for variant in (FULL, "no-cross-rollout")),
        *(Run(few, encoder=encoder) for encoder in (HASHED, MINILM)),
    ]
