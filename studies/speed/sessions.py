"""What one rollout more costs a session: ``python -m studies.speed.sessions``. The 64th may cost 1.5 times the 2nd.

Adding, the verdict and the decision together, CPU time, in a generated world whose rollouts all differ; each question
is new, so no answer has been read before. The mean over questions, and of eight neighbours, as one rollout brings more
than another.
"""

import time
from itertools import pairwise

import numpy as np

from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import WEBQA
from tracerank.stopping.session import Session
from tracerank.votes.selector import load_selector

QUESTIONS, ROLLOUTS, SEED = 60, 64, 71
ENDS = (1, 3, 9, 17, 33, 49, 57, 64)
TARGET = 1.5


def milliseconds_per_add() -> np.ndarray:
    """(questions, rollouts): of adding each rollout and asking what follows."""
    selector = load_selector()
    taken = []
    for pool in iter_world(PRESETS["paper"][WEBQA], QUESTIONS + 2, SEED, ROLLOUTS):
        session = Session(pool.question, selector, budget=ROLLOUTS)
        times = []
        for rollout in pool.rollouts:
            began = time.process_time()
            session.add(rollout)
            session.should_continue()
            session.decision()
            times.append(time.process_time() - began)
        taken.append(times)
    return 1e3 * np.array(taken[2:])  # the first load what all share


def main() -> None:
    means = milliseconds_per_add().mean(axis=0)
    second = means[1:3].mean()  # the second and third: one alone is noisy
    print(f"second and third rollout: {second:.2f} ms")
    for low, high in pairwise(ENDS):
        here = means[low:high].mean()
        print(f"rollouts {low + 1} to {high}: {here:.2f} ms, {here / second:.2f}-fold (to reach: <= {TARGET}-fold)")


if __name__ == "__main__":
    main()
