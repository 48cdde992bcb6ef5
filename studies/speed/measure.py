"""Paired timing: both sides in one process on one thread, alternating, the best of several rounds counts."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paired:
    """CPU seconds of both sides."""

    twin: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.twin / self.ours


def cpu_seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def paired(twin: Callable[[], object], ours: Callable[[], object], rounds: int) -> Paired:
    """Alternate both sides; a noisy moment hits both, and the best round of each is kept."""
    twin()
    ours()
    times = [(cpu_seconds(twin), cpu_seconds(ours)) for _ in range(rounds)]
    return Paired(min(t for t, _ in times), min(o for _, o in times))
