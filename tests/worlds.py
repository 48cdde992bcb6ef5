"""Pools for tests: the generated world, and small ones with a planted signal that a selector can or cannot see."""

from random import Random

from tests.builders import pool_of, ranked, rollout
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.pool import Pool


def generate_pools(questions: int, seed: int, k: int = 16, setting: str = "webqa") -> list[Pool]:
    """Pools of the world with the paper's shapes."""
    return list(iter_world(PAPER[setting], questions, seed, k))


def planted_pools(questions: int, seed: int, told_to: str) -> list[Pool]:
    """Pools in which votes say nothing, but the right chunk was confirmed: in the ``own`` searches, or in ``others``'.

    Everybody who answers from a chunk has read nothing but this chunk, which says nothing. Witnesses have read it, too,
    in a search that tells whether it is right; they answer something else, and wrongly.
    """
    rng = Random(seed)
    return [_planted_pool(rng, f"{seed}/{number}", told_to) for number in range(questions)]


def _planted_pool(rng: Random, name: str, told_to: str) -> Pool:
    right, wrong = rng.sample(range(100), 2)
    verdicts = {right: "confirmed by the archive", wrong: "denied by the archive"}
    rollouts = []
    voices = rng.sample((2, 3), 2)
    for claim, count in zip(verdicts, voices, strict=True):
        query = verdicts[claim] if told_to == "own" else "archive"
        answer = rollout(f"answer {claim}", ranked(query, f"{name} says {claim}"), label=float(claim == right))
        rollouts += [answer] * count
        rollouts.append(rollout(f"other {claim} {name}", ranked(verdicts[claim], f"{name} says {claim}"), label=0.0))
    rng.shuffle(rollouts)
    return pool_of(*rollouts, question=f"What does {name} say?")
