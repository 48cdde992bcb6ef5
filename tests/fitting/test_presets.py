"""All presets from Python: examples made once, a checkpoint in the end, and what is refused."""

import json
import re
from pathlib import Path

import pytest
import torch

from tests.worlds import generate_pools
from tracerank.embedding.base import BlankEmbedder, HashEmbedder, Vectors
from tracerank.errors import TrainingError, UsageError
from tracerank.fitting import presets
from tracerank.fitting.presets import ENOUGH_POOLS, PRESETS, TrainingSource, encoder_of, prepare_training, told_setting
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Question, Rollout
from tracerank.trace.checkpoint import CONFIG_FILE
from tracerank.trace.net import NetConfig
from tracerank.trace.training.fit import StepReport
from tracerank.votes.folders import selector_kind

KINDS = [("paper", "trace"), ("marks", "trace-plus"), ("plus", "trace-plus"), ("small", "trace")]


@pytest.fixture(scope="module")
def pools() -> list[Pool]:
    return generate_pools(60, seed=3, k=6)


def source(pools: list[Pool], files: str = "these") -> TrainingSource:
    return TrainingSource(WEBQA, pools, files, HashEmbedder(16))


@pytest.mark.parametrize(("preset", "kind"), KINDS)
def test_a_preset_trains_saves_and_sums_up(pools: list[Pool], tmp_path: Path, preset: str, kind: str) -> None:
    more = {"seeds": 1} if kind == "trace-plus" else {}
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
    with pytest.raises(UsageError, match="plus average several networks"):
        prepare_training("paper", source(pools), tmp_path, seeds=2)
    with pytest.raises(UsageError, match="for the encoders of --preset paper"):
        prepare_training("marks", source(pools), tmp_path, frozen_steps=3)
    with pytest.raises(UsageError, match="plus is trained on processors"):
        prepare_training("plus", source(pools), tmp_path, device=torch.device("cuda"))
    assert not list(tmp_path.iterdir())


def test_the_small_preset_is_the_papers_network_at_a_quarter_of_its_width(pools: list[Pool], tmp_path: Path) -> None:
    prepare_training("small", source(pools), tmp_path, epochs=1).run(None)
    about = json.loads((tmp_path / CONFIG_FILE).read_text())
    assert about["net"]["hidden"] * 4 == NetConfig(16).hidden
    assert about["training"]["plan"]["vote_rate"] == 100.0


class Unasked(HashEmbedder):
    """Must not be asked for the vectors of any text."""

    def embed(self, texts: list[str]) -> Vectors:
        raise AssertionError(f"embedded {texts[:1]}")


def test_marks_embeds_nothing_and_its_folder_decides_whatever_encoder_is_wanted(
    pools: list[Pool], tmp_path: Path
) -> None:
    blind = TrainingSource(WEBQA, pools, "these", Unasked(16))
    prepare_training("marks", blind, tmp_path, epochs=1, seeds=1).run(None)
    selector = load_selector(tmp_path)
    assert selector.encoder is None
    decided = selector.decide_many(pools)
    assert all(decision.sample_id is not None for decision in decided)
    assert load_selector(tmp_path, Unasked(16)).decide_many(pools) == decided
    assert load_selector(tmp_path, "hash-32").decide_many(pools) == decided


def test_marks_looks_at_votes_and_marks_alone(pools: list[Pool], tmp_path: Path) -> None:
    prepare_training("marks", source(pools), tmp_path, epochs=1).run(None)
    about = json.loads((tmp_path / "selector.json").read_text())
    net = about["net"]
    assert (about["nets"], net["sources"], net["among"], net["gate"]) == (3, 0.0, 0, 1.0)
    assert "votes" not in net["dropped_families"]
    assert {"support", "form", "chains"} <= set(net["dropped_families"])


def test_an_encoder_is_refused_where_no_text_is_embedded() -> None:
    assert (encoder_of("paper", None), encoder_of("plus", "hash-8")) == ("default", "hash-8")
    assert encoder_of("marks", None) == BlankEmbedder.name
    with pytest.raises(UsageError, match="leave --encoder out"):
        encoder_of("marks", "default")


def test_few_pools_are_a_caution_for_the_papers_network_alone(pools: list[Pool], tmp_path: Path) -> None:
    paper = prepare_training("paper", source(pools), tmp_path / "paper")
    assert paper.caution is not None
    assert re.match(rf"\d+ pools .* fewer than {ENOUGH_POOLS[WEBQA]:,}; --preset marks", paper.caution)
    assert prepare_training("marks", source(pools), tmp_path / "marks").caution is None


def test_many_pools_need_no_caution(pools: list[Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets, "ENOUGH_POOLS", {WEBQA: 10})
    assert prepare_training("paper", source(pools), tmp_path).caution is None


def test_where_training_begins_is_told_by_switches_and_kept_with_the_weights(pools: list[Pool], tmp_path: Path) -> None:
    given = {"epochs": 1, "identity": True, "shared": True, "frozen_steps": 2}
    prepare_training("paper", source(pools), tmp_path, **given).run(None)
    told = json.loads((tmp_path / CONFIG_FILE).read_text())["training"]["beginning"]
    assert told == {"identity": True, "shared": True, "frozen_steps": 2}
