"""A batch for the ``plus`` net: the graph's tensors, where its vectors lie, and the facts of its candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tracerank.selectors.plus.facts import PlusFacts
from tracerank.trace.graphs.packed import GraphBatch
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.inputs import GraphTensors, Vectors, as_tensors


@dataclass(frozen=True, slots=True)
class PlusInputs:
    """Everything that the net looks at."""

    graph: GraphTensors
    vectors: Vectors
    features: Tensor
    """[candidates, features]; NaN: missing."""
    groups: Tensor
    """[candidates]; negative: the candidate abstains and is never preferred."""
    marks: Tensor
    """[occurrences, marks]"""
    occurrence_candidate: Tensor
    """The candidate whose rollout saw the occurrence."""
    places: Tensor
    """[candidates]: where each candidate lies in a flattened table of pools and their candidates."""
    most: int
    """Candidates of the largest pool: the width of that table."""


def plus_inputs(batch: GraphBatch, recipe: GraphRecipe, vectors: Vectors, facts: Sequence[PlusFacts]) -> PlusInputs:
    """The inputs of some graphs; marks tell occurrences apart, so none are shared."""
    offsets = batch.candidate_offsets()
    most = int(np.diff(offsets).max(initial=0))
    pool = batch.candidate_pool.astype(np.int64)
    place = pool * most + np.arange(batch.candidates) - offsets[pool]
    of_search = batch.rollout_candidate[batch.search_rollout].astype(np.int64)
    return PlusInputs(
        as_tensors(batch, recipe),
        vectors,
        torch.from_numpy(np.concatenate([each.features for each in facts])),
        torch.from_numpy(np.concatenate([each.groups for each in facts]).astype(np.int64)),
        torch.from_numpy(np.concatenate([each.marks for each in facts])),
        torch.from_numpy(of_search[batch.evidence_search]),
        torch.from_numpy(place),
        most,
    )


def by_pool(values: Tensor, inputs: PlusInputs, missing: float) -> Tensor:
    """[pools, most, …]: the candidates' values with a row per pool."""
    table = values.new_full((inputs.graph.pools * inputs.most, *values.shape[1:]), missing)
    return table.index_copy(0, inputs.places, values).view(inputs.graph.pools, inputs.most, *values.shape[1:])
