"""Training beside the processor: on a device without hardware (``card.py``), since this machine has no card."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import UsageError
from tracerank.trace.checkpoint import load_checkpoint
from tracerank.trace.settings import WEBQA
from tracerank.trace.training.examples import prepare_examples
from tracerank.trace.training.processes import PROCESSOR, device_here

ROOT = Path(__file__).parents[4]
ON_BOTH = """
import sys
from dataclasses import replace
from tests.trace.training.card import CARD
from tests.trace.training.test_fit import PLAN, SMALL
import torch
from tracerank.trace.settings import WEBQA
from tracerank.trace.training.examples import ExampleSet
from tracerank.trace.training.fit import train

torch.inference_mode = torch.no_grad  # the device without hardware has no inference tensors
examples, out, stops, readout = ExampleSet(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]

class Stop(Exception):
    pass

def on_step(report):
    if report.step == stops:
        raise Stop

config = replace(SMALL, readout=readout)
for name, device in (("cpu", torch.device("cpu")), ("card", CARD)):
    try:
        train(examples, config, WEBQA.recipe, PLAN, f"{out}/{name}", device=device, on_step=on_step, save_seconds=0)
    except Stop:
        pass
    train(examples, config, WEBQA.recipe, PLAN, f"{out}/{name}", device=device)
"""
MIXED = """
import torch
from tests.trace.training.card import CARD
net = torch.nn.Linear(2, 2).to(CARD)
net(torch.ones(3, 2))
"""


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)


@pytest.mark.parametrize("readout", ["answer", pytest.param("graph", marks=pytest.mark.slow)])
def test_a_run_on_a_device_has_the_losses_of_the_processor_and_is_resumed(tmp_path: Path, readout: str) -> None:
    from tests.trace.training.test_fit import PLAN

    prepare_examples(generate_pools(120, seed=3), WEBQA.recipe, PLAN, HashEmbedder(32), tmp_path / "examples", "world")
    done = run(ON_BOTH, tmp_path / "examples", tmp_path, 3, readout)
    assert done.returncode == 0, done.stderr
    metrics = [
        [json.loads(line) for line in (tmp_path / name / "training" / "metrics.jsonl").read_text().splitlines()]
        for name in ("cpu", "card")
    ]
    assert len(metrics[0]) == len(metrics[1]) > 4
    for ours, theirs in zip(*metrics, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    nets = [load_checkpoint(tmp_path / name).net.state_dict() for name in ("cpu", "card")]
    for name, weights in nets[0].items():
        assert torch.allclose(weights, nets[1][name], atol=1e-4), name


def test_the_device_without_hardware_refuses_what_a_card_would() -> None:
    done = run(MIXED)
    assert done.returncode == 1
    assert "a tensor on the card and one that is not" in done.stderr


def test_a_process_takes_the_card_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_here("cpu") == PROCESSOR
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_here("cuda") == torch.device("cuda", 0)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert device_here("cuda") == torch.device("cuda", 1)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(UsageError, match="--device cuda: torch sees 2 cards for process 3 on this machine"):
        device_here("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="torch sees no card on this machine; leave the option out"):
        device_here("cuda")
