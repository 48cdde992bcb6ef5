"""``plus`` nets without texts as torch computes them: what the arrays are compared with. Holds no assertions."""

from collections.abc import Sequence

import numpy as np
import torch

from tracerank.selectors.plus.checkpoint import PlusCheckpoint
from tracerank.selectors.plus.description import PlusConfig
from tracerank.selectors.plus.facts import PlusFacts, facts_of
from tracerank.selectors.plus.inputs import plus_inputs
from tracerank.selectors.plus.net import PlusNet, chances
from tracerank.trace.graphs.build import PoolGraph
from tracerank.trace.graphs.packed import collate
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.inputs import Vectors

MOVED = 0.3
"""How far every weight is moved at random, so that none hides a mistake by being zero."""


def drawn_checkpoint(config: PlusConfig, recipe: GraphRecipe, nets: int, seed: int = 0) -> PlusCheckpoint:
    """Nets whose every weight was drawn at random."""
    torch.manual_seed(seed)
    made = tuple(PlusNet(config, recipe).eval() for _ in range(nets))
    with torch.no_grad():
        for net in made:
            for parameter in net.parameters():
                parameter += MOVED * torch.randn_like(parameter)
            net.centre += MOVED * torch.rand_like(net.centre)
            net.scale += torch.rand_like(net.scale)
    return PlusCheckpoint(made, None)


def torch_chances(
    checkpoint: PlusCheckpoint, graphs: Sequence[PoolGraph], facts: Sequence[PlusFacts] | None = None
) -> np.ndarray:
    """Chances of all candidates of the graphs, in order."""
    batch = collate([graph.packed for graph in graphs])
    rows = [
        torch.zeros(count, dtype=torch.long) for count in (batch.pools, batch.queries, batch.contents, batch.answers)
    ]
    facts = [facts_of(graph) for graph in graphs] if facts is None else facts
    inputs = plus_inputs(batch, checkpoint.recipe, Vectors(torch.zeros(1, 1), *rows), facts)
    return chances(checkpoint.nets, inputs).numpy()
