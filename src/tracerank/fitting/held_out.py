"""A trained network on the pools that its training held out, beside the vote and what ships.

Its accuracy alone says little: 30% can be twice that of the vote, or half of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from tracerank.evaluation.labels import Labelling
from tracerank.fitting.candidates import correct
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import is_validation
from tracerank.votes.base import Method, decide_stream
from tracerank.votes.selector import EmbedderChoice
from tracerank.votes.voting import MajorityVote

NETWORK, VOTE, SHIPPED = "network", "vote", "shipped"
_WORDS = {NETWORK: "the network", VOTE: "the vote", SHIPPED: "the shipped selector"}


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Shares of right answers on the same pools, between 0 and 1; empty: nothing was held out."""

    pools: int = 0
    right: Mapping[str, float] = field(default_factory=dict)

    @property
    def sentence(self) -> str | None:
        """All of them side by side; None: nothing was held out."""
        figures = ", ".join(f"{_WORDS[name]} {100 * share:.1f}%" for name, share in self.right.items())
        return f"on the same {self.pools:,} held-out pools with right and wrong answers: {figures}" if figures else None

    @property
    def warning(self) -> str | None:
        """Why not to use the network; None: it is not below the vote."""
        if not self.right or self.right[NETWORK] >= self.right[VOTE]:
            return None
        return (
            f"the network is below the vote, {100 * self.right[NETWORK]:.1f}% against {100 * self.right[VOTE]:.1f}%: "
            "it makes answers worse; `tracerank fit` chooses between the vote and selectors on held-out questions"
        )

    def record(self) -> dict[str, Any]:
        """In plain values."""
        return {"pools": self.pools, **{name: self.right.get(name) for name in _WORDS}, "warning": self.warning}


def compare_held_out(
    folder: str | Path, embedder: EmbedderChoice, pools: Iterable[Pool], k: int, labels: Labelling
) -> HeldOut:
    """The network of a folder and its rivals on the pools, right and wrong, that training never learned from."""
    own = (pool.first(k) for pool in pools if is_validation(pool.question.text))
    held_out = [pool for pool in labels.pools(own) if _is_mixed(pool)]
    if not held_out:
        return HeldOut()
    methods: dict[str, Method] = {
        NETWORK: load_selector(folder, embedder),
        VOTE: MajorityVote(),
        SHIPPED: load_selector(),
    }
    decided = {name: decide_stream(method, held_out) for name, method in methods.items()}
    return HeldOut(len(held_out), {name: fmean(correct(*each) for each in found) for name, found in decided.items()})


def _is_mixed(pool: Pool) -> bool:
    return len({(rollout.label or 0.0) > 0.5 for rollout in pool.retained().kept}) == 2
