"""Does memory grow with the input? ``python -m studies.streaming FOLDER`` writes ``studies/results/memory.csv``.

``select``, ``convert`` and ``lab embed`` run over generated pools of about 8 kB, at several numbers of pools; engines
read the same pools from Parquet. Memory is that of the whole process tree.
"""

import argparse
import csv
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow.parquet
from pyarrow import json as arrow_json

from studies import RESULTS

ROLLOUTS, TEXT_WORDS = 4, 280
ROW_GROUP = 4096
"""Rows; engines hold whole row groups."""
SIZES = (10_000, 100_000)
COMMANDS = {
    "select --method majority": ["select", "{input}", "--method", "majority", "-o", "{output}"],
    "select --method evidence": ["select", "{input}", "-o", "{output}"],
    "convert": ["convert", "{input}", "-o", "{output}"],
    "lab embed": ["lab", "embed", "{input}", "--encoder", "hash-32", "--cache", "{output}"],
    **{
        f"select --engine {name}": ["select", "{parquet}", "--engine", name, "--method", "majority", "-o", "{output}"]
        for name in ("daft", "ray")
    },
}


def write_pools(path: Path, count: int) -> None:
    """Canonical records, a question's rollouts one after the other."""
    draw, words = random.Random(7), [f"w{number}" for number in range(5000)]
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            for sample in range(ROLLOUTS):
                answer = f"answer {draw.randrange(3)} of {number}"
                text = " ".join(draw.choices(words, k=TEXT_WORDS))
                evidence = [{"text": f"{text} {answer}", "rank": 1, "document": {"key": f"d{number}-{sample}"}}]
                record = {
                    "question_id": f"q{number}",
                    "question": f"What does bridge {number} cross?",
                    "sample_id": sample,
                    "answer": answer,
                    "searches": [{"query": f"bridge {number}", "evidence": evidence}],
                }
                file.write(json.dumps(record) + "\n")


def peak_of(command: Sequence[str]) -> tuple[float, float]:
    """Seconds of one run, and the highest sum of the proportional memory of all its processes, in megabytes."""
    began, peak = time.monotonic(), 0
    process = subprocess.Popen([sys.executable, "-m", "tracerank", *command, "-q"])
    top = psutil.Process(process.pid)
    while process.poll() is None:
        total = 0
        with suppress(psutil.Error):
            for one in [top, *top.children(recursive=True)]:
                with suppress(psutil.Error):
                    total += one.memory_full_info().pss  # pages that processes share, such as Ray's store, count once
        peak = max(peak, total)
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return time.monotonic() - began, peak / 2**20


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.streaming", description=__doc__)
    parser.add_argument("folder", type=Path, help="for inputs and outputs; several gigabytes at a million pools")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of pools")
    parser.add_argument("--commands", nargs="+", default=COMMANDS, choices=COMMANDS)
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for size in chosen.sizes:
        source = chosen.folder / f"pools-{size}.jsonl"
        if not source.exists():
            write_pools(source, size)
            table = arrow_json.read_json(source)
            pyarrow.parquet.write_table(table, source.with_suffix(".parquet"), row_group_size=ROW_GROUP)
        files = {"input": source, "parquet": source.with_suffix(".parquet")}
        for name in chosen.commands:
            output = chosen.folder / f"{name.replace(' ', '-')}-{size}.jsonl"
            if output.is_dir():
                shutil.rmtree(output)
            seconds, megabytes = peak_of([part.format(**files, output=output) for part in COMMANDS[name]])
            rows.append((name, size, round(seconds, 1), round(megabytes)))
            print(*rows[-1], sep=", ", flush=True)
    RESULTS.mkdir(exist_ok=True)
    with open(RESULTS / "memory.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("command", "pools", "seconds", "peak_mb"))
        table.writerows(rows)


if __name__ == "__main__":
    main()
