"""The local loop under kills: whatever the moment, the same command goes on and ends with the same bytes."""

import sys
from pathlib import Path

import pytest

from studies.scale.streaming import (
    command_line,
    digest_of,
    is_in_order,
    killed_and_resumed,
    measured,
    peak_of,
    write_questions,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX has them")


def killed(command: str, pools: int, kills: int, folder: Path) -> bool:
    source = folder / "pools.jsonl"
    if not source.exists():
        write_questions(source, pools)
    whole, resumed = folder / f"{command}-whole.jsonl", folder / f"{command}-resumed.jsonl"
    peak_of(command_line(command, source, whole))
    assert is_in_order(whole)
    assert killed_and_resumed(command_line(command, source, resumed), resumed, whole.stat().st_size, kills) > 0
    return digest_of(whole) == digest_of(resumed)


def test_select_and_convert_killed_at_any_moment_end_with_the_same_bytes(tmp_path: Path) -> None:
    assert all(killed(command, 2000, 2, tmp_path) for command in ("select", "convert"))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["select", "convert", "embed"])
def test_ten_kills_cost_nothing_and_memory_does_not_grow_with_the_input(command: str, tmp_path: Path) -> None:
    few = measured(command, 10_000, tmp_path, 0)
    many = measured(command, 40_000, tmp_path, 10)
    assert many.is_same
    assert many.peak_megabytes < 1.3 * few.peak_megabytes
