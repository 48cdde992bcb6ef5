"""Trained vector to state: the type-specific encoders of Eq. 3 and App. A.4."""

import torch
from torch import Tensor, nn
from torch.nn import functional

LOOKUP_ROWS = 256
"""Vectors are looked up and cast to single precision in blocks of this many rows, which stay in cache."""


class TypeEncoder(nn.Module):
    """GELU(LN(W x + b)) for one text-bearing node type."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, table: Tensor, rows: Tensor) -> Tensor:
        """States [n, hidden] of n rows of a table of any float type."""
        if torch.is_grad_enabled():
            projected = self.project(table.index_select(0, rows).float())
        else:
            projected = torch.empty(len(rows), self.project.out_features)
            weight = self.project.weight.t()
            for begin in range(0, len(rows), LOOKUP_ROWS):
                block = table.index_select(0, rows[begin : begin + LOOKUP_ROWS]).float()
                torch.addmm(self.project.bias, block, weight, out=projected[begin : begin + LOOKUP_ROWS])
        return functional.gelu(self.norm(projected))

    def of_zero(self) -> Tensor:
        """[1, hidden]: the state of a node whose input vector is zero."""
        return functional.gelu(self.norm(self.project.bias)).unsqueeze(0)
