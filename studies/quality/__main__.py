"""Accuracy by meaning, set by set: ``python -m studies.quality CACHE`` writes ``studies/results/quality.csv``.

Each set is measured once and kept in the cache; ``--again`` measures everything again. Names of sets after the cache
measure these alone.
"""

import argparse
import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from rich.console import Console

from studies import RESULTS
from studies.quality.cells import Row, measure
from studies.quality.sets import sets
from tracerank.methods import load_method
from tracerank.runs.atomic import write_text
from tracerank.votes.answer_groups import MeaningGroups, WithoutAbstentions
from tracerank.votes.base import Method
from tracerank.votes.simple import Oracle, SingleRollout
from tracerank.votes.voting import MajorityVote

FILE = RESULTS / "quality.csv"


def methods() -> dict[str, Method]:
    return {
        "single": SingleRollout(),
        "majority": MajorityVote(WithoutAbstentions()),
        "majority by meaning": MajorityVote(MeaningGroups(), "commonest"),
        "evidence": load_method("evidence"),
        "oracle": Oracle(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for indexes and finished sets")
    parser.add_argument("sets", nargs="*", metavar="SET", help="measure these alone")
    parser.add_argument("--again", action="store_true", help="measure finished sets again")
    chosen = parser.parse_args(arguments)
    console, rows = Console(stderr=True), list[Row]()
    chosen.cache.mkdir(parents=True, exist_ok=True)
    for name, load, ks in sets():
        kept = chosen.cache / f"quality-{name.replace(' ', '-')}.json"
        if (chosen.again or not kept.exists()) and (not chosen.sets or name in chosen.sets):
            pools = load(chosen.cache)
            made = [row for k in ks for row in measure(name, [pool for pool in pools if len(pool) >= k], k, methods())]
            write_text(kept, json.dumps([asdict(row) for row in made]))
            console.print(f"{name}: {len(pools):,} questions")
        if kept.exists():
            rows += [Row(**row) for row in json.loads(kept.read_text(encoding="utf-8"))]
    FILE.parent.mkdir(exist_ok=True)
    with open(FILE, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(Row)])
        table.writerows([getattr(row, field.name) for field in fields(Row)] for row in rows)
    console.print(f"{FILE}: {len(rows)} rows")


if __name__ == "__main__":
    main()
