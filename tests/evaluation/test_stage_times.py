"""What selecting costs, by stage."""

from pathlib import Path

import pytest

from tests.builders import pool
from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.evaluation.stage_times import DECIDE, ENCODE, READ, measure_selector
from tracerank.methods import EVIDENCE

POOLS = [pool("a", "b"), pool("c", "d")]


def test_a_network_is_measured_with_its_own_encoder_alone_and_what_ships_without_one(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from tracerank.trace.checkpoint import Checkpoint, save_checkpoint
    from tracerank.trace.net import TraceNet
    from tracerank.trace.recipe import RECIPES, NetConfig

    torch.manual_seed(0)
    net = TraceNet(NetConfig(width=16, hidden=8, heads=2, feed_forward=8, layers=1), RECIPES["webqa"]).eval()
    save_checkpoint(Checkpoint(net, EncoderIdentity("hash-16", 16)), tmp_path)
    cost = measure_selector(tmp_path, lambda: POOLS, questions=1)
    assert (cost.encoder, cost.questions, cost.rollouts) == ("hash-16", 1, 2)
    assert tuple(cost.seconds) == (READ, ENCODE, DECIDE)
    assert all(seconds > 0 for seconds in cost.seconds.values())
    assert cost.texts > 0
    with pytest.raises(CheckpointError):
        measure_selector(tmp_path, lambda: POOLS, encoder="hash-8")
    shipped = measure_selector(EVIDENCE, lambda: POOLS)
    assert (shipped.encoder, shipped.questions, tuple(shipped.seconds)) == (None, 2, (READ, DECIDE))
