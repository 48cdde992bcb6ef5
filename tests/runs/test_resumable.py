"""JSON Lines that survive a kill, whoever killed them and wherever they were."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tracerank.errors import UsageError
from tracerank.runs.atomic import line_of, write_text
from tracerank.runs.resumable import ResumableLines, RunComplete, read_lines, settings_file

RUN = {"seed": 1}


def records(count: int) -> list[dict[str, int]]:
    return [{"n": number} for number in range(count)]


def interrupted(path: Path, count: int, settings: dict[str, int] = RUN) -> None:
    with suppress(KeyboardInterrupt), ResumableLines(path, settings) as lines:
        for record in records(count):
            lines.write(line_of(record))
        raise KeyboardInterrupt


def resumed(path: Path, total: int, settings: dict[str, int] = RUN, **given: bool) -> int:
    """Writes what is missing; how many were there."""
    with ResumableLines(path, settings, **given) as lines:
        kept = list(lines.kept())
        for record in records(total)[len(kept) :]:
            lines.write(line_of(record))
    return len(kept)


def test_a_finished_run_leaves_its_file_alone(tmp_path: Path) -> None:
    assert resumed(tmp_path / "out.jsonl", 3) == 0
    assert os.listdir(tmp_path) == ["out.jsonl"]
    assert list(read_lines(tmp_path / "out.jsonl")) == records(3)


@pytest.mark.parametrize("tail", [b"", b'{"n": 2', b"[2]\n", b"\xff\n", b"null"])
def test_the_same_run_continues_behind_the_last_whole_line(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "out.jsonl"
    interrupted(path, 2)
    with open(tmp_path / "out.jsonl.part", "ab") as part:
        part.write(tail)
    assert resumed(path, 4) == 2
    assert list(read_lines(path)) == records(4)
    assert os.listdir(tmp_path) == ["out.jsonl"]


def test_records_are_forgotten_from_the_first_that_is_not_good(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    interrupted(path, 4)
    with ResumableLines(path, RUN) as lines:
        assert list(lines.kept(lambda record: record["n"] != 2)) == records(2)
        lines.write(line_of({"n": "again"}))
    assert list(read_lines(path)) == [*records(2), {"n": "again"}]


def test_another_run_is_refused_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    interrupted(path, 2)
    with pytest.raises(UsageError, match="other arguments or inputs"):
        resumed(path, 4, {"seed": 2})
    assert resumed(path, 4, {"seed": 2}, force=True) == 0
    with pytest.raises(UsageError, match="already exists"):
        resumed(path, 4)
    assert resumed(path, 5, force=True) == 0
    assert len(list(read_lines(path))) == 5


def test_a_run_that_fails_before_its_first_line_leaves_nothing(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.jsonl", 0)
    assert os.listdir(tmp_path) == []


def test_a_run_that_was_killed_behind_its_end_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    resumed(path, 2)
    settings_file(path).write_text(json.dumps(RUN))
    with pytest.raises(RunComplete):
        resumed(path, 2)
    assert os.listdir(tmp_path) == ["out.jsonl"]


def test_a_run_that_was_killed_while_it_was_finishing_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    interrupted(path, 3)
    (tmp_path / ".out.json.tmp").write_text("half")
    (tmp_path / ".out.json.lock").touch()

    def finish(part: Path, path: Path) -> None:
        write_text(path, json.dumps(list(read_lines(part))))

    with ResumableLines(path, RUN, finish=finish) as lines:
        assert len(list(lines.kept())) == 3
    assert os.listdir(tmp_path) == ["out.json"]
    assert json.loads(path.read_text()) == records(3)


def test_the_part_stays_where_failures_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    for expected in (0, 3):
        with ResumableLines(path, RUN, finish=lambda part, path: write_text(path, part.read_text())) as lines:
            assert len(list(lines.kept())) == expected
            for record in records(3)[expected:]:
                lines.write(line_of(record))
            lines.keep_part = True
    assert (tmp_path / "out.jsonl.part").exists()


def test_a_device_is_refused() -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        ResumableLines(Path("/dev/null"), RUN)


SCRIPT = """
import sys, time
from pathlib import Path
from tracerank.runs.resumable import ResumableLines
with ResumableLines(Path(sys.argv[1]), {"seed": 1}) as lines:
    for n in range(len(list(lines.kept())), 300):
        time.sleep(0.001)
        lines.write(b'{"n": %d}\\n' % n)
"""


def starts(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    while not path.exists():
        yield subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)])


def test_kills_at_any_time_end_in_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    for number, process in enumerate(starts(path)):
        try:
            process.wait(timeout=0.1 * (number + 1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert list(read_lines(path)) == records(300)
    assert [name for name in os.listdir(tmp_path) if not name.startswith("out.jsonl")] == []
