"""What frozen vectors tell about candidates and evidence without a learned encoder: angles, and where answers stand."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tracerank.selectors.plus.facts import MARKS
from tracerank.selectors.plus.inputs import PlusInputs

COSINES = 5
"""Angles that a candidate has."""
_COSINE_SCALE = 5.0
"""Differences of cosines within a pool are some tenths; features have a deviation of one."""


@dataclass(frozen=True, slots=True)
class Cosines:
    """Angles between frozen vectors."""

    of_candidates: Tensor
    """[candidates, COSINES]: as far as a candidate differs from its pool's mean."""
    of_occurrences: Tensor
    """[occurrences, 2]: with the question, and with the answer of the own rollout."""


@torch.no_grad()
def cosines_of(inputs: PlusInputs) -> Cosines:
    """Best and mean angles of own evidence with question and answer, and between these two."""
    vectors, graph = inputs.vectors, inputs.graph
    candidate, pool = inputs.occurrence_candidate, graph.candidate_pool
    parts = (vectors.questions, vectors.answers, vectors.contents)
    questions, answers, contents = (_unit(vectors.table, rows) for rows in parts)
    answers = answers[graph.candidate_answer]
    # A content belongs to one pool, so its cosine with the question is needed once.
    content_pool = pool.new_zeros(len(contents)).index_copy(0, graph.evidence_content, pool[candidate])
    asked = (contents * questions[content_pool]).sum(-1)[graph.evidence_content]
    given = (contents[graph.evidence_content] * answers[candidate]).sum(-1)
    best = [_largest(values, candidate, len(answers)) for values in (asked, given, asked + given)]
    mean = _mean(asked, candidate, len(answers))
    of_candidates = torch.stack((*best, mean, (answers * questions[pool]).sum(-1)), -1)
    return Cosines(_COSINE_SCALE * _centred(of_candidates, inputs), torch.stack((asked, given), -1))


@torch.no_grad()
def sources_of(inputs: PlusInputs, scale: float) -> Tensor:
    """[candidates, width]: mean vector of the own texts that hold the answer, less the pool's mean of these.

    ``scale``: deviation of an element in relation to a feature's.
    """
    holds = inputs.marks[:, MARKS.index("holds_answer")] > 0
    texts = _unit(inputs.vectors.table, inputs.vectors.contents[inputs.graph.evidence_content[holds]])
    means = _mean(texts, inputs.occurrence_candidate[holds], len(inputs.groups))
    return scale * math.sqrt(texts.shape[1]) * _centred(means, inputs)


def _unit(table: Tensor, rows: Tensor) -> Tensor:
    return functional.normalize(table[rows].float(), dim=-1)


def _centred(values: Tensor, inputs: PlusInputs) -> Tensor:
    pool = inputs.graph.candidate_pool
    return values - _mean(values, pool, inputs.graph.pools)[pool]


def _largest(values: Tensor, of: Tensor, count: int) -> Tensor:
    # A candidate without evidence keeps 0, as if nothing were alike.
    return values.new_zeros(count).scatter_reduce(0, of, values, "amax", include_self=False)


def _mean(values: Tensor, of: Tensor, count: int) -> Tensor:
    sizes = torch.bincount(of, minlength=count).clamp_min(1)
    summed = values.new_zeros(count, *values.shape[1:]).index_add(0, of, values)
    return summed / (sizes if values.dim() == 1 else sizes.unsqueeze(-1))
