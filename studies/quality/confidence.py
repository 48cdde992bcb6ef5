"""Calibration of confidences on agents never fitted on: ``python -m studies.quality.confidence CACHE``.

Writes ``studies/results/confidence.csv``: by set, K and method what is right, what the confidence says, and scoring
rules beside those of the share of votes. Labels are by meaning; every pool is cut to random subsets of K rollouts.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from studies import RESULTS
from studies.quality.cells import subsets
from studies.quality.sets import UNSEEN, sets
from tracerank.answers.meaning.grouping import group_by_meaning
from tracerank.evaluation.calibration import reliability
from tracerank.methods import MethodOptions, load_method
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.votes.base import Method, decide_stream

METHODS = {"evidence": {}, "majority": {"equality": "meaning"}}
FIELDS = (
    "set",
    "k",
    "method",
    "questions",
    "right",
    "confidence",
    "brier",
    "votes_brier",
    "ece",
    "auroc",
    "votes_auroc",
)

Floats = NDArray[np.float64]


def outcomes(method: Method, pools: Sequence[Pool]) -> tuple[Floats, Floats, Floats]:
    """By pool: confidence (NaN without one), whether the answer is right, the share of rollouts that agree with it."""
    rows = []
    for pool, decision in decide_stream(method, pools):
        groups = group_by_meaning([one.answer or "" for one in pool.rollouts], pool.question.text)
        chosen = [groups[index] for index, one in enumerate(pool.rollouts) if one.sample_id == decision.sample_id]
        share = groups.count(chosen[0]) / len(pool) if chosen else 0.0
        confidence = np.nan if decision.confidence is None else decision.confidence
        rows.append((confidence, choice(pool, decision.sample_id).correct or 0.0, share))
    confidence, right, share = np.array(rows, np.float64).T
    return confidence, right, share


def row(name: str, k: int, title: str, method: Method, pools: Sequence[Pool]) -> tuple[object, ...]:
    confidence, right, share = outcomes(method, subsets(pools, k))
    known = ~np.isnan(confidence)
    ours, votes = reliability(confidence[known], right[known]), reliability(share[known], right[known])
    figures = (ours.accuracy, ours.confidence, ours.brier, votes.brier, ours.ece, ours.auroc, votes.auroc)
    return (name, k, title, len(pools), *(round(float(figure), 4) for figure in figures))


def rows(cache: Path, names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for name, load, ks in sets():
        if (names and name not in names) or (not names and name not in (*UNSEEN, "world")):
            continue
        pools = load(cache)
        for k in ks:
            sized = [pool for pool in pools if len(pool) >= k]
            for title, options in METHODS.items():
                yield row(name, k, title, load_method(title, MethodOptions(**options)), sized)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.confidence", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for indexes")
    parser.add_argument("sets", nargs="*", metavar="SET", help="measure these alone")
    chosen = parser.parse_args(arguments)
    with open(RESULTS / "confidence.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        for one in rows(chosen.cache, chosen.sets):
            table.writerow(one)
            print(*one, sep=", ", flush=True)


if __name__ == "__main__":
    main()
