"""Presets from Python: examples made once, a checkpoint in the end, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import TrainingError, UsageError
from tracerank.fitting import train as module
from tracerank.fitting.train import ENOUGH_POOLS, PRESETS, PreparedTraining, guess_setting, prepare_training
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Question, Rollout
from tracerank.trace.checkpoint import load_checkpoint
from tracerank.trace.selector import TraceSelector
from tracerank.votes.folders import fitted_on, folder_of


@pytest.fixture(scope="module")
def pools() -> list[Pool]:
    return generate_pools(60, seed=3, k=6)


def prepared(preset: str, pools: list[Pool], output: Path, files: str = "these", **given: Any) -> PreparedTraining:
    return prepare_training(preset, WEBQA, pools, output, HashEmbedder(16), files=files, **given)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_trains_saves_and_sums_up(pools: list[Pool], tmp_path: Path, preset: str) -> None:
    ready = prepared(preset, pools, tmp_path / "out", epochs=1, batch_pools=32)
    steps: list[float] = []
    epochs: list[dict[str, float]] = []
    summary = ready.run(steps.append, epochs.append)
    assert epochs == summary["epochs"]
    assert f"the vote {100 * epochs[0]['vote']:.1f}%" in ready.outcome(summary)
    assert len(steps) == ready.steps > 0
    assert summary["plan"]["epochs"] == 1
    assert f"{100 * summary['validation_accuracy']:.1f}% right" in ready.outcome(summary)
    assert ready.about[0].isdigit()
    assert TraceSelector.load(tmp_path / "out").decide(pools[0]).answer is not None
    assert all(pool in fitted_on(tmp_path / "out") for pool in pools)


def test_examples_are_made_once_and_say_the_same_when_reused(pools: list[Pool], tmp_path: Path) -> None:
    first = prepared("paper", pools, tmp_path / "out")
    again = prepared("paper", [], tmp_path / "out")
    assert (again.about, again.labelling, again.steps) == (first.about, first.labelling, first.steps)
    assert first.labelling is not None
    assert all(pool in fitted_on(tmp_path / "out") for pool in pools)
    with pytest.raises(TrainingError, match="made from another source"):
        prepared("paper", pools, tmp_path / "out", "others")


def test_the_setting_of_most_pools_is_guessed_and_no_pool_is_lost(pools: list[Pool]) -> None:
    browsing = Pool.of(Question("b", "?"), [Rollout(0, "x", setting=BROWSING)])
    setting, stream = guess_setting(iter([browsing, *pools]))
    assert (setting, len(list(stream))) == (WEBQA, 61)
    with pytest.raises(UsageError, match="no pools"):
        guess_setting([])


def test_an_unknown_preset_and_a_device_that_is_not_there_are_refused(pools: list[Pool], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=", ".join(PRESETS)):
        prepared("large", pools, tmp_path)
    for device in ("cuda:77", "toaster"):
        with pytest.raises(UsageError, match=f"--device {device}"):
            prepared("paper", pools, tmp_path, device=device)
    assert not list(tmp_path.iterdir())


def test_few_pools_are_a_caution_and_many_are_not(
    pools: list[Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = prepared("paper", pools, tmp_path)
    assert few.caution is not None
    assert re.match(rf"\d+ pools .* fewer than {ENOUGH_POOLS[WEBQA]:,}; `tracerank fit`", few.caution)
    monkeypatch.setattr(module, "ENOUGH_POOLS", {WEBQA: 10})
    assert prepared("paper", pools, tmp_path).caution is None


def test_a_network_that_stays_below_the_vote_stops_with_a_sentence(pools: list[Pool], tmp_path: Path) -> None:
    ready = prepared("paper", pools, tmp_path, epochs=9, batch_pools=64, learning_rate=1e-9)
    summary = ready.run(print, print)
    assert summary["epochs"][1]["accuracy"] < summary["epochs"][1]["vote"]
    assert ready.outcome(summary).endswith("stopped after 2 of 9 epochs: it stays below the vote")
    assert ready.run(print, print) == summary


def test_few_pools_start_from_the_network_that_ships_if_its_vectors_are_theirs(
    pools: list[Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny: dict[str, Any] = {"epochs": 1, "learning_rate": 1e-12}
    ready = prepare_training("paper", WEBQA, pools, tmp_path / "few", HashEmbedder(), **tiny)
    assert ready.about.endswith("; training starts from the network that ships")
    ready.run(print, print)
    shipped = load_checkpoint(folder_of("trace")).net.state_dict()
    trained = load_checkpoint(tmp_path / "few").net.state_dict()
    assert all(torch.allclose(trained[name], tensor, atol=1e-6) for name, tensor in shipped.items())
    assert fitted_on("trace").digests < fitted_on(tmp_path / "few").digests
    others = (
        ("small", WEBQA, HashEmbedder()),
        ("paper", WEBQA, HashEmbedder(128)),
        ("paper", BROWSING, HashEmbedder()),
    )
    for number, (preset, setting, embedder) in enumerate(others):
        elsewhere = prepare_training(preset, setting, pools, tmp_path / str(number), embedder)
        assert "ships" not in elsewhere.about
    monkeypatch.setattr(module, "START_POOLS", 10)
    assert "ships" not in prepare_training("paper", WEBQA, pools, tmp_path / "many", HashEmbedder()).about
