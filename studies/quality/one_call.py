"""What ``tr.best_of`` saves on pools that nothing was fitted on: ``python -m studies.quality.one_call [SET …]``.

Saved rollouts are replayed as agents: run n of a question hands out its n-th rollout in a random order, after a moment
that differs between runs, and one run in ten may raise instead. The default rule decides when to stop, K is all that
were saved. Labels are those of ``by_meaning.py``. Docs/one-call.md shows the table.
"""

import argparse
import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

import numpy as np

import tracerank as tr
from studies.quality.parts import JUDGED_SEED
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.real_pools import real_pools
from tracerank.errors import AgentError
from tracerank.evaluation.bootstrap import intervals
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.correctness import choice
from tracerank.pools.types import WEBQA
from tracerank.sampling.best_of import Runs

QUESTIONS = 500
SECONDS = 0.004
"""That a run takes at most."""
CELLS = ((1, 0.0), (4, 0.0), (4, 0.1))
"""Runs at once, and the share of them that fail."""


def sets_of() -> Mapping[str, Callable[[], Iterable[tr.Pool]]]:
    judgements = Judgements.read()
    real = ("hotpot_agent", "hotpot_agent+")
    return {
        **{name: lambda name=name: map(judgements.labelled, real_pools(name)) for name in real},
        "world": lambda: iter_world(PRESETS["paper"][WEBQA], QUESTIONS, JUDGED_SEED),
    }


@dataclass(frozen=True, slots=True)
class Replayed:
    """One question."""

    runs: Runs
    right: float
    of_all: float
    """How right the selector is with every rollout."""


async def replayed(pool: tr.Pool, parallel: int, failing: float) -> Replayed:
    chance = Random(f"one call/{pool.question.id}/{pool.question.text}")
    drawn = chance.sample(pool.rollouts, len(pool))
    fails = [chance.random() < failing for _ in drawn]
    seconds = [SECONDS * chance.random() for _ in drawn]

    async def agent(question: str) -> tr.Rollout:
        number = tr.run_number()
        await asyncio.sleep(seconds[number])
        if fails[number]:
            raise RuntimeError("the agent failed")
        return drawn[number]

    try:
        result = await tr.best_of(agent, pool.question, len(pool), parallel=parallel)
    except AgentError:  # every run failed
        return Replayed(Runs(0, len(pool), 0, 0, 0), 0.0, _right(pool, tr.load_selector().decide(pool).sample_id))
    chosen = result.decision.sample_id
    right = 0.0 if chosen is None else _right(pool, drawn[chosen].sample_id)
    return Replayed(result.runs, right, _right(pool, tr.load_selector().decide(pool).sample_id))


def _right(pool: tr.Pool, sample_id: int | None) -> float:
    return choice(pool, sample_id).correct or 0.0


def row(name: str, parallel: int, failing: float, pools: Sequence[tr.Pool]) -> str:
    async def all_of() -> list[Replayed]:
        return [await replayed(pool, parallel, failing) for pool in pools]

    found = asyncio.run(all_of())
    k = len(pools[0])

    def mean(of: Callable[[Runs], int]) -> float:
        return float(np.mean([of(one.runs) for one in found]))

    less = np.array([one.right - one.of_all for one in found])
    band = intervals(less[:, None], 0)
    counts = (
        mean(lambda runs: runs.used),
        mean(lambda runs: runs.failed),
        mean(lambda runs: runs.cancelled + runs.unneeded),
        mean(lambda runs: runs.saved),
    )
    right, of_all = (100 * float(np.mean([getattr(one, name) for one in found])) for name in ("right", "of_all"))
    told = f"{100 * less.mean():+.1f} [{100 * band.low[0]:+.1f}, {100 * band.high[0]:+.1f}]"
    figures = " | ".join(f"{count:.1f}" for count in counts)
    return f"| {name}, {k} | {parallel} | {failing:.0%} | {figures} | {right:.1f} | {of_all:.1f} | {told} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.one_call", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help="these alone")
    chosen = parser.parse_args(arguments)
    print("| set, k | at once | failing | used | failed | in vain | saved | right % | of all k % | difference |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, pools in sets_of().items():
        if not chosen.sets or name in chosen.sets:
            some = [pool for pool in islice(pools(), QUESTIONS) if len(pool) > 1]
            for parallel, failing in CELLS:
                print(row(name, parallel, failing, some), flush=True)


if __name__ == "__main__":
    main()
