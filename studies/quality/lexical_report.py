"""How good lexical agents are: single, majority and oracle, what their pools share, and how fast they are made."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

from tracerank.answers.exact import normalize_answer
from tracerank.pools.pool import Pool
from tracerank.trace.graphs.schema import RECIPES
from tracerank.trace.graphs.stats import IDENTICAL_CONTENT, graph_statistics


@dataclass(frozen=True, slots=True)
class PoolShape:
    """Means over questions; shares between 0 and 1."""

    questions: int
    single: float
    """Over all samples, retained or not."""
    majority: float
    oracle: float
    retained: float
    distinct: float
    """Different answers among the retained rollouts."""
    overlap: float
    """Jaccard similarity of retrieved sets."""
    shared_groups: float
    searches: float

    def __str__(self) -> str:
        return (
            f"n={self.questions:5d} single {100 * self.single:5.1f} majority {100 * self.majority:5.1f} "
            f"oracle {100 * self.oracle:5.1f} retained {self.retained:5.2f} distinct {self.distinct:5.2f} "
            f"Jaccard {self.overlap:.2f} shared {self.shared_groups:5.2f} searches {self.searches:.2f}"
        )


def shape_of(pools: Iterable[Pool]) -> PoolShape:
    """The shape of labelled pools."""
    pools = list(pools)
    statistics = graph_statistics(pools, RECIPES["webqa"])
    sharing = statistics.sharing[IDENTICAL_CONTENT]
    outcomes = [_outcome(pool) for pool in pools]
    return PoolShape(
        len(pools),
        *(mean(column) for column in zip(*outcomes, strict=True)),
        overlap=sharing.overlap_mean or 0.0,
        shared_groups=sharing.groups_mean,
        searches=mean(len(rollout.searches) for pool in pools for rollout in pool.rollouts),
    )


def _outcome(pool: Pool) -> tuple[float, float, float, int, int]:
    """Single, majority, oracle, retained, distinct."""
    kept = pool.retained().kept
    votes = Counter(normalize_answer(rollout.answer) for rollout in kept)
    best = max(kept, key=lambda rollout: votes[normalize_answer(rollout.answer)], default=None)
    return (
        mean(rollout.label or 0.0 for rollout in pool.rollouts),
        (best.label or 0.0) if best else 0.0,
        max((rollout.label or 0.0 for rollout in kept), default=0.0),
        len(kept),
        len(votes),
    )
