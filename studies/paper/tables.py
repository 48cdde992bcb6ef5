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
    MANY,
    OTHERS,
    PLAIN,
    VOTE,
    WEIGHING,
    Right,
    TestSet,
    is_measured,
    network_path,
    records_path,
    right,
)
from studies.paper.support import OWN, support
from tracerank.evaluation.bootstrap import intervals
from tracerank.fitting.ablation import FULL
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.checkpoint import load_checkpoint

TRACE = "trace"
SINGLE = {WEBQA: "single", BROWSING: "mean-single"}


def percent(values: Right) -> float:
    return round(100 * float(values.mean()), 1)


def gain(values: Right, over: Right) -> tuple[float, float, float]:
    bounds = intervals((values - over)[:, None])
    return tuple(round(100 * float(one), 1) for one in ((values - over).mean(), bounds.low[0], bounds.high[0]))  # type: ignore[return-value]


def write(name: str, head: str, rows: Iterable[Sequence[object]]) -> None:
    found = [head.split(", "), *rows]  # before the file is opened: rows may take a while
    with open(RESULTS / f"paper_{name}.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(found)


Found = dict[tuple[str, int], Right]
"""By method and K."""


def measured(tests: Sequence[TestSet], folder: Path) -> Iterator[tuple[TestSet, Found, dict[Run, Found]]]:
    """Every test set that has records, those of its baselines and of its networks."""
    for test in tests:
        if (path := records_path(test, folder, PLAIN)).exists():
            weighed = records_path(test, folder, WEIGHING)
            paths = {run: network_path(run, test, folder) for run in runs() if is_measured(run, test)}
            found = right(path) | (right(weighed) if weighed.exists() else {})
            yield test, found, {run: right(own) for run, own in paths.items() if own.exists()}


def full_networks(found: dict[Run, Found], folder: Path) -> Iterator[tuple[tuple[object, ...], Found]]:
    """Full networks, the mean over seeds: how they were trained, and their records."""
    groups: dict[tuple[object, ...], list[Found]] = {}
    for run, records in found.items():
        if run.variant == FULL:
            about = (run.sizes.k, run.encoder, run.sizes.learn, run.epochs(folder))
            groups.setdefault(about, []).append(records)
    for about, seeds in groups.items():
        yield (*about, len(seeds)), {key: np.mean([one[key] for one in seeds], axis=0) for key in seeds[0]}


def main_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    for test, found, networks in measured((*MAIN, *OTHERS), folder):
        about, trained = (test.world, test.setting, test.agents), list(full_networks(networks, folder))
        for k in test.ks:
            for method in (SINGLE[test.setting], VOTE, "weighted", "fewest-tools", "evidence", "oracle"):
                if (values := found.get((method, k))) is not None:
                    yield *about, k, method, *_UNTRAINED, percent(values), *gain(values, found[VOTE, k])
            for how, records in trained:
                yield *about, k, TRACE, *how, percent(records[TRACE, k]), *gain(records[TRACE, k], found[VOTE, k])
        if (path := records_path(test, folder, MANY)).exists():
            many = right(path)[VOTE, MAJORITY_K]
            yield *about, MAJORITY_K, VOTE, *_UNTRAINED, percent(many), "", "", ""
            for how, records in trained:
                values = records[TRACE, 8]
                yield *about, 8, f"{TRACE}, over the vote at {MAJORITY_K}", *how, percent(values), *gain(values, many)


_UNTRAINED = ("",) * 5


def ablation_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    for test, found, networks in measured(MAIN, folder):
        full = {run.sizes: (run, records) for run, records in networks.items() if run.variant == FULL and run.seed == 1}
        for run, records in networks.items():
            sizes = run.sizes
            if run.variant == FULL or sizes not in full:
                continue
            reference, whole = full[sizes]
            values, against = records[TRACE, sizes.k], whole[TRACE, sizes.k]
            row = (test.world, test.setting, sizes.k, sizes.learn, run.row.name, percent(values), percent(against))
            published = round(run.row.published - reference.row.published, 1)
            yield *row, *gain(values, against), *gain(values, found[VOTE, sizes.k]), published


def support_rows() -> Iterator[tuple[object, ...]]:
    for world in (SCATTERED, PAPER):
        for setting in (WEBQA, BROWSING):
            found = support(world, setting)
            for name, values in found.items():
                yield world, setting, len(values), name, percent(values), *gain(values, found[OWN])


def run_rows(folder: Path) -> Iterator[tuple[object, ...]]:
    for run in runs():
        if run.epochs(folder):
            about = load_checkpoint(run.folder(folder)).training
            epochs = "; ".join(f"{100 * epoch['accuracy']:.1f}" for epoch in about["epochs"])
            seconds = (run.folder(folder) / DONE).read_text().strip() if run.is_done(folder) else ""
            yield run.name, *about["questions"].values(), about["best_epoch"], epochs, seconds


GAIN, HOW = "gain, low, high", "trained at k, encoder, learned from, epochs, seeds"
TABLES: Mapping[str, tuple[str, Callable[[Path], Iterator[tuple[object, ...]]]]] = MappingProxyType(
    {
        "main": (f"world, setting, agents, k, method, {HOW}, right, {GAIN}", main_rows),
        "ablation": (
            f"world, setting, k, learned from, variant, right, full, {GAIN}, over vote, low over vote, high over vote, "
            "published gain",
            ablation_rows,
        ),
        "runs": ("run, learned from, validation pools, best epoch, accuracy by epoch, seconds of CPU", run_rows),
    }
)
"""Heads and rows; gains are over the vote or, of controls, over the full network, with paired 95% intervals."""
