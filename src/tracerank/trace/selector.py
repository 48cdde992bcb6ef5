"""TRACE as a method: scores every retained rollout of a pool and returns the best existing answer."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from tracerank.embedding.base import Embedder, EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.trace.bridge import NetworkSelector, embedded
from tracerank.trace.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tracerank.trace.explain import read_weights
from tracerank.trace.graphs.build import PoolGraph
from tracerank.trace.graphs.packed import collate
from tracerank.trace.inputs import Vectors, as_tensors
from tracerank.trace.net import TraceNet
from tracerank.trace.official import load_official
from tracerank.votes.base import Decision
from tracerank.votes.explanation import Explanation, explain
from tracerank.votes.folders import folder_of, selector_kind
from tracerank.votes.selector import EmbedderChoice, Selector, check_finite


class TraceSelector(NetworkSelector[Checkpoint]):
    """Scores every retained rollout of a pool and returns the best existing answer."""

    kind = "trace"
    name = "trace"

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> Selector:
        """From a folder with a TRACE network, with the encoder that it was trained with unless another is given."""
        if (kind := selector_kind(folder)) != cls.kind:
            raise CheckpointError(f"{folder}: holds a selector of kind {kind!r}, not a TRACE network")
        checkpoint = load_checkpoint(folder_of(folder))
        return cls.from_checkpoint(checkpoint, embedder, allow_encoder_mismatch=allow_encoder_mismatch)

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

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision and how the attention of every answer was spread, in order."""
        for block, graphs in self._blocks(pools):
            vectors = embedded(graphs, self.embedder)
            scores = self._scores(graphs, vectors)
            weights = read_weights(self.net, graphs, vectors)
            for pool, graph, part, read in zip(block, graphs, scores, weights, strict=True):
                kept = link_documents(graph.retained.kept, self.net.recipe.document_rules)
                yield pool, explain(kept, self.calibrated(pool, _decision(pool, graph, part)), read)

    def _decided(self, pools: Sequence[Pool], graphs: Sequence[PoolGraph]) -> Iterator[Decision]:
        return map(
            self.calibrated, pools, map(_decision, pools, graphs, self._scores(graphs, embedded(graphs, self.embedder)))
        )

    def _scores(self, graphs: Sequence[PoolGraph], vectors: Vectors) -> list[np.ndarray]:
        batch = collate([graph.packed for graph in graphs])
        if batch.candidates == 0:
            return [np.zeros(0, np.float32)] * len(graphs)
        with torch.inference_mode():
            tensors = as_tensors(batch, self.net.recipe, sharing_layers=len(self.net.layers))
            scores = self.net(tensors, vectors)
        check_finite(scores.tolist())
        return np.split(scores.numpy(), batch.candidate_offsets()[1:-1])


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
