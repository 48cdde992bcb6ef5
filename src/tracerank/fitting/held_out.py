"""A trained network on the pools that its training held out, beside the vote, what ships and the oracle.

Its accuracy alone says little: 30% can be twice that of the vote, or half of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracerank.evaluation.evaluate import ORACLE, evaluate
from tracerank.evaluation.labels import Labelling
from tracerank.evaluation.scores import fold
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation
from tracerank.pools.types import Rollout
from tracerank.votes.explanation import Called
from tracerank.votes.selector import EmbedderChoice
from tracerank.votes.voting import MajorityVote

NETWORK, SHIPPED, VOTE = "network", "shipped selector", "majority"


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Shares of right answers on the same pools, between 0 and 1; None: nothing was held out."""

    pools: int = 0
    network: float | None = None
    vote: float | None = None
    shipped: float | None = None
    oracle: float | None = None

    @property
    def sentence(self) -> str | None:
        """All of them side by side; None: nothing was held out."""
        if self.network is None:
            return None
        figures_of = {"the network": self.network, "the vote": self.vote, "the shipped selector": self.shipped}
        figures = ", ".join(f"{name} {100 * (value or 0):.1f}%" for name, value in figures_of.items())
        return (
            f"on the same {self.pools:,} held-out pools with right and wrong answers: {figures}, the oracle "
            f"{100 * (self.oracle or 0):.1f}%"
        )

    @property
    def warning(self) -> str | None:
        """Why not to use the network; None: it is not below the vote."""
        if self.network is None or self.vote is None or self.network >= self.vote:
            return None
        return (
            f"the network is below the vote, {100 * self.network:.1f}% against {100 * self.vote:.1f}%: it makes "
            "answers worse; `tracerank fit` chooses between the vote and selectors on held-out questions"
        )

    def record(self) -> dict[str, Any]:
        """In plain values."""
        return {**asdict(self), "warning": self.warning}


def compare_held_out(
    folder: str | Path, embedder: EmbedderChoice, pools: Iterable[Pool], k: int | None, labels: Labelling
) -> HeldOut:
    """The network of a folder and its rivals on the mixed pools that training never learned from."""
    held_out = list(_mixed(pools, k, labels))
    if not held_out:
        return HeldOut()
    network = Called(load_selector(folder, embedder), NETWORK)
    shipped = Called(load_selector(), SHIPPED)
    largest = max(map(len, held_out))
    rows = fold(evaluate([MajorityVote(), shipped, network], held_out, [largest]))
    found = {row.method: row.accuracy for row in rows}
    return HeldOut(len(held_out), found[NETWORK], found[VOTE], found[SHIPPED], found[ORACLE])


def _mixed(pools: Iterable[Pool], k: int | None, labels: Labelling) -> Iterator[Pool]:
    own = (pool if k is None else pool.first(k) for pool in pools if is_validation(pool.question.text))
    for pool in labels.pools(own):
        if len(set(map(_is_right, pool.retained().kept))) == 2:
            yield pool


def _is_right(rollout: Rollout) -> bool:
    return (rollout.label or 0.0) > 0.5
