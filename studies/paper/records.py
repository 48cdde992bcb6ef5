"""What was right question by question, of every method on every test set: ``studies/results/paper_records.csv``.

The file is all that outlives a machine. Tables are folded from it, and what it holds is never computed again.
"""

import csv
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from studies import read_table
from studies.paper.questions import QuestionSet
from tracerank.evaluation.bootstrap import RESAMPLES
from tracerank.evaluation.evaluate import oracle
from tracerank.methods import load_selector
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.base import Method, decide_stream
from tracerank.votes.simple import FewestTools, SingleRollout
from tracerank.votes.voting import MajorityVote
from tracerank.votes.weighted import WeightedVote

VOTE, MEAN_SINGLE, ORACLE = "majority-paper", "mean-single", "oracle"
MAJORITY_K = 64
"""Rollouts of the vote that K=8 is compared with (Sec. 4.4)."""
BLOCK_POOLS = 64
HEAD = ("test set", "k", "method", "questions", "levels", "right")

Right = NDArray[np.float64]
"""What was right by question: 0 or 1, or the mean of the pool's rollouts."""


def percent(values: Right) -> float:
    return round(100 * float(values.mean()), 1)


def gain(values: Right, over: Right) -> tuple[float, float, float]:
    """Mean difference and its paired 95% bootstrap interval, in points.

    Differences take few values, so that a resample of the questions is a draw of how often each value occurs.
    """
    levels, counts = np.unique(values - over, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(values), counts / len(values), RESAMPLES)
    low, high = np.quantile(drawn @ levels / len(values), (0.025, 0.975))
    return tuple(round(100 * float(each), 1) + 0.0 for each in ((values - over).mean(), low, high))  # type: ignore[return-value]


def right(method: Method, pools: Iterable[Pool]) -> Right:
    return np.array([choice(pool, one.sample_id).correct or 0.0 for pool, one in decide_stream(method, pools)])


class Records:
    """The file and its lines, by test set, K and method; a network's method is its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[tuple[str, int, str], Right] = {}
        for test, k, method, questions, levels, packed in read_table(path):
            counts = np.frombuffer(zlib.decompress(b64decode(packed)), np.uint8)
            if len(counts) != int(questions):
                raise ValueError(f"{path}: {test}, k={k}, {method}: {len(counts)} questions, not {questions}")
            self._found[test, int(k), method] = counts / int(levels)

    def get(self, test: QuestionSet, k: int, method: str) -> Right | None:
        return self._found.get((test.name, k, method))

    def has(self, test: QuestionSet, ks: Sequence[int], method: str) -> bool:
        return all((test.name, k, method) in self._found for k in ks)

    def add(self, test: QuestionSet, found: Mapping[tuple[str, int], Right]) -> None:
        """Append what was measured on a test set; the vote must be right where it was right before.

        Otherwise the questions are no longer those of the records, and differences to them would mean nothing.
        """
        for (method, k), values in found.items():
            recorded = self.get(test, k, method)
            if method == VOTE and recorded is not None and not np.array_equal(recorded, values):
                raise ValueError(f"{test.name}: other questions than those in {self.path}; the world has changed")
        new = {key: values for key, values in found.items() if self.get(test, key[1], key[0]) is None}
        is_empty = not self.path.exists()
        with open(self.path, "a", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            if is_empty:
                lines.writerow(HEAD)
            for (method, k), values in new.items():
                levels = k if method == MEAN_SINGLE else 1
                packed = zlib.compress(np.rint(values * levels).astype(np.uint8).tobytes(), 9)
                lines.writerow([test.name, k, method, len(values), levels, b64encode(packed).decode()])
                self._found[test.name, k, method] = values


def baselines() -> dict[str, Method]:
    """What is not trained here; the shipped selector without calibration, which takes longer than its decisions."""
    selector = load_selector()
    selector.calibrator = None
    weighted = WeightedVote(grouping=ExactGroups())
    return {"single": SingleRollout(), "weighted": weighted, "fewest-tools": FewestTools(), "evidence": selector}


def measure(
    test: QuestionSet, methods: Mapping[str, Method], ks: Sequence[int], folder: Path, records: Records
) -> None:
    """Decide the test set by every method at every K, and by the vote."""
    missing = {name: method for name, method in methods.items() if not records.has(test, ks, name)}
    if not missing:
        return
    found: dict[tuple[str, int], list[float]] = {}
    pools = test.pools(folder, max(ks))
    while block := list(islice(pools, BLOCK_POOLS)):
        for k in ks:
            cut = [pool.first(k) for pool in block]
            for name, method in {VOTE: MajorityVote(ExactGroups()), **missing}.items():
                found.setdefault((name, k), []).extend(right(method, cut))
            if "single" in missing:
                means = (fmean(rollout.label or 0.0 for rollout in pool.rollouts) for pool in cut)
                found.setdefault((MEAN_SINGLE, k), []).extend(means)
                found.setdefault((ORACLE, k), []).extend(oracle(pool).correct or 0.0 for pool in cut)
    records.add(test, {key: np.array(values) for key, values in found.items()})


def measure_baselines(test: QuestionSet, folder: Path, records: Records) -> None:
    measure(test, baselines(), test.ks, folder, records)
    if test.is_main and not records.has(test, [MAJORITY_K], VOTE):
        measure(test, {VOTE: MajorityVote(ExactGroups())}, [MAJORITY_K], folder, records)
