"""The one writer of whole files: nothing half under a name, nothing left beside it, the system's words in one line."""

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import UsageError
from tracerank.runs.atomic import is_draft, replacing, whole_file, write_json, write_lines, write_text


def dying(records: int) -> Iterator[dict[str, Any]]:
    yield from ({"n": n} for n in range(records))
    raise KeyboardInterrupt


def test_a_file_appears_when_the_block_ends_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with whole_file(path) as file:
        file.write(b"<p>")
        file.flush()
        assert not path.exists()
        assert all(is_draft(name) for name in os.listdir(tmp_path))
    assert path.read_bytes() == b"<p>"
    assert os.listdir(tmp_path) == ["page.html"]
    assert not is_draft("page.html")


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_lines(path, dying(3))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]


def test_a_link_stays_and_what_it_points_at_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to("real.json")
    write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == {"a": 1}


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join()
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    "write", [lambda path: write_text(path, ""), lambda path: write_json(path, {}), lambda path: write_lines(path, [])]
)
def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, write: Callable[[Path], None]) -> None:
    with pytest.raises(UsageError, match="is a directory; name a file in it"):
        write(tmp_path)
    with pytest.raises(UsageError, match=r"missing.x: cannot be written \(No such file or directory\)"):
        write(tmp_path / "missing" / "x")


def test_a_draft_that_a_killed_process_left_is_used_again(tmp_path: Path) -> None:
    (tmp_path / ".page.html.tmp").write_text("half of something longer")
    write_text(tmp_path / "page.html", "whole")
    assert (tmp_path / "page.html").read_text() == "whole"
    assert os.listdir(tmp_path) == ["page.html"]


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with whole_file(path) as file:
        with pytest.raises(UsageError, match=r"page\.html: another process is writing it"):
            write_text(path, "other")
        file.write(b"first")
    assert path.read_text() == "first"


def test_the_bare_draft_lets_the_systems_errors_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "missing" / "x") as draft:
        draft.write_text("")
