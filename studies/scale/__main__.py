"""``python -m studies.scale``: local, Daft and Ray over generated pools, as the table of docs/scale.md.

Rows are kept in a file: after an interruption the same command measures what is missing, and all are printed.
Every run is a process of its own; its memory is the greatest sum of resident sizes of the process and all below it,
read four times a second. Ray's own servers count. Pools repeat a generated block under new ids, so files grow and
texts do not.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.canonical import rollout_to_record

POOLS_A_FILE = 1000
BLOCK = 500
"""Distinct generated questions."""
K = 8
_PAUSE = 0.25
ENGINES = ("local", "daft", "ray")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one engine."""

    engine: str
    workers: int
    pools: int
    seconds: float
    pools_a_second: float
    peak_megabytes: float


def write_pools(folder: Path, count: int) -> None:
    """Parquet files of whole questions."""
    folder.mkdir(parents=True, exist_ok=True)
    block = [
        [rollout_to_record(pool.question, rollout) for rollout in pool.rollouts]
        for pool in iter_world(PAPER["webqa"], BLOCK, 11, K)
    ]
    names = dict.fromkeys(name for rows in block for row in rows for name in row)
    pools = _repeated(block)
    for number in range(-(-count // POOLS_A_FILE)):
        rows = [
            {name: row.get(name) for name in names}
            for pool in islice(pools, min(POOLS_A_FILE, count - number * POOLS_A_FILE))
            for row in pool
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{number:05}.parquet", compression="zstd")


def _repeated(block: list[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    turn = 0
    while True:
        for pool in block:
            yield [{**row, "question_id": f"{row['question_id']}/{turn}"} for row in pool]
        turn += 1


def measured(engine: str, workers: int, source: Path, pools: int, method: str) -> Measured:
    """One run into a folder that goes again."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / ("out.jsonl" if engine == "local" else "out")
        command = [sys.executable, "-m", "tracerank", "select", str(source), "--engine", engine, "--method", method]
        command += ["-o", str(out), "-q", "--workers", str(workers)]
        began = time.monotonic()
        process = subprocess.Popen(command)
        peak = 0
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(_PAUSE)
        seconds = time.monotonic() - began
        if process.returncode:
            raise SystemExit(f"{engine}: ended with {process.returncode}")
    return Measured(engine, workers, pools, seconds, pools / seconds, peak / 1e6)


def _resident(pid: int) -> int:
    total = 0
    try:
        parent = psutil.Process(pid)
        for one in (parent, *parent.children(recursive=True)):
            try:
                total += one.memory_info().rss
            except psutil.NoSuchProcess:
                continue
    except psutil.NoSuchProcess:
        return 0
    return total


def rows_of(path: Path) -> list[Measured]:
    """What was measured before."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Measured(**json.loads(line)) for line in lines]


def table(rows: Sequence[Measured]) -> Iterator[str]:
    """The table of docs/scale.md: against the local loop at the same number of pools, and against one worker."""
    by = {(one.engine, one.workers, one.pools): one for one in rows}
    least = min(one.pools for one in rows)
    yield "| engine | workers | pools | seconds | pools/s | s over local a 1,000 | 1 → 2 workers | peak MB | grown |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for one in sorted(rows, key=lambda one: (one.pools, ENGINES.index(one.engine), one.workers)):
        local, single = by.get((ENGINES[0], 1, one.pools)), by.get((one.engine, 1, one.pools))
        first = by.get((one.engine, one.workers, least))
        more = ""
        if local is not None and one.engine != ENGINES[0]:
            more = f"{(one.seconds - local.seconds / one.workers) / one.pools * 1000:+.2f}"
        gained = f"{single.seconds / one.seconds:.2f}x" if single is not None and one.workers > 1 else ""
        grown = f"{one.peak_megabytes / first.peak_megabytes:.2f}x" if first is not None and first is not one else ""
        yield (
            f"| {one.engine} | {one.workers} | {one.pools:,} | {one.seconds:,.1f} | {one.pools_a_second:,.0f} | "
            f"{more} | {gained} | {one.peak_megabytes:,.0f} | {grown} |"
        )


def main() -> None:
    """Measure what is missing and print all."""
    parser = argparse.ArgumentParser(prog="python -m studies.scale")
    parser.add_argument("--pools", default="10000,50000,200000", help="numbers of pools, with commas between")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--workers", default="1,2", help="of daft and ray, and of local with --workers")
    parser.add_argument("--method", default="default")
    parser.add_argument("--cache", type=Path, default=Path("runs/scale"), help="where files and rows stay")
    given = parser.parse_args()
    kept = given.cache / f"rows-{given.method}.jsonl"
    rows = rows_of(kept)
    done = {(one.engine, one.workers, one.pools) for one in rows}
    for pools in map(int, given.pools.split(",")):
        source = given.cache / f"{pools}-pools"
        if not (source / "COMPLETE").exists():
            shutil.rmtree(source, ignore_errors=True)
            write_pools(source / "files", pools)
            (source / "COMPLETE").touch()
        for engine in given.engines.split(","):
            for workers in map(int, given.workers.split(",")):
                if (engine, workers, pools) in done:
                    continue
                rows.append(measured(engine, workers, source / "files", pools, given.method))
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(rows[-1])) + "\n")
                print(rows[-1], file=sys.stderr, flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
