"""What ``tracerank select`` costs a pool of 16, a start and a second process: ``python -m studies.speed.deciding``.

CPU time of the command itself, as a user runs it, best of several, on a generated world: a file of many pools less one
of a single pool. ``TRACERANK_BEFORE`` may name the ``src`` of another checkout, which then alternates with this one.
What workers bring is told by CPU time, too: on a machine that has nothing else to do, two processes that share all of
it evenly take half of what both spend.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from studies import ROOT
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.canonical import write_pools
from tracerank.pools.types import WEBQA

POOLS, SEED, ROUNDS = 512, 77, 3
MARKS = {"evidence": 0.9, "majority": 0.9}
"""Most milliseconds of CPU a pool."""
WORKERS_MARK, HELP_MARK, ONE_MARK = 1.7, 0.15, 0.35
"""Least ratio; most seconds of CPU."""


def cpu_seconds(source: Path, *arguments: object) -> float:
    """Of one run of the command, with all processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "tracerank", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}  # as where it is installed
    with tempfile.TemporaryDirectory() as folder:  # not the root, whose modules would come first
        subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def deciding_lines() -> Iterator[str]:
    """One line a figure, with its mark."""
    sources = [ROOT / "src"]
    if before := os.environ.get("TRACERANK_BEFORE"):
        sources.insert(0, Path(before).resolve())
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder) / "one.jsonl", Path(folder) / "many.jsonl"
        pools = list(iter_world(PRESETS["paper"][WEBQA], POOLS + 1, SEED))
        write_pools(one, pools[:1])
        write_pools(many, pools)
        runs: dict[str, tuple[object, ...]] = {"help": ("--help",)}
        for method in MARKS:
            runs |= {f"{method} {file.stem}": ("select", file, "--method", method) for file in (one, many)}
        best: dict[tuple[Path, str], float] = {}
        for _ in range(ROUNDS):
            for source in sources:
                for name, arguments in runs.items():
                    taken = cpu_seconds(source, *arguments)
                    best[source, name] = min(taken, best.get((source, name), taken))
        two = min(cpu_seconds(sources[-1], *runs["evidence many"], "--workers", 2) for _ in range(ROUNDS))
    for source in sources:
        which = "select" if source == sources[-1] else f"select before ({source})"
        for method, mark in MARKS.items():
            taken = (best[source, f"{method} many"] - best[source, f"{method} one"]) / POOLS
            yield f"{which}, {method}, K=16: {taken * 1e3:.2f} ms a pool (to reach: <= {mark} ms)"
        yield f"{which}: --help {best[source, 'help']:.2f} s (to reach: <= {HELP_MARK} s)"
        yield f"{which}: one pool {best[source, 'evidence one']:.2f} s (to reach: <= {ONE_MARK} s)"
    start = best[sources[-1], "evidence one"]
    alone, both = best[sources[-1], "evidence many"] - start, two - 2 * start
    yield (
        f"select, two workers: {both / alone:.2f} times the CPU time of one besides the start, so on two free cores "
        f"{2 * alone / both:.2f}-fold (to reach: >= {WORKERS_MARK}-fold)"
    )


def main() -> None:
    for line in deciding_lines():
        print(line)


if __name__ == "__main__":
    main()
