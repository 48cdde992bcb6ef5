"""The study's tables, folded from records: ``studies/results/paper_*.csv``. Rows come as their networks do."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from studies import RESULTS
from studies.paper.networks import DONE, PAPER, SCATTERED, Run, runs
from studies.paper.records import (
    MAIN,
    MAJORITY_K,
    OTHERS,
    Right,
    TestSet,
    baselines,
    is_measured,
    largest_vote,
    of_network,
    right,
)
from studies.paper.support import OWN, support
from tracerank.evaluation.bootstrap import intervals
from tracerank.fitting.ablation import FULL
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.checkpoint import load_checkpoint

VOTE, TRACE = "majority-paper", "trace"
SINGLE = {WEBQA: "single", BROWSING: "mean-single"}


def percent(values: Right) -> float:
    return round(100 * float(values.mean()), 1)


def gain(values: Right, over: Right) -> tuple[float, float, float]:
    bounds = intervals((values - over)[:, None])
    return tuple(round(100 * float(one), 1) for one in ((values - over).mean(), bounds.low[0], bounds.high[0]))  # type: ignore[return-value]


def write(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with open(RESULTS / f"paper_{name}.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        table.writerows(rows)


def measured(test: TestSet, folder: Path) -> Iterator[tuple[Run, dict[tuple[str, int], Right]]]:
    """Finished networks of the test's world and setting, with their records."""
    for run in runs():
        if is_measured(run, test) and run.is_done(folder):
            yield run, right(of_network(run, test, folder))


def full_networks(test: TestSet, folder: Path) -> dict[tuple[int, int, str], list[dict[tuple[str, int], Right]]]:
    """By K and number of the questions learned from, and encoder: the records of every seed of the full network."""
    found: dict[tuple[int, int, str], list[dict[tuple[str, int], Right]]] = {}
    for run, records in measured(test, folder):
        if run.variant == FULL:
            found.setdefault((run.sizes.k, run.sizes.learn, run.encoder), []).append(records)
    return found


def main_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    for test in MAIN:
        found, trained = right(baselines(test, folder)), full_networks(test, folder)
        about = (test.world, test.setting)
        for k in test.ks:
            vote = found[VOTE, k]
            for method in (SINGLE[test.setting], VOTE, "weighted", "fewest-tools", "evidence", "oracle"):
                values = found[method, k]
                yield *about, k, method, "", "", "", len(values), percent(values), *gain(values, vote)
            for (learn_k, learn, encoder), seeds in trained.items():
                values = np.mean([records[TRACE, k] for records in seeds], axis=0)
                row = (*about, k, TRACE, f"K={learn_k} {encoder}", learn, len(seeds))
                yield *row, len(values), percent(values), *gain(values, vote)
        if test.setting == WEBQA:
            many = right(largest_vote(test, folder))[VOTE, MAJORITY_K]
            yield *about, MAJORITY_K, VOTE, "", "", "", len(many), percent(many), "", "", ""
            for (learn_k, learn, encoder), seeds in trained.items():
                values = np.mean([records[TRACE, 8] for records in seeds], axis=0)
                row = (*about, 8, f"{TRACE}, against the vote at {MAJORITY_K}", f"K={learn_k} {encoder}", learn)
                yield *row, len(seeds), len(values), percent(values), *gain(values, many)


def ablation_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    for test in MAIN:
        networks = [(run, records) for run, records in measured(test, folder) if run.seed == 1]
        full = {(run.sizes, run.encoder): records for run, records in networks if run.variant == FULL}
        vote = right(baselines(test, folder))
        for run, records in networks:
            sizes, values = run.sizes, records[TRACE, run.sizes.k]
            against = full.get((sizes, run.encoder))
            if against is None or sum(other.sizes == sizes for other, _ in networks) < 2:
                continue
            paired = ("", "", "") if run.variant == FULL else gain(values, against[TRACE, sizes.k])
            row = (test.world, test.setting, sizes.k, sizes.learn, run.row.name, percent(values))
            published = round(run.row.published - networks[0][0].row.published, 1)
            yield *row, *gain(values, vote[VOTE, sizes.k]), *paired, published


def transfer_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    for test in OTHERS:
        found, trained = right(baselines(test, folder)), full_networks(test, folder)
        for k in test.ks:
            for method in (SINGLE[test.setting], VOTE, "evidence", "oracle"):
                values = found[method, k]
                yield test.setting, test.agents, k, method, "", percent(values), *gain(values, found[VOTE, k])
            for (learn_k, learn, encoder), seeds in trained.items():
                values = np.mean([records[TRACE, k] for records in seeds], axis=0)
                about = (test.setting, test.agents, k, TRACE, f"K={learn_k} n={learn} {encoder}")
                yield *about, percent(values), *gain(values, found[VOTE, k])


def support_rows() -> Iterator[tuple[object, ...]]:
    for world in (SCATTERED, PAPER):
        for setting in (WEBQA, BROWSING):
            found = support(world, setting)
            for name, values in found.items():
                yield world, setting, len(values), name, percent(values), *gain(values, found[OWN])


def run_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    for run in runs():
        if run.is_done(folder):
            about = load_checkpoint(run.folder(folder)).training
            epochs = "; ".join(f"{100 * epoch['accuracy']:.1f}" for epoch in about["epochs"])
            seconds = (run.folder(folder) / DONE).read_text().strip()
            yield run.name, *about["questions"].values(), about["best_epoch"], epochs, seconds


def tables(folder: Path) -> None:
    """Everything that there are networks for."""
    for name, (head, rows) in TABLES.items():
        write(name, head.split(", "), rows(folder))


GAIN, OVER_FULL = "gain, low, high", "gain over full, low over full, high over full"
TABLES: Mapping[str, tuple[str, Callable[[Path], Iterator[tuple[object, ...]]]]] = MappingProxyType(
    {
        "main": (f"world, setting, k, method, trained with, learned from, seeds, questions, right, {GAIN}", main_rows),
        "ablation": (
            f"world, setting, k, learned from, variant, right, {GAIN}, {OVER_FULL}, the paper's gain over full",
            ablation_rows,
        ),
        "transfer": (f"setting, tested on, k, method, trained with, right, {GAIN}", transfer_rows),
        "runs": ("run, learned from, validation pools, best epoch, accuracy by epoch, seconds of CPU", run_rows),
    }
)
"""Heads and rows; gains are in points, with the paired 95% interval over questions."""
