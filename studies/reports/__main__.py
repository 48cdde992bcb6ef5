"""Reports measured: ``python -m studies.reports [FOLDER]`` writes ``studies/results/reports_*.csv``."""

import argparse
import csv
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from studies import RESULTS
from studies.reports.choices import choice_rows, intruder_row
from studies.reports.claims import claim_rows
from studies.reports.sets import FOLDER, sets
from tracerank.reports.comparison import compare_reports

LENGTHS = ((1, 1_000), (8, 1_000), (8, 5_000), (8, 10_000), (8, 20_000))
"""Reports and words of each."""


def speed_rows(texts: Sequence[str]) -> Iterator[dict[str, object]]:
    """CPU time, least of three, of tables over reports shuffled from real sentences, three in ten of them shared."""
    sentences = sorted({f"{part.strip()}." for text in texts for part in text.split(". ") if len(part) > 30})
    for count, words in LENGTHS:
        reports = [_shuffled(sentences, words, random.Random(number)) for number in range(count)]
        times = []
        for _ in range(3):
            begin = time.process_time()
            compared = compare_reports("Tell me about this person and their career.", reports)
            times.append(time.process_time() - begin)
        yield {"reports": count, "words": words, "claims": len(compared.claims), "seconds": round(min(times), 3)}


def _shuffled(sentences: Sequence[str], words: int, rng: random.Random) -> str:
    said: list[str] = []
    while words > 0:
        said.append(rng.choice(sentences[:300] if rng.random() < 0.3 else sentences))
        words -= len(said[-1].split())
    return " ".join(said)


def write(name: str, rows: Sequence[dict[str, object]], console: Console) -> None:
    """A CSV file, and the same on the terminal."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with open(RESULTS / f"reports_{name}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    table = Table(*columns)
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.reports", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="files of scored reports, *.jsonl.gz")
    found = list(sets(parser.parse_args(arguments).folder))
    console = Console()
    write(
        "choice",
        [row for name, pools in found for row in (*choice_rows(name, pools), intruder_row(name, pools))],
        console,
    )
    write("claims", [row for name, pools in found for row in claim_rows(name, pools)], console)
    texts = [report for _, pools in found for pool in pools for report in pool.reports]
    write("speed", list(speed_rows(texts)), console)


if __name__ == "__main__":
    main()
