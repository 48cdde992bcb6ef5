"""Does it pay to start from the network that ships? On few questions of another world, and of real agents."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from studies.paper.networks import HASHED, SHIPPED, remember_training
from studies.paper.questions import MAIN, PAPER
from studies.paper.records import VOTE, Records, gain, measure, percent, right
from studies.quality.sets import real
from tracerank.embedding.load import load_embedder
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.pool import PAPER_K
from tracerank.pools.subsets import split_named
from tracerank.pools.types import WEBQA
from tracerank.trace.checkpoint import load_checkpoint
from tracerank.trace.data import ExampleSet, prepare_examples
from tracerank.trace.recipe import SETTINGS, NetConfig, TrainingPlan
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import train
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.voting import MajorityVote

START_QUESTIONS, START_SEED, START_K = (300, 1_000, 3_000), 5, PAPER_K
(START_TEST,) = (test for test in MAIN if (test.world, test.setting) == (PAPER, WEBQA))
RANDOM, SHIPS = "random weights", "shipped network"
STARTS = (RANDOM, SHIPS)


REAL = (("search_r1", 2), ("hotpot_agent+", 4), ("hotpot_agent+", 8))
"""Real agents whose searches are logged, with K; half of their questions are learned from and half are tested."""
SEEDS = (1, 2, 3)


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
            selector = started(examples, plan, start, place / name)
            remember_training(name, selector.checkpoint, "")
            measure(START_TEST, {name: selector}, [START_K], folder, records)
            yield name


def real_start_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    """The same for real agents, the mean of some seeds; without training, too."""
    embedder, split, recipe = load_embedder(HASHED), split_named("0.5"), SETTINGS[WEBQA].recipe
    for name, k in REAL:
        pools = [pool.first(k) for pool in real(name, folder) if len(pool) >= k]
        learn = [pool for pool in pools if not split.holds_out(pool.question)]
        tested = [pool for pool in pools if split.holds_out(pool.question)]
        plan, vote = replace(SETTINGS[WEBQA].plan, k=k), right(MajorityVote(ExactGroups()), tested)
        with TemporaryDirectory() as place:
            examples = prepare_examples(learn, recipe, plan, embedder, Path(place) / "examples", name)

            about, count = (name, k, len(tested)), len(examples.train())
            yield *about, 0, VOTE, percent(vote), *gain(vote, vote)
            shipped = right(TraceSelector.load(SHIPPED), tested)
            yield *about, 0, SHIPS, percent(shipped), *gain(shipped, vote)
            for start in STARTS:
                seeds = [(replace(plan, seed=seed), Path(place) / f"{start}-{seed}") for seed in SEEDS]
                found = [right(started(examples, own, start, out), tested) for own, out in seeds]
                values = np.mean(found, axis=0)
                yield *about, count, start, percent(values), *gain(values, vote)


def started(examples: ExampleSet, plan: TrainingPlan, start: str, out: Path) -> TraceSelector:
    begin = load_checkpoint(SHIPPED) if start == SHIPS else None
    config = NetConfig(examples.encoder.width)
    return TraceSelector(train(examples, config, SETTINGS[WEBQA].recipe, plan, out, start=begin), load_embedder(HASHED))
