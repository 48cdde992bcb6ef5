"""Several processes train as one: the same losses, one writer, resumable."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.pools.canonical import write_pools
from tracerank.trace.net import NetConfig
from tracerank.trace.settings import WEBQA
from tracerank.trace.training.beginning import AS_PUBLISHED
from tracerank.trace.training.examples import prepare_examples
from tracerank.trace.training.fit import BLOCK_POOLS, _Run
from tracerank.trace.training.processes import PROCESSOR, Processes, joined

ROOT = Path(__file__).parents[4]
NET = NetConfig(width=32, hidden=16, layers=2, feed_forward=32, dropout=0.3)
PLAN = replace(WEBQA.plan, epochs=2, batch_pools=2 * BLOCK_POOLS, learning_rate=1e-3)
"""A whole block for each process: what dropout draws is then that of one process, too."""
CLOSE = 1e-5

SCRIPT = """
import os, sys
from tests.trace.training.test_processes import NET, PLAN
from tracerank.trace.settings import WEBQA
from tracerank.trace.training.examples import ExampleSet
from tracerank.trace.training.fit import train
from tracerank.trace.training.processes import joined

def stop(report):
    if sys.argv[3:] and (report.epoch, report.step) == (1, int(sys.argv[3])):
        os._exit(7)

with joined() as processes:
    assert processes.count == int(os.environ.get("WORLD_SIZE", "1"))
    train(ExampleSet(sys.argv[1]), NET, WEBQA.recipe, PLAN, sys.argv[2], on_step=stop, save_seconds=0.0)
"""


def torchrun(*command: object, count: int = 2) -> subprocess.CompletedProcess[str]:
    """So many processes on this machine, of one thread each: sums of floats depend on threads."""
    launch = [sys.executable]
    if count > 1:
        launch += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    where = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "OMP_NUM_THREADS": "1",
        "PYTHONFAULTHANDLER": "1",
    }
    return subprocess.run(
        [*launch, *map(str, command)], capture_output=True, text=True, timeout=400, env=where, cwd=ROOT
    )


def losses(folder: Path) -> list[float]:
    lines = (folder / "training" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines if "loss" in json.loads(line)]


def test_one_process_alone_is_the_writer_and_takes_everything() -> None:
    with joined() as alone:
        assert alone == Processes()
    assert alone.is_writer
    assert alone.own("abc") == [(0, "a"), (1, "b"), (2, "c")]
    assert Processes(1, 2).own("abc") == [(1, "b")]
    assert (alone.block_size(256, 64), Processes(0, 2).block_size(16, 64), Processes(0, 4).block_size(2, 64)) == (
        *(64, 8),
        1,
    )


def test_the_gradient_of_a_step_does_not_depend_on_its_blocks(tmp_path: Path) -> None:
    pools = generate_pools(30, seed=3)
    examples = prepare_examples(pools, WEBQA.recipe, PLAN, HashEmbedder(32), tmp_path / "examples", "world")
    net = replace(NET, dropout=0.0)
    learn, held_out = examples.train(), examples.validation()

    def gradients(block_pools: int) -> dict[str, torch.Tensor]:
        out = tmp_path / str(block_pools)
        run = _Run(examples, net, WEBQA.recipe, PLAN, out, learn, held_out, None, AS_PUBLISHED, PROCESSOR, 60.0)
        run.block_pools = block_pools
        run._step(learn)
        return {name: one.grad for name, one in run.learned.items() if one.grad is not None}

    whole, parts = gradients(len(learn)), gradients(5)
    assert whole.keys() == parts.keys()
    for name, grad in whole.items():
        assert torch.allclose(grad, parts[name], atol=1e-6), name


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one_and_go_on_after_a_kill(tmp_path: Path) -> None:
    examples = tmp_path / "examples"
    prepare_examples(generate_pools(500, seed=3), WEBQA.recipe, PLAN, HashEmbedder(32), examples, "world")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert torchrun(script, examples, tmp_path / "one", count=1).returncode == 0
    assert len(losses(tmp_path / "one")) > 4
    done = torchrun(script, examples, tmp_path / "two")
    assert done.returncode == 0, done.stderr[-2000:]
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=CLOSE)
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert all(torch.allclose(ours[name], theirs[name], atol=CLOSE) for name in ours)
    killed = torchrun(script, examples, tmp_path / "killed", 2)
    assert killed.returncode != 0
    assert torchrun(script, examples, tmp_path / "killed").returncode == 0
    for name in ("training/metrics.jsonl", "model.safetensors"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.slow
def test_the_command_trains_on_the_processes_of_torchrun_and_one_of_them_speaks(tmp_path: Path) -> None:
    pools = tmp_path / "pools.jsonl"
    write_pools(pools, generate_pools(120, seed=3))
    options = ("--encoder", "hash-32", "--epochs", 1, "--batch", 32, "--json", "-q")
    done = torchrun("-m", "tracerank", "train", "webqa", pools, "-o", tmp_path / "net", *options)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["training"]["best_epoch"] == 1
    refused = torchrun("-m", "tracerank", "train", "webqa", pools, "-o", tmp_path / "x", "--preset", "marks")
    assert "leave torchrun out" in refused.stderr
