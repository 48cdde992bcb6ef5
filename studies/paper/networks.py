"""The study's networks: each trained once, on examples that runs of one size share."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from studies.paper.questions import LEARN, Sizes
from tracerank.embedding.load import load_embedder
from tracerank.fitting.ablation import VARIANTS, Variant
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.checkpoint import CONFIG_FILE, load_checkpoint
from tracerank.trace.data import ExampleSet, prepare_examples
from tracerank.trace.recipe import SETTINGS, GraphRecipe, NetConfig, TrainingPlan
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import train

PAPER, SCATTERED = "paper", "scattered"
"""Worlds (``lab/worlds/presets.py``)."""
HASHED, MINILM = "hash-256", "default"
DONE = "done"
"""File of a finished network: the CPU time of its last session, in seconds."""
CONTROLS_LEARN = 30_000
"""Mixed pools of the WebQA controls, which at K=8 and this size fit the machine's time."""


@dataclass(frozen=True, slots=True)
class Run:
    """One network."""

    sizes: Sizes
    variant: str = "full"
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

    def examples(self, folder: Path) -> ExampleSet:
        """Examples are shared by the graphs that differ in links only."""
        recipe = _columns_of(self.row.recipe, SETTINGS[self.sizes.setting].recipe)
        kind = f"{recipe.documents}{'-merged' if recipe.merge_answers else ''}"
        place = folder / "examples" / f"{self.sizes.name}-{self.encoder}-{kind}"
        encoder = load_embedder(self.encoder)
        return prepare_examples(self.sizes.pools(), recipe, self.plan, encoder, place, self.sizes.name)

    def is_done(self, folder: Path) -> bool:
        return (self.folder(folder) / DONE).exists()

    def epochs(self, folder: Path) -> int:
        """How many are behind the checkpoint; an unfinished run is measured as it stands."""
        if not (self.folder(folder) / CONFIG_FILE).exists():
            return 0
        return len(load_checkpoint(self.folder(folder)).training["epochs"])

    def folder(self, folder: Path) -> Path:
        return folder / "networks" / self.name

    def train(self, folder: Path, advance: Callable[[], object]) -> None:
        """Train, or resume; only an unfinished run keeps its state."""
        examples, out, began = self.examples(folder), self.folder(folder), time.process_time()
        config = NetConfig(examples.encoder.width, **self.row.net)
        train(examples, config, self.row.recipe, self.plan, out, on_step=lambda loss: advance())
        for path in out.rglob("training/*.safetensors"):
            path.unlink()
        (out / DONE).write_text(f"{time.process_time() - began:.0f}\n")

    def selector(self, folder: Path) -> TraceSelector:
        return TraceSelector.load(self.folder(folder))


def _columns_of(recipe: GraphRecipe, full: GraphRecipe) -> GraphRecipe:
    """The recipe with the links of the full one wherever they do not change the columns of a graph."""
    documents = recipe.documents if recipe.documents == "rollout" else full.documents
    return replace(full, documents=documents, merge_answers=recipe.merge_answers)


def runs() -> list[Run]:
    """In the order of what is missed most if time ends."""
    web, browsing = (Sizes(SCATTERED, setting, PAPER_K, LEARN[setting]) for setting in (WEBQA, BROWSING))
    small, other = (Sizes(world, WEBQA, 8, CONTROLS_LEARN) for world in (SCATTERED, PAPER))
    other_browsing, few = Sizes(PAPER, BROWSING, PAPER_K, LEARN[BROWSING]), Sizes(SCATTERED, WEBQA, 8, 10_000)
    return [
        Run(web),
        *(Run(browsing, variant) for variant in VARIANTS[BROWSING]),
        *(Run(small, variant) for variant in VARIANTS[WEBQA]),
        *(Run(sizes, variant) for sizes in (other, other_browsing) for variant in ("full", "no-cross-rollout")),
        *(Run(sizes, seed=seed) for sizes in (browsing, web) for seed in (2, 3)),
        Run(web, "no-cross-rollout"),
        Run(Sizes(PAPER, WEBQA, PAPER_K, LEARN[WEBQA])),
        *(Run(few, encoder=encoder) for encoder in (HASHED, MINILM)),
    ]
