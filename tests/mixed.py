"""Pools of agents that are right as often as it is said here, each wrong in its own way unless they err together."""

from collections.abc import Mapping
from random import Random

from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout

TOWNS = ("Oslo", "Lima", "Cairo", "Quito", "Dakar", "Hanoi", "Minsk", "Sofia", "Tunis", "Delhi", "Turin", "Perth")
MIXED = {"able": 0.85, "fair": 0.6, "poor": 0.25, "poorer": 0.2}


def mixed_pools(count: int, right: Mapping[str, float], seed: int = 1, together: tuple[str, ...] = ()) -> list[Pool]:
    """``count`` labelled questions, asked of every agent; agents ``together`` share their wrong answers."""
    random, made = Random(seed), []
    for number in range(count):
        truth, shared = random.sample(TOWNS, 2)
        rollouts = []
        for sample, (agent, share) in enumerate(right.items()):
            is_right = random.random() < share
            wrong = shared if agent in together else random.choice([town for town in TOWNS if town != truth])
            answer = truth if is_right else wrong
            rollouts.append(
                Rollout(sample, answer, label=float(is_right), agent=agent, source=f"{agent}.jsonl:{number}")
            )
        random.shuffle(rollouts)
        rollouts = [Rollout(i, r.answer, label=r.label, agent=r.agent, source=r.source) for i, r in enumerate(rollouts)]
        made.append(
            Pool.of(Question(f"q{number}", f"In which town was fair {number} of series {seed} held?"), rollouts)
        )
    return made
