"""How long a selector takes, stage by stage, on the path that decisions really take (App. H).

A clock is passed from hand to hand: the pools that the selector draws and the embedder that it asks switch it. So
nothing of the selector is repeated here, and the stages add up to the whole. Reading is timed apart.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from tracerank.embedding.base import Embedder, EncoderIdentity, Vectors
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.votes.base import StreamingMethod
from tracerank.votes.folders import existing_folder, folder_of, selector_kind
from tracerank.votes.selector import Selector

READ, ENCODE, BUILD, SCORE = "read and parse", "encode texts", "build graphs", "score and choose"
STAGES = (READ, ENCODE, BUILD, SCORE)
UNENCODED = (READ, SCORE)
"""Of a selector that reads no vectors."""
TRACE = "trace"
_WARM_UP = 4
"""Pools decided before anything is measured."""


class StageClock:
    """Seconds per stage; one stage runs at any time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage: str | None = None
        self._since = 0.0
        self.reset()

    def switch(self, stage: str | None) -> None:
        """The running stage ends, another begins; None: none does."""
        now = time.perf_counter()
        if self._stage is not None:
            self.seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now

    def reset(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._stage = None


class ClockedEmbedder:
    """An embedder that encodes each text once a pass, as the paper counts, and switches the clock."""

    def __init__(self, embedder: Embedder, clock: StageClock) -> None:
        self.embedder = embedder
        self.name = embedder.name
        self.width = embedder.width
        self.spec: str | None = getattr(embedder, "spec", None)
        self.dims: int | None = getattr(embedder, "dims", None)
        self._clock = clock
        self._made: dict[str, Vectors] = {}

    @property
    def texts(self) -> int:
        """Distinct texts of this pass."""
        return len(self._made)

    def forget(self) -> None:
        """Begin another pass."""
        self._made.clear()

    def embed(self, texts: list[str]) -> Vectors:
        self._clock.switch(ENCODE)
        fresh = [text for text in dict.fromkeys(texts) if text not in self._made]
        if fresh:
            self._made.update(zip(fresh, np.asarray(self.embedder.embed(fresh), np.float32), strict=True))
        found = np.stack([self._made[text] for text in texts]) if texts else np.zeros((0, self.width), np.float32)
        self._clock.switch(SCORE)
        return found


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Medians over passes, of the whole set of questions."""

    questions: int
    rollouts: int
    texts: int
    """Distinct, each encoded once."""
    seconds: dict[str, float]
    """By stage."""
    passes: int

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def per_question(self) -> float:
        return self.total / max(self.questions, 1)


@dataclass(frozen=True, slots=True)
class SelectorCost:
    """What selecting with a checkpoint costs on this machine."""

    times: StageTimes
    loading: float
    """Seconds that checkpoint and encoder took to load, once."""
    encoder: str | None
    """Name of the encoder; None: it needs none."""
    kind: str
    """Of the selector."""


def measure_selector(
    checkpoint: str | Path,
    read: Callable[[], Iterable[Pool]],
    questions: int = 100,
    passes: int = 3,
    *,
    encoder: str | None = None,
    allow_encoder_mismatch: bool = False,
    on_loaded: Callable[[], None] = lambda: None,
    on_pass: Callable[[], None] = lambda: None,
) -> SelectorCost:
    """Load a selector and its encoder, if it has one, and time the stages; nothing comes from the cache.

    ``read`` opens the files anew for every pass.
    """
    # A selector without an encoder tells so when it is loaded; one with is loaded again before a clocked one.
    began = time.perf_counter()
    clock = StageClock()
    needed = _encoder_of(checkpoint, encoder, allow_encoder_mismatch)
    if isinstance(needed, Selector):
        selector, clocked, name = needed, None, None
    else:
        from tracerank.embedding.load import embedder_for

        began = time.perf_counter()  # to look which encoder it needs is no part of loading it
        embedder = embedder_for(needed, encoder, is_cached=False)
        clocked, name = ClockedEmbedder(embedder, clock), embedder.name
        selector = load_selector(checkpoint, clocked, allow_encoder_mismatch=allow_encoder_mismatch)
    loading = time.perf_counter() - began
    on_loaded()
    times = time_stages(selector, clocked, clock, read, questions, passes, on_pass)
    return SelectorCost(times, loading, name, selector.kind)


def _encoder_of(
    checkpoint: str | Path, encoder: str | None, allow_encoder_mismatch: bool
) -> EncoderIdentity | Selector:
    """The encoder that a selector needs; the selector itself where it needs none."""
    if selector_kind(existing_folder(checkpoint)) == TRACE:
        from tracerank.trace.checkpoint import load_checkpoint  # brings torch

        return load_checkpoint(folder_of(checkpoint)).encoder
    selector = load_selector(checkpoint, encoder, allow_encoder_mismatch=allow_encoder_mismatch)
    return selector.encoder or selector


def time_stages(
    selector: StreamingMethod,
    embedder: ClockedEmbedder | None,
    clock: StageClock,
    read: Callable[[], Iterable[Pool]],
    questions: int,
    passes: int = 3,
    on_pass: Callable[[], None] = lambda: None,
) -> StageTimes:
    """Settle the first questions so many times, after a warm-up; ``read`` opens the files anew.

    Without an embedder nobody can tell building from scoring, so these are one stage.
    """
    stages, first = (UNENCODED, SCORE) if embedder is None else (STAGES, BUILD)
    _, pools = _read(read, questions)
    _decide_all(selector, clock, pools[:_WARM_UP], first)
    found: list[dict[str, float]] = []
    for _ in range(passes):
        each, pools = _read(read, questions)
        clock.reset()
        if embedder is not None:
            embedder.forget()
        _decide_all(selector, clock, pools, first)
        found.append({**clock.seconds, READ: each * len(pools)})
        on_pass()
    seconds = {stage: median(each[stage] for each in found) for stage in stages}
    texts = 0 if embedder is None else embedder.texts
    return StageTimes(len(pools), sum(map(len, pools)), texts, seconds, passes)


def _read(read: Callable[[], Iterable[Pool]], questions: int) -> tuple[float, list[Pool]]:
    """Seconds a question of reading everything, and the first pools: readers look ahead, so a part has no time."""
    began, count, kept = time.perf_counter(), 0, []
    for count, pool in enumerate(read(), start=1):
        if count <= questions:
            kept.append(pool)
    return (time.perf_counter() - began) / max(count, 1), kept


def _decide_all(selector: StreamingMethod, clock: StageClock, pools: Iterable[Pool], first: str) -> None:
    def clocked() -> Iterator[Pool]:
        for pool in pools:
            clock.switch(first)  # what follows the last pool of a block
            yield pool

    for _ in selector.iter_decisions(clocked()):
        pass
    clock.switch(None)
