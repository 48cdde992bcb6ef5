"""Both presets from Python: examples made once, a checkpoint in the end, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.worlds import generate_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import TrainingError, UsageError
from tracerank.fitting.presets import PRESETS, TrainingSource, prepare_training, told_setting
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Question, Rollout
from tracerank.selectors.base import selector_kind
from tracerank.selectors.trace.checkpoint import CONFIG_FILE
from tracerank.selectors.trace.net import NetConfig
from tracerank.selectors.trace.training.fit import StepReport


@pytest.fixture(scope="module")
def pools() -> list[Pool]:
    return generate_pools(60, seed=3, k=6)


def source(pools: list[Pool], files: str = "these") -> TrainingSource:
    return TrainingSource(WEBQA, pools, files, HashEmbedder(16))


@pytest.mark.parametrize(("preset", "kind"), [("paper", "trace"), ("plus", "trace-plus"), ("small", "trace")])
def test_a_preset_trains_saves_and_sums_up(pools: list[Pool], tmp_path: Path, preset: str, kind: str) -> None:
    more = {"seeds": 1} if preset == "plus" else {}
    ready = prepare_training(preset, source(pools), tmp_path / "out", epochs=1, batch_pools=32, **more)
    steps: list[StepReport] = []
    summary = ready.run(steps.append)
    assert len(steps) == ready.steps > 0
    assert selector_kind(tmp_path / "out") == kind
    assert summary["plan"]["epochs"] == 1
    assert f"{100 * summary['validation_accuracy']:.1f}% right" in ready.outcome(summary)
    assert ready.about[0].isdigit()


def test_examples_are_made_once_and_not_for_another_input_or_preset(pools: list[Pool], tmp_path: Path) -> None:
    first = prepare_training("paper", source(pools), tmp_path / "out")
    assert prepare_training("paper", source([]), tmp_path / "out").about == first.about
    with pytest.raises(TrainingError, match="made from another source"):
        prepare_training("paper", source(pools, "others"), tmp_path / "out")
    with pytest.raises(TrainingError, match="made from another"):
        prepare_training("plus", source(pools), tmp_path / "out")


def test_the_setting_of_most_pools_is_told_and_no_pool_is_lost(pools: list[Pool]) -> None:
    browsing = Pool.of(Question("b", "?"), [Rollout(0, "x", setting=BROWSING)])
    setting, stream = told_setting(iter([browsing, *pools]))
    assert (setting, len(list(stream))) == (WEBQA, 61)
    with pytest.raises(UsageError, match="no pools"):
        told_setting([])


def test_an_unknown_preset_and_several_networks_of_the_papers_are_refused(pools: list[Pool], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=", ".join(PRESETS)):
        prepare_training("large", source(pools), tmp_path)
    with pytest.raises(UsageError, match="plus averages several networks"):
        prepare_training("paper", source(pools), tmp_path, seeds=2)
    assert not list(tmp_path.iterdir())


def test_the_small_preset_is_the_papers_network_at_a_quarter_of_its_width(pools: list[Pool], tmp_path: Path) -> None:
    prepare_training("small", source(pools), tmp_path, epochs=1).run(None)
    about = json.loads((tmp_path / CONFIG_FILE).read_text())
    assert about["net"]["hidden"] * 4 == NetConfig(16).hidden
    assert about["training"]["plan"]["vote_rate"] == 100.0
