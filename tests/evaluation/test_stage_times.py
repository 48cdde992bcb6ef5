"""The clock that goes through the stages of selection."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.builders import pool
from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.errors import CheckpointError
from tracerank.evaluation import stage_times
from tracerank.evaluation.stage_times import (
    BUILD,
    ENCODE,
    READ,
    SCORE,
    STAGES,
    ClockedEmbedder,
    measure_selector,
    time_stages,
)
from tracerank.methods import EVIDENCE
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision


class Time:
    """A clock that a test advances."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Selector:
    """Decides blocks of two: building takes 1 s a pool, scoring 3 s a block."""

    name = "blocks"

    def __init__(self, embedder: ClockedEmbedder, time: Time) -> None:
        self.embedder, self.time = embedder, time

    def decide(self, pool: Pool) -> Decision:
        return next(self.iter_decisions([pool]))

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        stream = iter(pools)
        while block := list(islice(stream, 2)):
            self.time.now += len(block)
            self.embedder.embed([pool.question.text for pool in block])
            self.time.now += 3
            yield from (Decision(pool.question.id, None, None) for pool in block)


class SlowEmbedder(HashEmbedder):
    """Takes 10 s a text."""

    def __init__(self, time: Time) -> None:
        super().__init__(8)
        self.time = time

    def embed(self, texts: list[str]) -> np.ndarray:
        self.time.now += 10 * len(texts)
        return super().embed(texts)


def test_each_stage_gets_its_own_time_and_each_text_is_encoded_once_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    monkeypatch.setattr(stage_times, "time", time)
    embedder = ClockedEmbedder(SlowEmbedder(time))

    def read() -> Iterator[Pool]:
        for _ in range(8):  # twice as many as are measured
            time.now += 0.5
            yield pool("a", "b")  # all ask the same question

    found = time_stages(Selector(embedder, time), embedder, read, questions=4, passes=3)
    assert found.seconds == {READ: 2.0, ENCODE: 10.0, BUILD: 4.0, SCORE: 6.0}
    assert (found.questions, found.rollouts, found.texts, found.per_question) == (4, 8, 1, 22 / 4)


def test_a_network_is_measured_with_its_own_encoder_alone_and_what_ships_without_one(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from tracerank.trace.checkpoint import Checkpoint, save_checkpoint
    from tracerank.trace.net import TraceNet
    from tracerank.trace.recipe import RECIPES, NetConfig

    torch.manual_seed(0)
    net = TraceNet(NetConfig(width=16, hidden=8, heads=2, feed_forward=8, layers=1), RECIPES["webqa"]).eval()
    save_checkpoint(Checkpoint(net, EncoderIdentity("hash-16", 16)), tmp_path)
    pools = [pool("a", "b"), pool("c", "d")]
    cost = measure_selector(tmp_path, lambda: pools, questions=1, passes=2)
    assert (cost.encoder, cost.kind, cost.questions, cost.passes) == ("hash-16", "trace", 1, 2)
    assert tuple(cost.seconds) == STAGES
    with pytest.raises(CheckpointError):
        measure_selector(tmp_path, lambda: pools, encoder="hash-8")
    shipped = measure_selector(EVIDENCE, lambda: pools, passes=1)
    assert (shipped.encoder, tuple(shipped.seconds)) == (None, (READ, SCORE))
