"""The network that ships: one of the study's in a quarter of its size, and what it does on real pools."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from studies.paper.networks import SHIPPED
from studies.paper.questions import LEARN_SEED, SCATTERED
from studies.quality.cells import measure as measured_on
from studies.quality.sets import sets
from tracerank.fitting.folder import write_network_card
from tracerank.lab.worlds.presets import PRESETS
from tracerank.lab.worlds.questions import make_case
from tracerank.methods import load_method
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import WEBQA
from tracerank.trace.checkpoint import load_checkpoint, save_checkpoint
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.base import UNLIKE, Method, decide_stream
from tracerank.votes.folders import remember_fitted
from tracerank.votes.voting import MajorityVote

SEEN_QUESTIONS = 212_000
"""Questions of the learning world among which are all that were learned from."""


def ship(network: Path) -> None:
    """Put a trained network into the package."""
    checkpoint = load_checkpoint(network)
    save_checkpoint(checkpoint, SHIPPED, is_compact=True)
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
