"""The ``plus`` preset of TRACE as a method: a vote with learned corrections, over forms of answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracerank.methods.base import Decision
from tracerank.pools.pool import Pool
from tracerank.selectors.base import EmbedderChoice
from tracerank.selectors.features.selector import NOBODY_ANSWERED
from tracerank.selectors.plus.checkpoint import KIND, PlusCheckpoint, load_plus, save_plus
from tracerank.selectors.plus.choice import chances, choose
from tracerank.selectors.plus.facts import facts_of
from tracerank.selectors.plus.inputs import plus_inputs
from tracerank.selectors.trace.bridge import NetworkSelector, check_scores, embedded
from tracerank.selectors.trace.graphs.build import PoolGraph
from tracerank.selectors.trace.graphs.packed import collate


class PlusSelector(NetworkSelector[PlusCheckpoint]):
    """Returns the likeliest form of the likeliest answer; every answered rollout is a candidate."""

    kind = KIND
    name = KIND

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "PlusSelector":
        """From a folder that ``save`` wrote, with the encoder that it was trained with unless another is given."""
        return cls.from_checkpoint(load_plus(folder), embedder, allow_encoder_mismatch=allow_encoder_mismatch)

    def save(self, folder: str | Path) -> None:
        save_plus(self.checkpoint, folder)

    def _decided(self, pools: Sequence[Pool], graphs: Sequence[PoolGraph]) -> Iterator[Decision]:
        scored = iter(self._scored([graph for graph in graphs if graph.retained.kept]))
        for pool, graph in zip(pools, graphs, strict=True):
            yield _decision(pool, graph, next(scored) if graph.retained.kept else None)

    def _scored(self, graphs: Sequence[PoolGraph]) -> list["_Scored"]:
        if not graphs:
            return []
        facts = [facts_of(graph) for graph in graphs]
        batch = collate([graph.packed for graph in graphs])
        inputs = plus_inputs(batch, self.checkpoint.recipe, embedded(graphs, self.embedder), facts)
        chance = chances(self.checkpoint.nets, inputs)
        check_scores(chance)
        offsets = batch.candidate_offsets()
        winners = choose(chance, inputs).numpy() - offsets[:-1]
        parts = np.split(chance.numpy(), offsets[1:-1])
        return [_Scored(*each) for each in zip(parts, (own.groups for own in facts), winners.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class _Scored:
    """What the nets say about one pool's candidates."""

    chances: NDArray[np.float32]
    groups: NDArray[np.int32]
    winner: int


def _decision(pool: Pool, graph: PoolGraph, scored: _Scored | None) -> Decision:
    kept, dropped = graph.retained.kept, graph.retained.dropped
    if scored is None:
        return Decision(pool.question.id, None, None, dropped=dropped)
    candidate = dict(zip((rollout.sample_id for rollout in kept), graph.rollout_candidate(), strict=True))
    scores = {sample: float(scored.chances[place]) for sample, place in candidate.items()}
    group = scored.groups[scored.winner]
    if group < 0:
        first = kept[0]
        alone = (first.sample_id,)
        return Decision(pool.question.id, first.answer, first.sample_id, scores, dropped, alone, note=NOBODY_ANSWERED)
    winner = next(rollout for rollout in kept if candidate[rollout.sample_id] == scored.winner)
    members = tuple(sample for sample, place in candidate.items() if scored.groups[place] == group)
    return Decision(pool.question.id, winner.answer, winner.sample_id, scores, dropped, members)
