"""The network that ships: the study's own in a quarter of its size, on real pools, and as a start for little data."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from studies.paper.networks import HASHED, PAPER, SCATTERED, Run
from studies.paper.questions import LEARN, LEARN_SEED, Sizes
from studies.paper.records import Right, TestSet
from studies.paper.tables import gain, percent
from studies.quality.cells import measure as measured_on
from studies.quality.sets import sets
from tracerank.embedding.load import load_embedder
from tracerank.fitting.folder import write_network_card
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.lab.worlds.questions import make_case
from tracerank.methods import load_method
from tracerank.pools.correctness import choice
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import WEBQA
from tracerank.trace.checkpoint import load_checkpoint, save_checkpoint
from tracerank.trace.data import prepare_examples
from tracerank.trace.likeness import Likeness
from tracerank.trace.recipe import SETTINGS, NetConfig
from tracerank.trace.selector import TraceSelector
from tracerank.trace.train import train
from tracerank.votes.answer_groups import ExactGroups, MeaningGroups
from tracerank.votes.base import UNLIKE, Method, decide_stream
from tracerank.votes.folders import remember_fitted
from tracerank.votes.voting import MajorityVote

SHIPPED = Path(str(files("tracerank.trace"))) / "shipped"
RUN = Run(Sizes(SCATTERED, WEBQA, PAPER_K, LEARN[WEBQA]))
SEEN_QUESTIONS = 212_000
"""Questions of the learning world among which are all that were learned from."""
START_QUESTIONS, START_SEED, START_TESTED = (300, 1_000, 3_000), 5, 1_500


def ship(folder: Path) -> None:
    """Put the network into the package."""
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
        "nothing is claimed of real agents, on which it was up to 8 points below the vote; a pool that is unlike those "
        "it learned from gets a warning",
    )
    write_network_card(SHIPPED, "TRACE network (paper, webqa)", lines)


def real_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    """What it does on the sets of ``make quality``; folder: where indexes are kept."""
    votes = {"majority": MajorityVote(), "majority by meaning": MajorityVote(MeaningGroups(), "commonest")}
    methods: dict[str, Method] = {**votes, "trace": load_method("trace")}
    for name, load, ks in sets():
        pools = load(folder)
        for k in ks:
            enough = [pool for pool in pools if len(pool) >= k]
            unlike = np.mean([UNLIKE in (one.note or "") for _, one in decide_stream(methods["trace"], enough)])
            for row in measured_on(name, enough, k, methods):
                if row.method == "trace":
                    yield name, k, row.questions, row.right, row.gain, row.low, row.high, round(100 * unlike)


def start_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    """The paper's network for few questions of another world, from random weights and from what ships."""
    pools = list(islice(TestSet(PAPER, WEBQA).pools(folder, PAPER_K), START_TESTED))
    vote, embedder = _right(MajorityVote(ExactGroups()), pools), load_embedder(HASHED)
    recipe, plan = SETTINGS[WEBQA].recipe, SETTINGS[WEBQA].plan
    for questions in START_QUESTIONS:
        learn = iter_world(PRESETS[PAPER][WEBQA], questions, START_SEED)
        place = folder / "start" / str(questions)
        examples = prepare_examples(learn, recipe, plan, embedder, place / "examples", "start")
        for name, start in (("random weights", None), ("what ships", load_checkpoint(SHIPPED))):
            train(examples, NetConfig(embedder.width), recipe, plan, place / name, start=start)
            values = _right(TraceSelector.load(place / name), pools)
            yield questions, name, len(examples.train()), percent(values), *gain(values, vote)
    values = _right(TraceSelector.load(SHIPPED), pools)
    yield 0, "what ships", 0, percent(values), *gain(values, vote)


def _right(method: Method, pools: Sequence[Pool]) -> Right:
    return np.array([choice(pool, one.sample_id).correct or 0.0 for pool, one in decide_stream(method, pools)])
