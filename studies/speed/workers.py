"""What ``tracerank select --workers 2`` brings by the clock: ``python -m studies.speed.workers [POOLS]``.

One worker and two take turns on one file of generated pools, best of several; the output must be the same. By the clock
the ratio means something only on a machine with nothing else to do, so the CPU time of each process is told beside it:
what the first process spends alone is what no further worker can take from it. ``TRACERANK_BEFORE`` may name the
``src`` of another checkout, which then takes its turn as well.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from studies import ROOT
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.canonical import write_pools
from tracerank.pools.types import WEBQA

POOLS, SEED, ROUNDS, WORKERS = 3000, 78, 3, 2
MARK = 1.7
"""Least ratio by the clock."""
_RUN = """
import atexit, json, resource, sys
from tracerank.cli import main

told = sys.argv.pop()

def tell():
    spent = [sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with open(told, "w") as file:
        json.dump(spent, file)

atexit.register(tell)
main()
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What one command took, in seconds."""

    clock: float
    first: float
    """CPU time of the process that reads and writes."""
    others: float
    output: bytes
    """Digest of what it wrote."""


def run_of(source: Path, file: Path, workers: int, folder: Path) -> Run:
    """One run of the command as a user starts it."""
    told = folder / "told.json"
    command = [sys.executable, "-c", _RUN, "select", str(file), "--quiet", "--workers", str(workers), str(told)]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE)
    clock = time.perf_counter() - began
    first, others = json.loads(told.read_text())
    return Run(clock, first, others, blake2b(done.stdout).digest())


def worker_lines(pools: int = POOLS) -> Iterator[str]:
    """One line a checkout."""
    sources = [ROOT / "src"]
    if before := os.environ.get("TRACERANK_BEFORE"):
        sources.insert(0, Path(before).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "pools.jsonl"
        write_pools(file, iter_world(PRESETS["paper"][WEBQA], pools, SEED))
        best: dict[tuple[Path, int], Run] = {}
        for _ in range(ROUNDS):
            for source in sources:
                for count in (1, WORKERS):
                    run = run_of(source, file, count, folder)
                    known = best.setdefault((source, count), run)
                    if run.output != known.output:
                        raise AssertionError(f"{count} workers write something else")
                    if run.clock < known.clock:
                        best[source, count] = run
    for source in sources:
        one, two = best[source, 1], best[source, WORKERS]
        is_same = "the same bytes" if one.output == two.output else "OTHER BYTES"
        yield (
            f"{source}: {pools:,} pools, {one.clock:.1f} s with one process, {two.clock:.1f} s with {WORKERS}, "
            f"{one.clock / two.clock:.2f}-fold (to reach: >= {MARK}), {is_same}; CPU {one.first:.1f} s, and "
            f"{two.first:.1f} + {two.others:.1f} s"
        )


def main() -> None:
    for line in worker_lines(*map(int, sys.argv[1:2])):
        print(line)


if __name__ == "__main__":
    main()
