"""TRACE as a method: the one bridge from pools and texts to tensors and back."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from tracerank.embedding.base import AGREEMENT, Embedder, EncoderIdentity, agreement, check_vectors
from tracerank.embedding.load import load_identified
from tracerank.errors import CheckpointError, TraceRankError
from tracerank.methods.base import Decision, Selector
from tracerank.pools.pool import Pool
from tracerank.selectors.load import load_selector
from tracerank.selectors.trace.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tracerank.selectors.trace.graphs.build import PoolGraph, build_graph
from tracerank.selectors.trace.graphs.packed import collate
from tracerank.selectors.trace.inputs import Vectors, as_tensors
from tracerank.selectors.trace.net import TraceNet
from tracerank.selectors.trace.official import load_official

BLOCK_POOLS = 64
"""Pools embedded and scored together: enough for efficient products, few enough for the states to stay in cache."""


class TraceSelector(Selector):
    """Scores every retained rollout of a pool and returns the best existing answer."""

    name = "trace"

    def __init__(self, checkpoint: Checkpoint, embedder: Embedder, *, allow_encoder_mismatch: bool = False) -> None:
        check_encoder(checkpoint.encoder, embedder, allow_encoder_mismatch)
        self.checkpoint = checkpoint
        self.embedder = embedder

    @classmethod
    def load(
        cls, folder: str | Path, embedder: Embedder | None = None, *, allow_encoder_mismatch: bool = False
    ) -> Selector:
        """The selector in a checkpoint folder, or a shipped one by its name, of whatever kind it is."""
        return load_selector(folder, embedder, allow_encoder_mismatch=allow_encoder_mismatch)

    @classmethod
    def from_folder(
        cls, folder: str | Path, embedder: Embedder | None = None, *, allow_encoder_mismatch: bool = False
    ) -> "TraceSelector":
        """From a folder with a TRACE network, with the embedder that it was trained with unless another is given."""
        checkpoint = load_checkpoint(folder)
        embedder = embedder or load_identified(checkpoint.encoder)
        return cls(checkpoint, embedder, allow_encoder_mismatch=allow_encoder_mismatch)

    @classmethod
    def from_official(cls, path: str | Path, embedder: Embedder) -> "TraceSelector":
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
    def net(self) -> TraceNet:
        return self.checkpoint.net

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""
        stream = iter(pools)
        while block := list(islice(stream, BLOCK_POOLS)):
            graphs = [build_graph(pool, self.net.recipe) for pool in block]
            scores = self._score(graphs, *embedded(graphs, self.embedder))
            for pool, graph, part in zip(block, graphs, scores, strict=True):
                yield _decision(pool, graph, part)

    def _score(self, graphs: Sequence[PoolGraph], rows: dict[str, int], table: torch.Tensor) -> list[np.ndarray]:
        batch = collate([graph.packed for graph in graphs])
        if batch.candidates == 0:
            return [np.zeros(0, np.float32)] * len(graphs)
        with torch.inference_mode():
            tensors = as_tensors(batch, self.net.recipe, sharing_layers=len(self.net.layers))
            scores = self.net(tensors, look_up(graphs, rows, table)).numpy()
        if not np.isfinite(scores).all():
            raise TraceRankError("the selector produced scores that are not finite; the checkpoint is damaged")
        return np.split(scores, batch.candidate_offsets()[1:-1])


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


def embedded(graphs: Sequence[PoolGraph], embedder: Embedder) -> tuple[dict[str, int], torch.Tensor]:
    """The texts of the graphs, each once, to their rows in a table of vectors."""
    rows: dict[str, int] = {}
    for graph in graphs:
        for text in graph.texts.all():
            rows.setdefault(text, len(rows))
    texts = list(rows)
    checked = check_vectors(embedder.embed(texts), len(texts), embedder.width, embedder.name, texts)
    return rows, torch.from_numpy(checked)


def look_up(graphs: Sequence[PoolGraph], rows: dict[str, int], table: torch.Tensor) -> Vectors:
    """Where the vectors of the graphs' texts lie in the table."""

    def rows_of(texts: Iterable[str]) -> torch.Tensor:
        return torch.from_numpy(np.fromiter((rows[text] for text in texts), np.int64))

    return Vectors(
        table,
        rows_of(graph.texts.question for graph in graphs),
        rows_of(text for graph in graphs for text in graph.texts.queries),
        rows_of(text for graph in graphs for text in graph.texts.contents),
        rows_of(text for graph in graphs for text in graph.texts.answers),
    )


def _decision(pool: Pool, graph: PoolGraph, scores: np.ndarray) -> Decision:
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
