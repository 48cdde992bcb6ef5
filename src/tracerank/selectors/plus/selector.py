"""The ``plus`` preset of TRACE as a method: a vote with learned corrections, over forms of answers.

Nets that read no vectors of texts are computed here without torch and need no encoder; the others bring both.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.extras import needed
from tracerank.pools.pool import Pool
from tracerank.selectors.features.selector import NOBODY_ANSWERED
from tracerank.selectors.plus.array_net import load_numpy_nets
from tracerank.selectors.plus.choice import PlusNets, choose
from tracerank.selectors.plus.description import KIND, read_about
from tracerank.selectors.plus.facts import facts_of
from tracerank.trace.graphs.build import PoolGraph, build_graph
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.base import Decision
from tracerank.votes.selector import EmbedderChoice, Selector, check_finite

BLOCK_POOLS = 64
"""Pools scored together."""


class PlusSelector(Selector):
    """Returns the likeliest form of the likeliest answer; every answered rollout is a candidate."""

    kind = KIND
    name = KIND
    grouping = DefaultGroups()

    def __init__(self, nets: PlusNets) -> None:
        self.nets = nets

    @property
    def encoder(self) -> EncoderIdentity | None:
        return self.nets.encoder

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "PlusSelector":
        """From a folder that ``save`` wrote, with the encoder that it was trained with unless another is given.

        Where the nets read no texts, no encoder is looked at.
        """
        if read_about(folder).encoder is None:
            return cls(load_numpy_nets(folder))
        with needed(f"{folder}: a selector of kind {KIND} that reads texts needs", "embed", CheckpointError):
            from tracerank.selectors.plus.checkpoint import load_plus, nets_of
        return cls(nets_of(load_plus(folder), embedder, allow_encoder_mismatch=allow_encoder_mismatch))

    def save(self, folder: str | Path) -> None:
        self.nets.save(folder)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""
        stream = iter(pools)
        while block := list(islice(stream, BLOCK_POOLS)):
            graphs = [build_graph(pool, self.nets.recipe) for pool in block]
            scored = iter(self._scored([graph for graph in graphs if graph.retained.kept]))
            for pool, graph in zip(block, graphs, strict=True):
                yield self.sure(pool, _decision(pool, graph, next(scored) if graph.retained.kept else None))

    def _scored(self, graphs: Sequence[PoolGraph]) -> list["_Scored"]:
        if not graphs:
            return []
        facts = [facts_of(graph) for graph in graphs]
        chance = self.nets.chances(graphs, facts)
        check_finite(chance.tolist())
        offsets = np.cumsum([0, *(len(own.groups) for own in facts)])
        winners = choose(chance, np.concatenate([own.groups for own in facts]), offsets) - offsets[:-1]
        parts = np.split(chance, offsets[1:-1])
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
