"""TRACE as a method: scores every retained rollout of a pool and returns the best existing answer."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from tracerank.embedding.base import AGREEMENT, Embedder, EncoderIdentity, agreement, check_vectors
from tracerank.embedding.load import embedder_for
from tracerank.errors import CheckpointError
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.batch import collate
from tracerank.trace.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tracerank.trace.graph import Columns, PoolGraph, build_graph
from tracerank.trace.net import TraceNet
from tracerank.trace.official import load_official
from tracerank.votes.base import UNLIKE, Decision, with_note
from tracerank.votes.explanation import Explanation, ReadWeights, explain
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

    def __init__(self, checkpoint: Checkpoint, embedder: Embedder) -> None:
        check_encoder(checkpoint.encoder, embedder)
        self.checkpoint = checkpoint
        self.embedder = embedder

    @classmethod
    def load(cls, folder: str | Path, embedder: EmbedderChoice = None) -> Self:
        """From a folder with a TRACE network, with the encoder that it was trained with unless another is given."""
        if (kind := selector_kind(folder)) != cls.kind:
            raise CheckpointError(f"{folder}: holds a selector of kind {kind!r}, not a TRACE network")
        checkpoint = load_checkpoint(folder_of(folder))
        found = embedder_for(checkpoint.encoder, embedder)
        return cls(checkpoint, found)

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
        for block in self._blocks(pools):
            yield from self._decided(block, *embedded([graph for _, graph in block], self.embedder))
            block.clear()  # the next block is read and built without this one

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision and how the attention of every answer was spread, in order."""
        for block in self._blocks(pools):
            columns, table = embedded([graph for _, graph in block], self.embedder)
            decisions = self._decided(block, columns, table)
            for (pool, graph), decision, own in zip(block, decisions, columns, strict=True):
                kept = link_documents(graph.retained.kept, self.net.recipe.document_rules)
                yield pool, explain(kept, decision, read_weights(self.net, graph, own, table))

    def _blocks(self, pools: Iterable[Pool]) -> Iterator[list[tuple[Pool, PoolGraph]]]:
        block: list[tuple[Pool, PoolGraph]] = []
        texts = 0
        for pool in pools:
            graph = build_graph(pool, self.net.recipe)
            block.append((pool, graph))
            texts += sum(map(len, graph.texts.values()))
            if len(block) == BLOCK_POOLS or texts >= BLOCK_TEXTS:
                yield block
                block, texts = [], 0
        if block:
            yield block

    def _decided(
        self, block: Sequence[tuple[Pool, PoolGraph]], columns: Sequence[Columns], table: Tensor
    ) -> Iterator[Decision]:
        batch = collate(columns, self.net.recipe)
        with torch.inference_mode():
            scores = self.net(batch, table)
        check_finite(scores.tolist())
        likeness, setting = self.checkpoint.likeness, BROWSING if self.net.recipe.slot_by == "tool" else WEBQA
        unlike = [False] * len(block) if likeness is None else likeness.are_unlike(columns, table)
        for (pool, graph), own, is_unlike in zip(block, scores.split(batch.candidates), unlike, strict=True):
            is_unlike |= likeness is not None and pool.setting != setting
            decision = with_note(_decision(pool, graph, own.tolist()), UNLIKE if is_unlike else None)
            yield self.calibrated(pool, decision)


def check_encoder(wanted: EncoderIdentity, embedder: Embedder) -> None:
    """Refuse an embedder whose vectors are not those that the net was trained on."""
    both = (
        f"the checkpoint was trained on vectors of {wanted.name!r} ({wanted.width} wide), but the embedder is "
        f"{embedder.name!r} ({embedder.width} wide)"
    )
    if embedder.width != wanted.width or not (wanted.reference_vectors or embedder.name == wanted.name):
        raise CheckpointError(f"{both}; use the same encoder or train again")
    if wanted.reference_vectors and (found := agreement(wanted, embedder)) < AGREEMENT:
        raise CheckpointError(
            f"{both}, and their vectors disagree: cosine {found:.3f} on the reference texts, {AGREEMENT} is needed; "
            "use the same encoder or train again"
        )


def embedded(graphs: Sequence[PoolGraph], embedder: Embedder) -> tuple[list[Columns], Tensor]:
    """The graphs' columns, and the table of vectors that they point to, with each text embedded once."""
    texts = list(dict.fromkeys(text for graph in graphs for text in graph.all_texts()))
    checked = check_vectors(embedder.embed(texts), len(texts), embedder.width, embedder.name, texts)
    rows = {text: row for row, text in enumerate(texts)}
    return [graph.located(rows) for graph in graphs], torch.from_numpy(checked)


def read_weights(net: TraceNet, graph: PoolGraph, columns: Columns, table: Tensor) -> dict[int, ReadWeights] | None:
    """How the attention of each rollout's answer is spread, by sample id; None if the net reads without attention.

    Weights show where an answer looked, not what would have changed its score.
    """
    with torch.inference_mode():
        weights = net.attention_weights(collate([columns], net.recipe), table)
    if weights is None:
        return None
    read = weights.numpy()
    of_search = columns["rollout_candidate"][columns["search_rollout"]]
    of_evidence = of_search[columns["evidence_search"]]
    searches, occurrences = len(of_search), len(of_evidence)
    node = searches + (columns["evidence_content"] if net.recipe.merge_evidence else np.arange(occurrences))
    # Merged evidence gives its weight to its occurrences in equal parts.
    times = np.zeros_like(read)
    np.add.at(times, (of_evidence, node), 1)
    on_searches = iter(read[of_search, np.arange(searches)].tolist())
    on_evidence = iter((read[of_evidence, node] / times[of_evidence, node]).tolist())
    found = {}
    for rollout in graph.retained.kept:
        is_node = [bool(search.evidence) or net.recipe.keeps_bare_searches for search in rollout.searches]
        found[rollout.sample_id] = ReadWeights(
            tuple(next(on_searches) if here else None for here in is_node),
            tuple(tuple(islice(on_evidence, len(search.evidence))) for search in rollout.searches),
        )
    return found


def _decision(pool: Pool, graph: PoolGraph, scores: Sequence[float]) -> Decision:
    kept, dropped = graph.retained.kept, graph.retained.dropped
    if not kept:
        return Decision(pool.question.id, None, None, dropped=dropped)
    candidates = graph.columns["rollout_candidate"].tolist()
    by_sample = {each.sample_id: scores[candidate] for each, candidate in zip(kept, candidates, strict=True)}
    # max() keeps the first of equals: ties go to the earliest rollout.
    winner = max(kept, key=lambda rollout: by_sample[rollout.sample_id])
    return Decision(pool.question.id, winner.answer, winner.sample_id, by_sample, dropped)
