"""TRACE as a method: scores every retained rollout of a pool and returns the best existing answer."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch

from tracerank.embedding.base import AGREEMENT, Embedder, EncoderIdentity, agreement, check_stored
from tracerank.embedding.load import embedder_for
from tracerank.errors import CheckpointError
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.trace.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tracerank.trace.explain import read_weights
from tracerank.trace.graph import Floats, PoolGraph, build_graph, collate
from tracerank.trace.inputs import Vectors, as_tensors, look_up
from tracerank.trace.net import TraceNet
from tracerank.trace.official import load_official
from tracerank.votes.base import Decision
from tracerank.votes.explanation import Explanation, explain
from tracerank.votes.folders import folder_of, selector_kind
from tracerank.votes.selector import EmbedderChoice, Selector, check_finite

BLOCK_POOLS = 64
"""Pools embedded and scored together: enough for efficient products, few enough for the states to stay in cache."""
BLOCK_TEXTS = 768
"""Texts after which a block is full: pools of browsing rollouts have a hundred each, with a vector for every one."""


class TraceSelector(Selector):
    """Scores every retained rollout of a pool and returns the best existing answer."""

    kind = "trace"
    name = "trace"

    def __init__(self, checkpoint: Checkpoint, embedder: Embedder, *, allow_encoder_mismatch: bool = False) -> None:
        check_encoder(checkpoint.encoder, embedder, allow_encoder_mismatch)
        self.checkpoint = checkpoint
        self.embedder = embedder

    @classmethod
    def load(cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False) -> Self:
        """From a folder with a TRACE network, with the encoder that it was trained with unless another is given."""
        if (kind := selector_kind(folder)) != cls.kind:
            raise CheckpointError(f"{folder}: holds a selector of kind {kind!r}, not a TRACE network")
        checkpoint = load_checkpoint(folder_of(folder))
        found = embedder_for(checkpoint.encoder, embedder)
        return cls(checkpoint, found, allow_encoder_mismatch=allow_encoder_mismatch)

    @classmethod
    def from_official(cls, path: str | Path, embedder: Embedder) -> Self:
        """From the official release's ``best.pt``, with the recipe that reproduces its behaviour."""
        net = load_official(path)
        if embedder.width != net.config.width:
            raise CheckpointError(
                f"{path}: made for vectors {net.config.width} wide, but {embedder.name!r} gives {embedder.width}"
            )
        return cls(Checkpoint(net, EncoderIdentity(embedder.name, embedder.width)), embedder)

    def save(self, folder: str | Path) -> None:
        save_checkpoint(self.checkpoint, folder)

    @property
    def encoder(self) -> EncoderIdentity:
        return self.checkpoint.encoder

    @property
    def net(self) -> TraceNet:
        return self.checkpoint.net

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""
        for block, graphs in self._blocks(pools):
            scores = self._scores(graphs, embedded(graphs, self.embedder))
            yield from map(self.calibrated, block, map(_decision, block, graphs, scores))
            block.clear()  # the next block is read and built without this one
            graphs.clear()

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision and how the attention of every answer was spread, in order."""
        for block, graphs in self._blocks(pools):
            vectors = embedded(graphs, self.embedder)
            scores, weights = self._scores(graphs, vectors), read_weights(self.net, graphs, vectors)
            for pool, graph, own, read in zip(block, graphs, scores, weights, strict=True):
                kept = link_documents(graph.retained.kept, self.net.recipe.document_rules)
                yield pool, explain(kept, self.calibrated(pool, _decision(pool, graph, own)), read)

    def _blocks(self, pools: Iterable[Pool]) -> Iterator[tuple[list[Pool], list[PoolGraph]]]:
        block: list[Pool] = []
        graphs: list[PoolGraph] = []
        texts = 0
        for pool in pools:
            graph = build_graph(pool, self.net.recipe)
            block.append(pool)
            graphs.append(graph)
            texts += graph.texts.count
            if len(block) == BLOCK_POOLS or texts >= BLOCK_TEXTS:
                yield block, graphs
                block, graphs, texts = [], [], 0
        if block:
            yield block, graphs

    def _scores(self, graphs: Sequence[PoolGraph], vectors: Vectors) -> list[Floats]:
        batch = collate([graph.packed for graph in graphs])
        if batch.candidates == 0:
            return [np.zeros(0, np.float32)] * len(graphs)
        with torch.inference_mode():
            scores = self.net(as_tensors(batch, self.net.recipe), vectors)
        check_finite(scores.tolist())
        return np.split(scores.numpy(), batch.candidate_offsets()[1:-1])


def check_encoder(wanted: EncoderIdentity, embedder: Embedder, allow_mismatch: bool) -> None:
    """Refuse an embedder whose vectors are not those that the net was trained on."""
    both = (
        f"the checkpoint was trained on vectors of {wanted.name!r} ({wanted.width} wide), but the embedder is "
        f"{embedder.name!r} ({embedder.width} wide)"
    )
    if embedder.width != wanted.width:
        raise CheckpointError(f"{both}; use the same encoder or train again")
    if allow_mismatch:
        return
    if not wanted.reference_vectors:
        if embedder.name != wanted.name:
            raise CheckpointError(f"{both}; use the same encoder or train again")
        return
    found = agreement(wanted, embedder)
    if found < AGREEMENT:
        raise CheckpointError(
            f"{both}, and their vectors disagree: cosine {found:.3f} on the reference texts, {AGREEMENT} is needed; "
            "use the same encoder, train again, or override with allow_encoder_mismatch (--allow-encoder-mismatch)"
        )


def embedded(graphs: Sequence[PoolGraph], embedder: Embedder) -> Vectors:
    """The vectors of the graphs' texts, each text embedded once."""
    texts = list(dict.fromkeys(text for graph in graphs for text in graph.texts.all()))
    # Vectors that a cache keeps in half precision are widened where they are encoded, some at a time.
    embed = getattr(embedder, "embed_stored", embedder.embed)
    checked = check_stored(embed(texts), len(texts), embedder.width, embedder.name, texts)
    return look_up(graphs, {text: row for row, text in enumerate(texts)}, torch.from_numpy(checked))


def _decision(pool: Pool, graph: PoolGraph, scores: Floats) -> Decision:
    kept = graph.retained.kept
    if not kept:
        return Decision(pool.question.id, None, None, dropped=graph.retained.dropped)
    by_sample = {
        rollout.sample_id: float(scores[candidate])
        for rollout, candidate in zip(kept, graph.rollout_candidate(), strict=True)
    }
    # max() keeps the first of equals: ties go to the earliest rollout.
    winner = max(kept, key=lambda rollout: by_sample[rollout.sample_id])
    return Decision(pool.question.id, winner.answer, winner.sample_id, by_sample, graph.retained.dropped)
