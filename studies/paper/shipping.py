"""The network that ships: the study's own in a quarter of its size, on real pools, and as a start for little data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from studies.paper.networks import HASHED, PAPER, SCATTERED, Run
from studies.paper.questions import LEARN, LEARN_SEED, Sizes
from studies.paper.records import Right, TestSet
from studies.paper.tables import gain, percent
from studies.quality.cells import measure as measured_on
from studies.quality.sets import sets
from tracerank.embedding.load import load_embedder
from tracerank.fitting.folder import write_network_card
from tracerank.fitting.train import PRESETS as NETWORKS
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.lab.worlds.questions import make_case
from tracerank.methods import load_method
from tracerank.pools.correctness import choice
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import WEBQA
from tracerank.trace.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tracerank.trace.data import prepare_examples
from tracerank.trace.likeness import Likeness
from tracerank.trace.recipe import SETTINGS, NetConfig
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import train
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.base import UNLIKE, Method, decide_stream
from tracerank.votes.folders import remember_fitted
from tracerank.votes.voting import MajorityVote

SHIPPED = Path(str(files("tracerank.trace"))) / "shipped"
RUN = Run(Sizes(SCATTERED, WEBQA, PAPER_K, LEARN[WEBQA]))
SEEN_QUESTIONS = 212_000
"""Questions of the learning world among which are all that were learned from."""
START_QUESTIONS, START_SEED, START_TESTED = (300, 1_000, 3_000), 5, 1_500


def ship(folder: Path) -> None:
    """Put the network into the package, unless it is there."""
    checkpoint = load_checkpoint(RUN.folder(folder))
    likeness = checkpoint.likeness or Likeness.of(RUN.examples(folder))
    save_checkpoint(replace(checkpoint, likeness=likeness), SHIPPED, is_compact=True)
    model = PRESETS[SCATTERED][WEBQA].world
    cases = (make_case(Random(f"{LEARN_SEED}/{number}"), "", model) for number in range(SEEN_QUESTIONS))
    remember_fitted(SHIPPED, (case.question.text for case in cases))
    about = checkpoint.training
    lines = (
        f"learned from {about['questions']['train']:,} generated pools of {PAPER_K} rollouts: invented facts, agents "
        "without a language model (`tracerank lab world --preset scattered`), vectors of hashed words",
        f"right on {100 * about['validation_accuracy']:.1f}% of {about['questions']['validation']:,} held-out mixed "
        f"pools, where the vote has {100 * about['validation_vote']:.1f}%; epoch {about['best_epoch']}",
        "nothing is claimed of real agents; a pool that is unlike those it learned from gets a warning",
    )
    write_network_card(SHIPPED, "TRACE network (paper, webqa)", lines)


def real_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    """What it does on the sets of ``make quality``; folder: where indexes are kept."""
    methods: dict[str, Method] = {name: load_method(name) for name in ("majority", "majority by meaning", "trace")}
    for name, load, ks in sets():
        pools = load(folder)
        for k in ks:
            enough = [pool for pool in pools if len(pool) >= k]
            unlike = np.mean([UNLIKE in (one.note or "") for _, one in decide_stream(methods["trace"], enough)])
            for row in measured_on(name, enough, k, methods):
                if row.method == "trace":
                    yield name, k, row.questions, row.right, row.gain, row.low, row.high, round(100 * unlike)


def start_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    """Networks for few questions of another world: from the start, in small, and from what ships."""
    test = TestSet(PAPER, WEBQA)
    pools = list(islice(test.pools(folder, PAPER_K), START_TESTED))
    vote = _right(MajorityVote(ExactGroups()), pools)
    shipped, embedder = load_checkpoint(SHIPPED), load_embedder(HASHED)
    beginnings: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], Checkpoint | None]] = {
        "from the start": ({}, {}, None),
        "small": (*NETWORKS["small"], None),
        "from what ships": ({}, {}, shipped),
    }
    for questions in START_QUESTIONS:
        for name, (net, changes, start) in beginnings.items():
            out, plan = folder / "start" / f"{questions}-{name}", replace(SETTINGS[WEBQA].plan, **changes)
            learn = iter_world(PRESETS[PAPER][WEBQA], questions, START_SEED)
            examples = prepare_examples(learn, SETTINGS[WEBQA].recipe, plan, embedder, out / "examples", "start")
            config = NetConfig(embedder.width, **net)
            train(examples, config, SETTINGS[WEBQA].recipe, plan, out, start=start)
            values = _right(TraceSelector.load(out), pools)
            yield questions, name, len(examples.train()), percent(values), *gain(values, vote)
    values = _right(load_method("trace"), pools)
    yield 0, "what ships", 0, percent(values), *gain(values, vote)


def _right(method: Method, pools: Sequence[Pool]) -> Right:
    return np.array([choice(pool, one.sample_id).correct or 0.0 for pool, one in decide_stream(method, pools)])
