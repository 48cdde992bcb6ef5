"""The ordered map: the same results in the same order, in however many processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil
import pytest

from tracerank.errors import TraceRankError, UsageError
from tracerank.runs.process_map import ordered_map


@dataclass(frozen=True)
class Power:
    exponent: int
    dies_at: int | None = None
    fails_at: int | None = None

    def __call__(self) -> Callable[[list[int]], Iterator[int]]:
        return self.raised

    def raised(self, block: list[int]) -> Iterator[int]:
        for number in block:
            if number == self.dies_at:
                os._exit(1)
            if number == self.fails_at:
                raise UsageError(f"cannot raise {number}")
            yield number**self.exponent


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_results_come_in_order(workers: int, count: int) -> None:
    assert list(ordered_map(Power(2), range(count), workers, block=7)) == [n**2 for n in range(count)]


def test_items_are_taken_as_they_are_needed() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(10_000):
            taken.append(number)
            yield number

    results = ordered_map(Power(2), items(), 2, block=5)
    assert next(results) == 0
    assert len(taken) < 200
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_at_its_turn(workers: int) -> None:
    results = ordered_map(Power(2, fails_at=30), range(100), workers, block=10)
    assert [next(results) for _ in range(30)] == [n**2 for n in range(30)]
    with pytest.raises(UsageError, match="cannot raise 30"):
        list(results)


def test_a_worker_that_dies_is_one_line() -> None:
    with pytest.raises(TraceRankError, match="a worker process died"):
        list(ordered_map(Power(2, dies_at=30), range(100), 2, block=10))


def _endless(block: list[int]) -> list[int]:
    time.sleep(0.05)
    return block


def _setup_endless() -> Callable[[list[int]], list[int]]:
    return _endless


def test_workers_end_when_their_parent_is_killed() -> None:
    code = (
        "from tests.runs.test_process_map import _setup_endless, ordered_map\n"
        "for one in ordered_map(_setup_endless, iter(int, 1), 2, block=1): print(one, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        children = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()
    _, left = psutil.wait_procs(children, timeout=20)
    assert len(children) >= 2
    assert not [one for one in left if one.status() != psutil.STATUS_ZOMBIE]
