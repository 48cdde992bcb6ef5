"""Does it pay to start from the network that ships? Few questions of another world than the one it learned from."""

from collections.abc import Iterator
from pathlib import Path

from studies.paper.networks import HASHED, SHIPPED, remember_training
from studies.paper.questions import MAIN, PAPER
from studies.paper.records import Records, measure
from tracerank.embedding.load import load_embedder
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import WEBQA
from tracerank.trace.checkpoint import load_checkpoint
from tracerank.trace.data import prepare_examples
from tracerank.trace.recipe import SETTINGS, NetConfig
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import train

START_QUESTIONS, START_SEED, START_K = (300, 1_000, 3_000), 5, PAPER_K
(START_TEST,) = (test for test in MAIN if (test.world, test.setting) == (PAPER, WEBQA))
RANDOM, SHIPS = "random weights", "what ships"
STARTS = (RANDOM, SHIPS)


def start_name(questions: int, start: str) -> str:
    return f"start-{questions}-{start.replace(' ', '-')}"


def train_starts(folder: Path, records: Records) -> Iterator[str]:
    """Train and measure what has no records; yields names as they are done."""
    recipe, plan, embedder = SETTINGS[WEBQA].recipe, SETTINGS[WEBQA].plan, load_embedder(HASHED)
    measure(START_TEST, {start_name(0, SHIPS): TraceSelector.load(SHIPPED)}, [START_K], folder, records)
    for questions in START_QUESTIONS:
        for start in STARTS:
            if records.has(START_TEST, [START_K], name := start_name(questions, start)):
                continue
            learn = iter_world(PRESETS[PAPER][WEBQA], questions, START_SEED)
            place = folder / "start" / str(questions)
            examples = prepare_examples(learn, recipe, plan, embedder, place / "examples", "start")
            begin = load_checkpoint(SHIPPED) if start == SHIPS else None
            made = train(examples, NetConfig(embedder.width), recipe, plan, place / name, start=begin)
            remember_training(name, made, "")
            measure(START_TEST, {name: TraceSelector(made, embedder)}, [START_K], folder, records)
            yield name
