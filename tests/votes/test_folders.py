"""Folders of fitted methods: damaged descriptions, checksums, the hub, the questions they were fitted on."""

import copy
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import pool
from tracerank.errors import CheckpointError, TraceRankError
from tracerank.evidence.selector import EvidenceSelector
from tracerank.methods import load_selector
from tracerank.votes import folders
from tracerank.votes.agents import Reliabilities
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.folders import (
    ABOUT,
    CHECKSUMS,
    FITTED_ON,
    SHIPPED,
    fitted_on,
    folder_of,
    read_description,
    remember_fitted,
    selector_digest,
    selector_kind,
    write_description,
)
from tracerank.votes.voting import MajorityVote

POOL = pool("Paris", "Rome", "paris")
VALUES = ("null", "-1", "1e400", '"x"', "[]", "[1]", "{}", "NaN", "1" + "0" * 30)
REMOVED = "@removed"


# Any value of a description may be another: one line that says so, or a selector that works; never a traceback.


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a description stand; what training says about itself is not read."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        if key != "training":
            yield from paths_in(item, (*path, key))


def changed(about: dict[str, Any], path: tuple[Any, ...], value: str) -> str:
    other = copy.deepcopy(about)
    holder: Any = other
    for key in path[:-1]:
        holder = holder[key]
    if value == REMOVED:
        del holder[path[-1]]
        return json.dumps(other)
    holder[path[-1]] = "@"
    return json.dumps(other).replace('"@"', value)


def unexpected(folder: Path, name: str) -> list[tuple[tuple[Any, ...], str, str]]:
    """What went wrong otherwise than in one line of ours."""
    about = json.loads((folder / name).read_text())
    wrong = []
    for path in paths_in(about):
        for value in (*VALUES, REMOVED):
            (folder / name).write_text(changed(about, path, value))
            try:
                load_selector(folder).decide(POOL)
            except TraceRankError as error:
                if "\n" in str(error):
                    wrong.append((path, value, "several lines"))
            except Exception as error:
                wrong.append((path, value, repr(error)))
    return wrong


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("evidence", ABOUT),
        ("evidence", "confidence.json"),
        ("vote", ABOUT),
        ("agents", ABOUT),
        ("network", "config.json"),
    ],
)
def test_a_damaged_description_is_one_line(tmp_path: Path, kind: str, name: str) -> None:
    folder = tmp_path / "mine"
    if kind == "vote":
        FittedVote(MajorityVote()).save(folder)
    elif kind == "agents":
        FittedVote.of_agents(Reliabilities({"a": 0.9, "b": 0.4}, 0.6, 0.2)).save(folder)
    elif kind == "evidence":
        shutil.copytree(folder_of(SHIPPED), folder)
    else:
        pytest.importorskip("torch")
        from tests.gates.network import folder_of as network_in

        shutil.copytree(network_in("webqa"), folder)
    assert unexpected(folder, name) == []


@pytest.mark.parametrize("kind", ["device", "fifo", "folder", "large"])
def test_a_description_that_is_no_file_of_a_sane_size_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ABOUT
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        monkeypatch.setattr(folders, "MAX_DESCRIPTION_BYTES", 10)
        path.write_text(json.dumps({"format": "x" * 20}))
    with pytest.raises(CheckpointError, match=r"no regular file|no description is that large"):
        load_selector(tmp_path)


def test_every_changed_byte_of_weights_is_found(tmp_path: Path) -> None:
    weights, about = tmp_path / "weights.bin", tmp_path / ABOUT
    weights.write_bytes(bytes(range(40)))
    write_description(about, {"format": "f/1"}, weights.name)
    assert read_description(about, "f/1", "thing", weights.name)["format"] == "f/1"
    for index in range(40):
        damaged = bytearray(range(40))
        damaged[index] ^= 1 << index % 8
        weights.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"weights\.bin: damaged"):
            read_description(about, "f/1", "thing", weights.name)
    bare = {name: value for name, value in json.loads(about.read_text()).items() if name != CHECKSUMS}
    about.write_text(json.dumps(bare))
    read_description(about, "f/1", "thing", weights.name)  # folders of others may have no checksum


