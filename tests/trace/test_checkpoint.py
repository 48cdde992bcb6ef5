"""A selector on disk: everything comes back, and nothing that does not belong is taken."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.builders import EVERY_RECIPE, WIDTH, pool, score, small_net
from tracerank.errors import CheckpointError
from tracerank.trace.checkpoint import (
    CONFIG_FILE,
    FORMAT,
    WEIGHTS_FILE,
    Checkpoint,
    EncoderIdentity,
    load_checkpoint,
    save_checkpoint,
)
from tracerank.trace.recipe import BROWSING_RECIPE, WEBQA_RECIPE, GraphRecipe
from tracerank.votes.folders import write_description

ENCODER = EncoderIdentity("hash-32", WIDTH)


def saved(folder: Path, recipe: GraphRecipe = WEBQA_RECIPE, **changes: Any) -> Checkpoint:
    checkpoint = Checkpoint(small_net(recipe, **changes), ENCODER, {"setting": "webqa", "best_epoch": 2})
    save_checkpoint(checkpoint, folder)
    return checkpoint


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert str(folder) in message
    return message


def edited(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = folder / CONFIG_FILE
    config = json.loads(path.read_text())
    edit(config)
    path.write_text(json.dumps(config))


@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_every_recipe_comes_back_to_the_bit(tmp_path: Path, name: str) -> None:
    before = saved(tmp_path, EVERY_RECIPE[name])
    after = load_checkpoint(tmp_path)
    assert (after.net.recipe, after.net.config) == (before.net.recipe, before.net.config)
    assert (after.encoder, after.training) == (ENCODER, {"setting": "webqa", "best_epoch": 2})
    assert after.net.state_dict().keys() == before.net.state_dict().keys()
    for name, tensor in before.net.state_dict().items():
        assert torch.equal(after.net.state_dict()[name], tensor)


@pytest.mark.parametrize("readout", ["answer", "fixed", "graph", "two_stage"])
def test_a_loaded_net_scores_to_the_bit_as_the_saved_one(tmp_path: Path, readout: str) -> None:
    before = saved(tmp_path, readout=readout, layers=2, dropout=0.25)
    after = load_checkpoint(tmp_path)
    assert not after.net.training
    pools = [pool("Paris", "Rome")]
    assert torch.equal(score(after.net, pools)[0], score(before.net, pools)[0])


@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_a_compact_checkpoint_is_a_quarter_of_the_size_and_scores_nearly_the_same(tmp_path: Path, name: str) -> None:
    before = saved(tmp_path / "whole", EVERY_RECIPE[name])
    save_checkpoint(before, tmp_path / "compact", is_compact=True)
    whole, compact = ((tmp_path / kind / WEIGHTS_FILE).stat().st_size for kind in ("whole", "compact"))
    assert compact < 0.6 * whole  # names weigh, too, in a small network
    after, pools = load_checkpoint(tmp_path / "compact"), [pool("Paris", "Rome")]
    assert score(after.net, pools)[0].tolist() == pytest.approx(score(before.net, pools)[0].tolist(), abs=0.2)


def test_saving_again_replaces_the_checkpoint_and_leaves_no_parts(tmp_path: Path) -> None:
    saved(tmp_path / "new" / "folder")
    second = saved(tmp_path / "new" / "folder", seed=5)
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [CONFIG_FILE, WEIGHTS_FILE]
    after = load_checkpoint(tmp_path / "new" / "folder")
    assert torch.equal(after.net.query_readout.weight, second.net.query_readout.weight)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"x")
    refusal(path)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / WEIGHTS_FILE).unlink()
    assert f"{WEIGHTS_FILE}: missing" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe{", b'{"format": "trace', b"[" * 100_000, b"[]", b"7", b"null"])
def test_a_damaged_config_is_refused(tmp_path: Path, content: bytes) -> None:
    saved(tmp_path)
    (tmp_path / CONFIG_FILE).write_bytes(content)
    assert CONFIG_FILE in refusal(tmp_path)


@pytest.mark.parametrize("damage", [lambda whole: b"", lambda whole: whole[:-9], lambda whole: b"not tensors " * 9])
def test_damaged_weights_are_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    saved(tmp_path)
    path = tmp_path / WEIGHTS_FILE
    path.write_bytes(damage(path.read_bytes()))
    assert f"{WEIGHTS_FILE}: damaged" in refusal(tmp_path)


def test_a_pickle_in_place_of_the_weights_is_not_read(tmp_path: Path) -> None:
    checkpoint = saved(tmp_path)
    torch.save(checkpoint.net.state_dict(), tmp_path / WEIGHTS_FILE)
    assert "damaged" in refusal(tmp_path)


def test_a_newer_format_is_refused_by_its_name(tmp_path: Path) -> None:
    saved(tmp_path)
    edited(tmp_path, lambda config: config.update(format="tracerank-checkpoint/2"))
    message = refusal(tmp_path)
    assert "'tracerank-checkpoint/2'" in message
    assert FORMAT in message


@pytest.mark.parametrize("section", ["recipe", "net", "encoder"])
def test_a_section_that_does_not_fit_is_named(tmp_path: Path, section: str) -> None:
    for edit in (
        lambda config: config.pop(section),
        lambda config: config.update({section: [1]}),
        lambda config: config.update({section: {}}),
        lambda config: config[section].update(invented_later=1),
    ):
        saved(tmp_path)
        edited(tmp_path, edit)
        assert repr(section) in refusal(tmp_path)


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("net", "readout", "guess"),
        ("net", "width", "wide"),
        ("net", "width", -1),
        ("net", "width", None),
        ("net", "heads", 0),
        ("net", "heads", 3),
        ("net", "dropout", 1.0),
        ("net", "dropout", "much"),
        ("encoder", "width", 7),
        ("net", "initial_scale", -1.0),
        ("recipe", "slots", 3),
        ("recipe", "slot_by", "colour"),
        ("recipe", "documents", "domain"),
        ("recipe", "answer_text", "longest"),
        ("recipe", "source_rules", "strict"),
    ],
)
def test_a_value_that_means_nothing_here_is_refused(tmp_path: Path, section: str, name: str, value: object) -> None:
    saved(tmp_path)
    edited(tmp_path, lambda config: config[section].update({name: value}))
    assert CONFIG_FILE in refusal(tmp_path)


def rewritten(folder: Path, edit: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / WEIGHTS_FILE)
    edit(tensors)
    save_file(tensors, folder / WEIGHTS_FILE)
    config = json.loads((folder / CONFIG_FILE).read_text())
    write_description(folder / CONFIG_FILE, config, WEIGHTS_FILE)  # as who means it


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda tensors: tensors.pop("votes.weight"), id="missing"),
        pytest.param(lambda tensors: tensors.update({"votes.weight": torch.zeros(3, 3)}), id="of another shape"),
        pytest.param(lambda tensors: tensors.update(extra=torch.zeros(1)), id="too many"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tmp_path: Path, edit: Callable[[dict[str, torch.Tensor]], object]) -> None:
    saved(tmp_path)
    rewritten(tmp_path, edit)
    message = refusal(tmp_path)
    assert "does not fit" in message
    assert "votes.weight" in message or "extra" in message


def test_weights_of_another_recipe_are_refused(tmp_path: Path) -> None:
    saved(tmp_path / "webqa")
    saved(tmp_path / "browsing", BROWSING_RECIPE)
    (tmp_path / "browsing" / WEIGHTS_FILE).replace(tmp_path / "webqa" / WEIGHTS_FILE)
    assert "its checksum is" in refusal(tmp_path / "webqa")
    rewritten(tmp_path / "webqa", lambda tensors: None)
    assert "does not fit" in refusal(tmp_path / "webqa")


@pytest.mark.parametrize("name", [CONFIG_FILE, WEIGHTS_FILE])
@pytest.mark.parametrize("is_pipe", [True, False], ids=["pipe", "device"])
def test_what_is_no_regular_file_is_refused_unread(tmp_path: Path, name: str, is_pipe: bool) -> None:
    saved(tmp_path)
    (tmp_path / name).unlink()
    if is_pipe:
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to("/dev/zero")
    assert "no regular file" in refusal(tmp_path)


@pytest.mark.parametrize("name", [CONFIG_FILE, WEIGHTS_FILE])
def test_a_file_of_many_gigabytes_is_refused_unread(tmp_path: Path, name: str) -> None:
    saved(tmp_path)
    edited(tmp_path, lambda config: config.pop("checksums"))
    os.truncate(tmp_path / name, 9 << 30)  # sparse
    assert name in refusal(tmp_path)
