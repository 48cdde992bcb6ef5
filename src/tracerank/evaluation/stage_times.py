"""How long a selector takes on this machine, by stage (App. H); the vector cache is not used."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tracerank.embedding.base import Embedder, Vectors
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.votes.folders import existing_folder, folder_of, selector_kind

READ, ENCODE, DECIDE = "read and parse", "encode texts", "build graphs and score"
TRACE = "trace"
PASSES = 3
"""Over the questions; the median counts."""


class TimedEmbedder:
    """An embedder that counts its texts and seconds."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder, self.name, self.width = embedder, embedder.name, embedder.width
        self.seconds, self.texts = 0.0, 0

    def embed(self, texts: list[str]) -> Vectors:
        began = time.perf_counter()
        vectors = self.embedder.embed(texts)
        self.seconds += time.perf_counter() - began
        self.texts += len(texts)
        return vectors


@dataclass(frozen=True, slots=True)
class SelectorCost:
    """The cost of selecting: medians over passes, of the whole set of questions."""

    questions: int
    rollouts: int
    texts: int
    """Encoded in a pass."""
    seconds: dict[str, float]
    """By stage."""
    loading: float
    """Seconds for loading checkpoint and encoder, once."""
    encoder: str | None
    """Name of the encoder; None: it needs none."""


def measure_selector(
    folder: str | Path,
    read: Callable[[], Iterable[Pool]],
    questions: int = 100,
    *,
    encoder: str | None = None,
) -> SelectorCost:
    """Load a selector and its encoder, if it has one, and decide the first questions in several passes.

    ``read`` opens the files anew for every pass; the first pass warms up and does not count.
    """
    began, embedder = time.perf_counter(), None
    if selector_kind(existing_folder(folder)) == TRACE:
        from tracerank.embedding.load import embedder_for
        from tracerank.trace.checkpoint import load_checkpoint  # brings torch

        identity = load_checkpoint(folder_of(folder)).encoder
        embedder = TimedEmbedder(embedder_for(identity, encoder, is_cached=False))
    selector = load_selector(folder, embedder or encoder)
    loading = time.perf_counter() - began
    found: list[dict[str, float]] = []
    for _ in range(PASSES + 1):
        began, count, pools = time.perf_counter(), 0, []
        for count, pool in enumerate(read(), start=1):
            pools += [pool] if count <= questions else []
        # Readers look ahead, so the time of reading a part is its share of everything.
        seconds = {READ: (time.perf_counter() - began) / max(count, 1) * len(pools)}
        began = time.perf_counter()
        if embedder is not None:
            embedder.seconds, embedder.texts = 0.0, 0
        deque(selector.iter_decisions(pools), maxlen=0)
        if embedder is not None:
            seconds[ENCODE] = embedder.seconds
        seconds[DECIDE] = time.perf_counter() - began - seconds.get(ENCODE, 0.0)
        found.append(seconds)
    medians = {stage: median(each[stage] for each in found[1:]) for stage in found[0]}
    texts, name = (0, None) if embedder is None else (embedder.texts, embedder.name)
    return SelectorCost(len(pools), sum(map(len, pools)), texts, medians, loading, name)
