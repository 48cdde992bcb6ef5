"""From a raw log to decisions with all vectors in the cache, as ``tracerank select --checkpoint`` goes, on both sides.

The twin has no reader and no cache of its own: it reads by our reader and looks up vectors in our cache, as its own
functions would, and then builds, batches and scores as ``studies/speed/twin.py`` does. Its confidence is nobody's, so
ours is timed with it and without. The official figures stand beside as they were measured (docs/speed.md).
"""

import gc
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from studies.speed.measure import Paired, best_of, paired
from studies.speed.paper_pools import webqa_pools
from studies.speed.raw_logs import browsing_records, webqa_records, write_records
from studies.speed.sides import WIDTH
from studies.speed.twin import Twin, build_twin, collate_twin
from tracerank.embedding.base import EncoderIdentity, Vectors
from tracerank.embedding.cache import VectorCache
from tracerank.embedding.cached import CachedEmbedder
from tracerank.pools.pool import Pool
from tracerank.readers import iter_pools
from tracerank.trace.bridge import BLOCK_POOLS
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.graphs.build import build_graph
from tracerank.trace.net import NetConfig, TraceNet
from tracerank.trace.selector import TraceSelector
from tracerank.trace.settings import SETTINGS
from tracerank.votes.base import Decision

COUNT = {"webqa": 256, "browsing": 64}
OFFICIAL = {"webqa": 11.8, "browsing": 65.9}
"""Milliseconds a pool of commit 69f3c55, measured on 2026-11-18 beside our 9376a4e."""
OURS_THEN = {"webqa": 3.8, "browsing": 24.2}
"""Of 9376a4e in that run: what this machine needs for it tells the two machines apart."""


class RandomEmbedder:
    """Unit vectors that mean nothing, by the number of texts that were embedded before."""

    name = "random"
    width = WIDTH
    fingerprint = f"random/{WIDTH}"

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def embed(self, texts: list[str]) -> Vectors:
        made = self._rng.standard_normal((len(texts), WIDTH), dtype=np.float32)
        unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


class _Undoubting(TraceSelector):
    """Without a confidence, as the official implementation decides."""

    def sure(self, pool: Pool, decision: Decision, known: object = None) -> Decision:
        return decision


@dataclass(frozen=True, slots=True)
class Whole:
    """Milliseconds a pool from the raw file on."""

    sides: Paired
    """The twin, and ours without a confidence."""
    sure: float
    """Ours with it."""


def raw_to_decision(setting: str, rounds: int = 3) -> Whole:
    """Both sides over one file, alternating."""
    count = COUNT[setting]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw.jsonl"
        write_records(path, browsing_records(count) if setting == "browsing" else webqa_records(webqa_pools(count)))
        recipe = SETTINGS[setting].recipe
        torch.manual_seed(0)
        net = TraceNet(NetConfig(WIDTH), recipe).eval()
        embedder = CachedEmbedder(RandomEmbedder(), VectorCache(Path(folder) / "vectors"))
        checkpoint = Checkpoint(net, EncoderIdentity(embedder.name, WIDTH))
        bare, whole = _Undoubting(checkpoint, embedder), TraceSelector(checkpoint, embedder)
        twin = Twin(net).eval()

        def by_twin() -> int:
            return sum(_scored_by_twin(twin, block, embedder) for block in _blocks(iter_pools(path)))

        def by_us(selector: TraceSelector) -> int:
            return sum(1 for _ in selector.iter_decisions(iter_pools(path)))

        by_us(bare)  # fills the cache
        # A collection looks through all that torch imports, 200 ms, and hits whoever runs then; the command has few.
        gc.collect()
        gc.freeze()
        sides = paired(by_twin, lambda: by_us(bare), rounds)
        sure = best_of(lambda: by_us(whole), rounds)
    return Whole(Paired(sides.twin / count * 1e3, sides.ours / count * 1e3), sure / count * 1e3)


def _blocks(pools: Iterator[Pool]) -> Iterator[list[Pool]]:
    block: list[Pool] = []
    for pool in pools:
        block.append(pool)
        if len(block) == BLOCK_POOLS:
            yield block
            block = []
    if block:
        yield block


def _scored_by_twin(twin: Twin, pools: list[Pool], embedder: CachedEmbedder) -> int:
    recipe = twin.recipe
    texts = list(dict.fromkeys(text for pool in pools for text in build_graph(pool, recipe).texts.all()))
    table = torch.from_numpy(embedder.embed(texts))
    rows = {text: row for row, text in enumerate(texts)}
    with torch.inference_mode():
        twin(collate_twin([build_twin(pool, recipe, rows, table) for pool in pools]))
    return len(pools)


def whole_lines() -> Iterator[str]:
    """What ``make bench`` prints of it."""
    for setting in COUNT:
        found = raw_to_decision(setting)
        yield (
            f"raw file to decision, vectors cached, {setting}: twin {found.sides.twin:.2f} ms a pool, ours "
            f"{found.sides.ours:.2f} ms ({found.sides.ratio:.1f}x), with its confidence {found.sure:.2f} ms; official "
            f"{OFFICIAL[setting]} ms where 9376a4e took {OURS_THEN[setting]} ms"
        )