def test_a_folder_without_a_description_or_of_another_format_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no thing here; expected a folder with selector\.json and w\.bin"):
        read_description(tmp_path / ABOUT, "f/1", "thing", "w.bin")
    (tmp_path / ABOUT).write_text('{"format": "f/2"}')
    with pytest.raises(CheckpointError, match="format is 'f/2'; this version reads 'f/1'"):
        read_description(tmp_path / ABOUT, "f/1", "thing")
    (tmp_path / ABOUT).write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_description(tmp_path / ABOUT, "f/1", "thing")
    with pytest.raises(CheckpointError, match="no checkpoint here; expected the folder of a selector"):
        load_selector(tmp_path / "nowhere")


@pytest.mark.parametrize("grouping", [None, ExactGroups(), DefaultGroups(), MeaningGroups()])
def test_a_vote_in_a_folder_decides_as_before_with_a_confidence(tmp_path: Path, grouping: Any) -> None:
    vote = MajorityVote(grouping, "shortest")
    FittedVote(vote).save(tmp_path)
    loaded = load_selector(tmp_path)
    assert (selector_kind(tmp_path), loaded.name) == ("vote", "vote")
    decision, wanted = loaded.decide(POOL), vote.decide(POOL)
    assert (decision.sample_id, decision.scores, decision.group) == (wanted.sample_id, wanted.scores, wanted.group)
    assert decision.rank_score is not None
    assert loaded.of_form("longest").decide(POOL).sample_id == MajorityVote(grouping, "longest").decide(POOL).sample_id


def test_a_digest_is_of_descriptions_and_weights_alone(tmp_path: Path) -> None:
    shutil.copytree(folder_of(SHIPPED), tmp_path / "mine")
    assert selector_digest(tmp_path / "mine") == selector_digest(SHIPPED)
    (tmp_path / "mine" / "README.md").write_text("other")
    assert selector_digest(tmp_path / "mine") == selector_digest(SHIPPED)
    (tmp_path / "mine" / "stopping.json").write_text("{}")
    assert selector_digest(tmp_path / "mine") != selector_digest(SHIPPED)
    assert selector_digest("no-folder") == "no-folder"


def test_the_questions_that_a_folder_was_fitted_on_are_known_without_their_text(tmp_path: Path) -> None:
    assert not fitted_on(SHIPPED)
    remember_fitted(tmp_path, ["Capital?", "Who?"])
    first = fitted_on(tmp_path)
    assert len(first) == 2
    assert POOL in first | fitted_on(SHIPPED) if POOL.question.text in ("Capital?", "Who?") else POOL not in first
    remember_fitted(tmp_path, ["Where?"], first)
    assert len(fitted_on(tmp_path)) == 3
    assert b"Capital" not in (tmp_path / FITTED_ON).read_bytes()
    (tmp_path / FITTED_ON).write_bytes(b"xyz")
    with pytest.raises(CheckpointError, match="damaged"):
        fitted_on(tmp_path)


# Folders of the hub, from a cache on this machine; nothing is downloaded.

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache as huggingface_hub lays it out, with what ships as ours/chooser and a pickle as ours/torn."""
    constants = pytest.importorskip("huggingface_hub.constants")
    for name in ("chooser", "torn"):
        repository = tmp_path / "hub" / f"models--ours--{name}"
        snapshot = repository / "snapshots" / COMMIT
        snapshot.parent.mkdir(parents=True)
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(COMMIT)
        if name == "chooser":
            shutil.copytree(folder_of(SHIPPED), snapshot)
        else:
            snapshot.mkdir()
            (snapshot / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    folders.hub_folder.cache_clear()


@pytest.mark.parametrize("name", ["ours/chooser", "ours/chooser@main", f"ours/chooser@{COMMIT}"])
def test_a_selector_of_the_hub_is_loaded_by_its_name(hub: None, name: str) -> None:
    assert isinstance(load_selector(name), EvidenceSelector)


@pytest.mark.parametrize("name", ["ours/nothing", "ours/torn"])
def test_what_is_not_there_or_only_a_pickle_is_one_line(hub: None, name: str) -> None:
    with pytest.raises(CheckpointError, match="here") as raised:
        load_selector(name)
    assert "\n" not in str(raised.value)


def test_without_the_library_the_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    folders.hub_folder.cache_clear()
    with pytest.raises(CheckpointError, match=r"no checkpoint here; .* needs huggingface_hub; install it: "):
        load_selector("ours/chooser")


@pytest.mark.parametrize("name", ["checkpoints/mine", "./ours/chooser", "a/b/c"])
def test_a_mistyped_folder_of_ours_asks_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "checkpoints").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folders, "hub_folder", lambda name: pytest.fail("the hub was asked"))
    with pytest.raises(CheckpointError, match="no checkpoint here"):
        load_selector(name)
