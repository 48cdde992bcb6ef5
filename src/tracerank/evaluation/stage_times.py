"""How long a selector takes, stage by stage, on the path of its real decisions (App. H).

The pools that the selector draws and the embedder that it calls switch one clock, so the stages add up to the whole.
Reading is timed apart.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from tracerank.embedding.base import Embedder, Vectors
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.votes.base import StreamingMethod
from tracerank.votes.folders import existing_folder, folder_of, selector_kind

READ, ENCODE, BUILD, SCORE = "read and parse", "encode texts", "build graphs", "score and choose"
STAGES = (READ, ENCODE, BUILD, SCORE)
TRACE = "trace"
WARM_UP = 4
"""Pools decided before anything is measured."""


class StageClock:
    """Seconds per stage; one stage runs at any time."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._stage: str | None = None
        self._since = 0.0

    def switch(self, stage: str | None) -> None:
        """End the running stage and begin another; None: no other."""
        now = time.perf_counter()
        if self._stage is not None:
            self.seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now


class ClockedEmbedder:
    """An embedder that encodes each text once a pass, as the paper counts, and switches the clock."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.name, self.width = embedder.name, embedder.width
        self.spec: str | None = getattr(embedder, "spec", None)
        self.dims: int | None = getattr(embedder, "dims", None)
        self.start(StageClock())

    def start(self, clock: StageClock) -> None:
        """Begin a pass, in which no text has been encoded."""
        self.clock = clock
        self.made: dict[str, Vectors] = {}

    def embed(self, texts: list[str]) -> Vectors:
        self.clock.switch(ENCODE)
        fresh = [text for text in dict.fromkeys(texts) if text not in self.made]
        if fresh:
            self.made.update(zip(fresh, np.asarray(self.embedder.embed(fresh), np.float32), strict=True))
        found = np.stack([self.made[text] for text in texts]) if texts else np.zeros((0, self.width), np.float32)
        self.clock.switch(SCORE)
        return found


@dataclass(frozen=True, slots=True)
class SelectorCost:
    """The cost of selecting on this machine: medians over passes, of the whole set of questions."""

    questions: int
    rollouts: int
    texts: int
    """Distinct, each encoded once."""
    seconds: dict[str, float]
    """By stage."""
    passes: int
    loading: float = 0.0
    """Seconds for loading checkpoint and encoder, once."""
    encoder: str | None = None
    """Name of the encoder; None: it needs none."""
    kind: str = ""
    """Of the selector."""

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def per_question(self) -> float:
        return self.total / max(self.questions, 1)


def measure_selector(
    folder: str | Path,
    read: Callable[[], Iterable[Pool]],
    questions: int = 100,
    passes: int = 3,
    *,
    encoder: str | None = None,
    allow_encoder_mismatch: bool = False,
    on_loaded: Callable[[], None] = lambda: None,
) -> SelectorCost:
    """Load a selector and its encoder, if it has one, and time the stages; the cache is not used.

    ``read`` opens the files anew for every pass.
    """
    began, embedder = time.perf_counter(), None
    if selector_kind(existing_folder(folder)) == TRACE:
        from tracerank.embedding.load import embedder_for
        from tracerank.trace.checkpoint import load_checkpoint  # brings torch

        identity = load_checkpoint(folder_of(folder)).encoder
        embedder = ClockedEmbedder(embedder_for(identity, encoder, is_cached=False))
    selector = load_selector(folder, embedder or encoder, allow_encoder_mismatch=allow_encoder_mismatch)
    loading = time.perf_counter() - began
    on_loaded()
    times = time_stages(selector, embedder, read, questions, passes)
    return replace(times, loading=loading, encoder=embedder.name if embedder else None, kind=selector.kind)


def time_stages(
    selector: StreamingMethod,
    embedder: ClockedEmbedder | None,
    read: Callable[[], Iterable[Pool]],
    questions: int,
    passes: int = 3,
) -> SelectorCost:
    """Decide the first questions in several passes, after a warm-up.

    Without an embedder, building and scoring cannot be told apart and are one stage.
    """
    stages, first = ((READ, SCORE), SCORE) if embedder is None else (STAGES, BUILD)
    found: list[dict[str, float]] = []
    for number in range(passes + 1):
        began, count, pools = time.perf_counter(), 0, []
        for count, pool in enumerate(read(), start=1):
            pools += [pool] if count <= questions else []
        # Readers look ahead, so the time of reading a part is its share of everything.
        reading = (time.perf_counter() - began) / max(count, 1) * len(pools)
        clock = StageClock()
        if embedder is not None:
            embedder.start(clock)

        def clocked(pools: list[Pool] = pools, clock: StageClock = clock) -> Iterator[Pool]:
            for pool in pools:
                clock.switch(first)  # what follows the last pool of a block
                yield pool

        deque(selector.iter_decisions(clocked(pools if number else pools[:WARM_UP])), maxlen=0)
        clock.switch(None)
        found.append({**clock.seconds, READ: reading})
    seconds = {stage: median(each[stage] for each in found[1:]) for stage in stages}
    texts = 0 if embedder is None else len(embedder.made)
    return SelectorCost(len(pools), sum(map(len, pools)), texts, seconds, passes)
