"""Whether a pool is like those that a network was trained on, by the mean vector of what its rollouts saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

from tracerank.trace.data import ExampleSet
from tracerank.trace.graph import Columns

COUNTED_POOLS = 1_000
"""Training pools that are counted: enough for a mean and for a low quantile of the cosines."""
LEAST_SHARE = 0.01
"""The quantile of the cosines of training pools below which a pool gets a warning."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A summary of the pools that a network was trained on."""

    centre: tuple[float, ...]
    """Mean direction of the evidence of a pool."""
    least: float
    """Cosine with the centre below which a pool is unlike them."""

    @classmethod
    def of(cls, examples: ExampleSet) -> Self | None:
        """The likeness of the first training examples; None if they have no evidence."""
        pools = (examples.texts(int(number), "content") for number in examples.train()[:COUNTED_POOLS])
        found = [_mean(rows, examples.table) for rows in pools if len(rows)]
        if not found:
            return None
        means = torch.stack(found)
        centre = functional.normalize(means.mean(0), dim=0)
        return cls(
            tuple(round(each, 4) for each in centre.tolist()), round(float((means @ centre).quantile(LEAST_SHARE)), 4)
        )

    def are_unlike(self, graphs: Sequence[Columns], table: Tensor) -> list[bool]:
        """Whether each graph is below the threshold; False for a graph without evidence."""
        centre = table.new_tensor(self.centre, dtype=torch.float32)
        contents = (torch.as_tensor(graph["content"]) for graph in graphs)
        return [bool(len(rows)) and float(_mean(rows, table) @ centre) < self.least for rows in contents]


def _mean(rows: Tensor, table: Tensor) -> Tensor:
    return functional.normalize(table[rows.long()].float().mean(0), dim=0)
