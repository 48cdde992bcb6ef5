"""How the time per pool grows with K: 20-fold is allowed from 16 to 256, where cliques would grow 256-fold."""

from studies.speed.measure import best_of
from studies.speed.sides import Bench


def milliseconds_per_pool(setting: str, rollouts: int, count: int) -> float:
    """Build and score, CPU time."""
    bench = Bench.of(setting, count, rollouts=rollouts)
    return best_of(lambda: bench.score_ours(bench.build_ours()), rounds=3) / count * 1e3
