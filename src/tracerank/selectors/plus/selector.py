"""The ``plus`` preset of TRACE as a method: a vote with learned corrections, over forms of answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tracerank.embedding.base import Embedder
from tracerank.embedding.load import load_identified
from tracerank.errors import TraceRankError
from tracerank.methods.base import Decision, Selector
from tracerank.pools.pool import Pool
from tracerank.selectors.features.selector import NOBODY_ANSWERED
from tracerank.selectors.plus.checkpoint import PlusCheckpoint, load_plus, save_plus
from tracerank.selectors.plus.choice import chances, choose
from tracerank.selectors.plus.facts import facts_of
from tracerank.selectors.plus.inputs import plus_inputs
from tracerank.selectors.trace.graphs.build import PoolGraph, build_graph
from tracerank.selectors.trace.graphs.packed import collate
from tracerank.selectors.trace.selector import BLOCK_POOLS, check_encoder, embedded, look_up


class PlusSelector(Selector):
    """Returns the likeliest form of the likeliest answer; every answered rollout is a candidate."""

    name = "trace-plus"

    def __init__(self, checkpoint: PlusCheckpoint, embedder: Embedder, *, allow_encoder_mismatch: bool = False) -> None:
        check_encoder(checkpoint.encoder, embedder, allow_encoder_mismatch)
        self.checkpoint = checkpoint
        self.embedder = embedder

    @classmethod
    def load(
        cls, folder: str | Path, embedder: Embedder | None = None, *, allow_encoder_mismatch: bool = False
    ) -> "PlusSelector":
        """From a folder that ``save`` wrote, with the embedder that it was trained with unless another is given."""
        checkpoint = load_plus(folder)
        embedder = embedder or load_identified(checkpoint.encoder)
        return cls(checkpoint, embedder, allow_encoder_mismatch=allow_encoder_mismatch)

    def save(self, folder: str | Path) -> None:
        save_plus(self.checkpoint, folder)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""
        stream = iter(pools)
        while block := list(islice(stream, BLOCK_POOLS)):
            graphs = [build_graph(pool, self.checkpoint.recipe) for pool in block]
            scored = iter(self._score([graph for graph in graphs if graph.retained.kept]))
            for pool, graph in zip(block, graphs, strict=True):
                yield _decision(pool, graph, next(scored) if graph.retained.kept else None)

    def _score(self, graphs: Sequence[PoolGraph]) -> list["_Scored"]:
        if not graphs:
            return []
        facts = [facts_of(graph) for graph in graphs]
        batch = collate([graph.packed for graph in graphs])
        vectors = look_up(graphs, *embedded(graphs, self.embedder))
        inputs = plus_inputs(batch, self.checkpoint.recipe, vectors, facts)
        chance = chances(self.checkpoint.nets, inputs)
        if not torch.isfinite(chance).all():
            raise TraceRankError("the selector produced scores that are not finite; the checkpoint is damaged")
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
