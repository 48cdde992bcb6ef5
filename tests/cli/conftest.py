"""A small world on disk, a tiny untrained checkpoint and a way to run the command line in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.worlds import generate_pools
from tracerank.cli.app import app
from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.trace.recipe import RECIPES

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def pools() -> list[Pool]:
    return generate_pools(12, seed=5, k=6)


@pytest.fixture(scope="session")
def world(pools: list[Pool], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "pools.jsonl"
    write_pools(path, pools)
    return path


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Here, because tests of the base installation have no torch.
    import torch

    from tracerank.trace.checkpoint import Checkpoint, save_checkpoint
    from tracerank.trace.net import TraceNet
    from tracerank.trace.recipe import NetConfig

    torch.manual_seed(0)
    embedder = HashEmbedder(64)
    config = NetConfig(width=64, hidden=32, heads=4, feed_forward=64, layers=2)
    net = TraceNet(config, RECIPES["webqa"]).eval()
    folder = tmp_path_factory.mktemp("network")
    save_checkpoint(Checkpoint(net, EncoderIdentity(embedder.name, embedder.width)), folder)
    return folder


@pytest.fixture(scope="session")
def run() -> Run:
    def invoke(*arguments: object, **environment: str) -> Result:
        return CliRunner(env=environment).invoke(app, [str(argument) for argument in arguments])

    return invoke


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n") if line]


def error_of(result: Result) -> str:
    """The one line that an unusable input ends with."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    [line] = [line for line in result.stderr.splitlines() if not line.startswith(("problem: ", "and "))]
    assert line.startswith("error: ")
    return line.removeprefix("error: ")
