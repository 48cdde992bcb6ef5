"""What nets are to a selector, and what is chosen by their chances: the likeliest group, and its likeliest form."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import EncoderIdentity
from tracerank.selectors.plus.facts import PlusFacts
from tracerank.trace.graphs.build import PoolGraph
from tracerank.trace.graphs.schema import GraphRecipe

ABSTAINS = -1e4
"""Score of a candidate that abstains."""
_TIE_DIGITS = 6
"""Chances that differ further behind the point are a tie, which goes to the first."""


class PlusNets(Protocol):
    """Trained nets, in whatever arithmetic."""

    @property
    def recipe(self) -> GraphRecipe:
        """How the graphs are built that they look at."""
        ...

    @property
    def encoder(self) -> EncoderIdentity | None:
        """Whose vectors they read; None: none."""
        ...

    def chances(self, graphs: Sequence[PoolGraph], facts: Sequence[PlusFacts]) -> NDArray[np.float32]:
        """Of all candidates of the graphs, each of which has some, in order; they sum to one in each pool."""
        ...

    def save(self, folder: str | Path) -> None: ...


def choose(chance: NDArray[np.float32], groups: NDArray[np.integer], offsets: NDArray[np.integer]) -> NDArray[np.int64]:
    """[pools]: the chosen candidate of each pool, numbered through; ``offsets`` say where pools begin, and the end."""
    spans = pairwise(offsets.tolist())
    return np.array([begin + _chosen(chance[begin:end], groups[begin:end]) for begin, end in spans], np.int64)


def _chosen(chance: NDArray[np.float32], groups: NDArray[np.integer]) -> int:
    """The likeliest of the likeliest group; what abstains comes last."""
    of_group = np.bincount(groups + 1, chance)
    of_group[0] = 0.0
    first = int(_rounded(of_group[groups + 1]).argmax())
    return int(np.where(groups == groups[first], _rounded(chance), -1.0).argmax())


def _rounded(chance: NDArray[np.floating]) -> NDArray[np.floating]:
    rounded: NDArray[np.floating] = np.rint(chance * 10**_TIE_DIGITS)
    return rounded
