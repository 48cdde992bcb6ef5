"""The bridge from pools and texts to tensors, for every selector that is a network over frozen vectors."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
import torch

from tracerank.embedding.base import AGREEMENT, Embedder, EncoderIdentity, agreement, check_stored
from tracerank.embedding.load import embedder_for
from tracerank.errors import CheckpointError
from tracerank.pools.pool import Pool
from tracerank.trace.graphs.build import PoolGraph, build_graph
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.inputs import Vectors
from tracerank.votes.base import Decision
from tracerank.votes.selector import EmbedderChoice, Selector

BLOCK_POOLS = 64
"""Pools embedded and scored together: enough for efficient products, few enough for the states to stay in cache."""
BLOCK_TEXTS = 768
"""Texts after which a block is full: pools of browsing rollouts have a hundred each, with a vector for every one."""


class NetworkCheckpoint(Protocol):
    """Trained weights that know how graphs are built for them and whose vectors they read."""

    @property
    def encoder(self) -> EncoderIdentity: ...

    @property
    def recipe(self) -> GraphRecipe: ...


C = TypeVar("C", bound=NetworkCheckpoint)


class NetworkSelector(Selector, Generic[C]):
    """A selector whose checkpoint scores graphs with the vectors of one encoder."""

    def __init__(self, checkpoint: C, embedder: Embedder, *, allow_encoder_mismatch: bool = False) -> None:
        check_encoder(checkpoint.encoder, embedder, allow_encoder_mismatch)
        self.checkpoint = checkpoint
        self.embedder = embedder

    @property
    def encoder(self) -> EncoderIdentity:
        return self.checkpoint.encoder

    @classmethod
    def from_checkpoint(
        cls, checkpoint: C, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> Self:
        """With the encoder that the weights were trained with, unless another is given or named."""
        found = embedder_for(checkpoint.encoder, embedder)
        return cls(checkpoint, found, allow_encoder_mismatch=allow_encoder_mismatch)

    @abstractmethod
    def save(self, folder: str | Path) -> None: ...

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""
        for block, graphs in self._blocks(pools):
            yield from self._decided(block, graphs)
            block.clear()  # the next block is read and built without this one
            graphs.clear()

    @abstractmethod
    def _decided(self, pools: Sequence[Pool], graphs: Sequence[PoolGraph]) -> Iterator[Decision]:
        """Decisions for a block of pools, given their graphs."""

    def _blocks(self, pools: Iterable[Pool]) -> Iterator[tuple[list[Pool], list[PoolGraph]]]:
        block: list[Pool] = []
        graphs: list[PoolGraph] = []
        texts = 0
        for pool in pools:
            graph = build_graph(pool, self.checkpoint.recipe)
            block.append(pool)
            graphs.append(graph)
            texts += graph.texts.count
            if len(block) == BLOCK_POOLS or texts >= BLOCK_TEXTS:
                yield block, graphs
                block, graphs, texts = [], [], 0
        if block:
            yield block, graphs


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
    """The texts of the graphs, each embedded once, and where their vectors lie."""
    rows: dict[str, int] = {}
    for graph in graphs:
        for text in graph.texts.all():
            rows.setdefault(text, len(rows))
    texts = list(rows)
    # What a cache keeps in half precision is cast where it is encoded, block by block.
    embed = getattr(embedder, "embed_stored", embedder.embed)
    checked = check_stored(embed(texts), len(texts), embedder.width, embedder.name, texts)
    return look_up(graphs, rows, torch.from_numpy(checked))


def look_up(graphs: Sequence[PoolGraph], rows: Mapping[str, int], table: torch.Tensor) -> Vectors:
    """Where the vectors of the graphs' texts lie in a table, given each text's row in it."""

    def rows_of(texts: Iterable[str]) -> torch.Tensor:
        return torch.from_numpy(np.fromiter((rows[text] for text in texts), np.int64))

    return Vectors(
        table,
        rows_of(graph.texts.question for graph in graphs),
        rows_of(text for graph in graphs for text in graph.texts.queries),
        rows_of(text for graph in graphs for text in graph.texts.contents),
        rows_of(text for graph in graphs for text in graph.texts.answers),
    )
