"""The ordered map: the same results in the same order, in however many processes."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
