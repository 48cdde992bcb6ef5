"""Rows sorted into consecutive segments: the one index structure behind groups, cells, slots and documents."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.selectors.trace.graphs.packed import Longs

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Segments:
    """Rows sorted into consecutive segments."""

    rows: Longs
    offsets: Longs
    """Where each segment begins in ``rows``."""
    segment: Longs
    """The segment of each entry of ``rows``."""
    weight: Floats | None = None
    """How much each entry counts; None: one each."""

    @property
    def count(self) -> int:
        return len(self.offsets)

    def lengths(self) -> Longs:
        """How many entries each segment has."""
        return np.diff(np.append(self.offsets, len(self.rows)))

    def weights(self) -> Floats:
        """How much each segment's entries count together."""
        if self.weight is None:
            return self.lengths().astype(np.float32)
        return np.add.reduceat(self.weight, self.offsets) if self.count else self.weight


def segments_of(rows: Longs, keys: NDArray[np.integer], weight: Floats | None = None) -> Segments:
    """Segments of equal consecutive keys; ``keys`` belong to ``rows`` and are already sorted together."""
    if len(rows) == 0:
        return Segments(rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    lengths = np.diff(np.append(begins, len(rows)))
    return Segments(rows, begins, np.repeat(np.arange(len(begins)), lengths), weight)
