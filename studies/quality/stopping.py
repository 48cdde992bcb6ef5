"""Replays of stopping rules on pools that nothing was fitted on: ``python -m studies.quality.stopping CACHE [SET …]``.

Writes ``studies/results/stopping.csv``: by set and rule the mean number of rollouts and the accuracy, in random orders.
``tracerank evaluate --stopping`` does the same with any labelled file.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

from studies import RESULTS
from studies.quality.sets import sets
from tracerank.evidence.confidence import set_level
from tracerank.evidence.level import estimate_level
from tracerank.methods import load_method
from tracerank.stopping.replay import replay

SETS = ("hotpot_agent", "hotpot_agent+", "world")
QUESTIONS, ORDERS = 250, 2


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.stopping", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for indexes")
    parser.add_argument("sets", nargs="*", metavar="SET", help="measure these alone")
    chosen = parser.parse_args(arguments)
    with open(RESULTS / "stopping.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("set", "k", "rule", "rollouts", "right"))
        for name, load, _ in sets():
            if name not in (chosen.sets or SETS):
                continue
            pools, method = load(chosen.cache)[:QUESTIONS], load_method("evidence")
            set_level(method, estimate_level(pools))
            found = replay(pools, method, orders=ORDERS)
            for one in found.outcomes:
                table.writerow((name, found.k, one.rule, round(one.rollouts, 3), round(one.accuracy, 4)))
            print(f"{name}: {found.sentence}", flush=True)


if __name__ == "__main__":
    main()
