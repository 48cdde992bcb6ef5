"""What nets choose: the chance of every candidate, then the likeliest group of equal answers and its likeliest form."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tracerank.selectors.plus.inputs import PlusInputs, by_pool
from tracerank.selectors.plus.net import PlusNet

_TIE_DIGITS = 6
"""Chances that differ further behind the point are a tie, which goes to the first."""


def chances(nets: Sequence[PlusNet], inputs: PlusInputs) -> Tensor:
    """[candidates]: chances that sum to one in each pool, averaged over the nets."""
    with torch.inference_mode():
        tables = [by_pool(net(inputs), inputs, -torch.inf).softmax(-1) for net in nets]
        return torch.stack(tables).mean(0).flatten()[inputs.places]


def choose(chance: Tensor, inputs: PlusInputs) -> Tensor:
    """[pools]: the chosen candidate of each pool, all of which must have one."""
    with torch.inference_mode():
        groups = by_pool(inputs.groups, inputs, -1)
        table = by_pool(chance, inputs, 0.0)
        same = (groups.unsqueeze(1) == groups.unsqueeze(2)) & (groups >= 0).unsqueeze(1)
        of_group = (same * table.unsqueeze(1)).sum(-1)
        # Within the best group by its own chance; what abstains comes last, padding never.
        merit = of_group.mul(10**_TIE_DIGITS).round()
        is_best = merit == merit.max(-1, keepdim=True).values
        first = is_best.int().argmax(-1, keepdim=True)
        inside = (groups == groups.gather(1, first)) & (by_pool(torch.ones_like(chance), inputs, 0.0) > 0)
        rounded = table.mul(10**_TIE_DIGITS).round().masked_fill(~inside, -1.0)
        place = rounded.argmax(-1)
    begins = torch.bincount(inputs.graph.candidate_pool, minlength=inputs.graph.pools).cumsum(0)
    sizes = torch.bincount(inputs.graph.candidate_pool, minlength=inputs.graph.pools)
    return begins - sizes + place
