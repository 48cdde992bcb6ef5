"""``python -m studies.scale``: local, Daft and Ray over generated pools, as a table in Markdown.

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
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from tracerank.agents.worlds.presets import PAPER, iter_world
from tracerank.pools.canonical import rollout_to_record

POOLS_A_FILE = 1000
BLOCK = 500
"""Distinct generated questions."""
K = 8
_PAUSE = 0.25


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
        command += ["-o", str(out), "-q"] + ([] if engine == "local" else ["--workers", str(workers)])
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m studies.scale")
    parser.add_argument("--pools", default="10000,100000", help="numbers of pools, with commas between")
    parser.add_argument("--engines", default="local,daft,ray")
    parser.add_argument("--workers", default="1,2", help="of daft and ray")
    parser.add_argument("--method", default="default")
    parser.add_argument("--cache", type=Path, default=Path("runs/scale"), help="where the generated files stay")
    parser.add_argument("-o", "--output", type=Path, help="also write the figures here, as JSON Lines")
    given = parser.parse_args()
    print("| engine | workers | pools | seconds | pools/s | peak MB |\n|---|---:|---:|---:|---:|---:|")
    for pools in map(int, given.pools.split(",")):
        source = given.cache / f"{pools}-pools"
        if not (source / "COMPLETE").exists():
            shutil.rmtree(source, ignore_errors=True)
            write_pools(source / "files", pools)
            (source / "COMPLETE").touch()
        for engine in given.engines.split(","):
            for workers in [1] if engine == "local" else map(int, given.workers.split(",")):
                found = measured(engine, workers, source / "files", pools, given.method)
                print(
                    f"| {engine} | {workers} | {pools:,} | {found.seconds:.1f} | {found.pools_a_second:,.0f} | "
                    f"{found.peak_megabytes:,.0f} |",
                    flush=True,
                )
                if given.output is not None:
                    with given.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    main()
