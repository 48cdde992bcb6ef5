"""The study's tables, folded from records: ``studies/results/paper_*.csv``. Rows come as their networks do."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from studies import RESULTS, write_table
from studies.paper.networks import runs
from studies.paper.questions import MAIN, PAPER, SCATTERED, TESTS, QuestionSet, Sizes
from studies.paper.records import MAJORITY_K, MEAN_SINGLE, ORACLE, VOTE, Records, Right, gain, percent
from studies.paper.starting import START_K, START_QUESTIONS, START_TEST, STARTS, start_name
from studies.paper.support import OWN, support
from tracerank.fitting.ablation import FULL, VARIANTS
from tracerank.pools.types import BROWSING, WEBQA

TRACE = "trace"
SINGLE = {WEBQA: "single", BROWSING: MEAN_SINGLE}
Row = tuple[object, ...]


def write(name: str, head: str, rows: Iterator[Row]) -> None:
    write_table(RESULTS / f"paper_{name}.csv", head.split(", "), rows)


def networks_of(test: QuestionSet, k: int, records: Records) -> Iterator[tuple[Row, Right]]:
    """Full networks, each the mean of its seeds: how they were trained, and what they have right."""
    groups: dict[Row, list[Right]] = {}
    for run in runs():
        if run.variant == FULL and (values := records.get(test, k, run.name)) is not None:
            groups.setdefault((run.sizes.k, run.encoder, run.sizes.learn), []).append(values)
    for about, seeds in groups.items():
        yield (*about, len(seeds)), np.mean(seeds, axis=0)


def main_rows(records: Records) -> Iterator[Row]:
    for test in TESTS:
        about = (test.world, test.setting, test.agents)
        for k in test.ks:
            if (vote := records.get(test, k, VOTE)) is None:
                continue
            for method in (SINGLE[test.setting], VOTE, "weighted", "fewest-tools", "evidence", ORACLE):
                if (values := records.get(test, k, method)) is not None:
                    yield *about, k, method, *_UNTRAINED, percent(values), *gain(values, vote)
            for how, values in networks_of(test, k, records):
                yield *about, k, TRACE, *how, percent(values), *gain(values, vote)
        if (many := records.get(test, MAJORITY_K, VOTE)) is not None:
            yield *about, MAJORITY_K, VOTE, *_UNTRAINED, percent(many), "", "", ""
            for how, values in networks_of(test, 8, records):
                yield *about, 8, f"{TRACE}, over the vote at {MAJORITY_K}", *how, percent(values), *gain(values, many)


_UNTRAINED = ("",) * 4


def ablation_rows(records: Records) -> Iterator[Row]:
    """Every control against the full networks of the same size, both the mean of the seeds that they share."""
    for test in MAIN:
        pairs: dict[tuple[Sizes, str], list[tuple[Right, Right]]] = {}
        for run in runs():
            values, full = (records.get(test, run.sizes.k, one.name) for one in (run, replace(run, variant=FULL)))
            if run.variant != FULL and values is not None and full is not None:
                pairs.setdefault((run.sizes, run.variant), []).append((values, full))
        for (sizes, variant), seeds in pairs.items():
            values, full = np.mean(seeds, axis=0)
            vote, rows = records.get(test, sizes.k, VOTE), VARIANTS[test.setting]
            published = round(rows[variant].published - rows[FULL].published, 1)
            about = (test.world, test.setting, sizes.k, sizes.learn, rows[variant].name, len(seeds))
            over_vote = gain(values, vote) if vote is not None else ()
            yield *about, percent(values), percent(full), *gain(values, full), *over_vote, published


def start_rows(records: Records) -> Iterator[Row]:
    """Few questions of another world: from random weights and from the shipped network."""
    vote = records.get(START_TEST, START_K, VOTE)
    for questions in (0, *START_QUESTIONS):
        for start in STARTS:
            values = records.get(START_TEST, START_K, start_name(questions, start))
            if values is not None and vote is not None:
                yield questions, start, percent(values), *gain(values, vote)


def support_rows() -> Iterator[Row]:
    for world in (SCATTERED, PAPER):
        for setting in (WEBQA, BROWSING):
            found = support(world, setting)
            for name, values in found.items():
                yield world, setting, len(values), name, percent(values), *gain(values, found[OWN])


GAIN, HOW = "gain, low, high", "trained at k, encoder, learned from, seeds"
TABLES: Mapping[str, tuple[str, Callable[[Records], Iterator[Row]]]] = MappingProxyType(
    {
        "main": (f"world, setting, agents, k, method, {HOW}, right, {GAIN}", main_rows),
        "ablation": (
            f"world, setting, k, learned from, variant, seeds, right, full, {GAIN}, over vote, low over vote, "
            "high over vote, published gain",
            ablation_rows,
        ),
        "start": (f"questions, start, right, {GAIN}", start_rows),
    }
)
"""Heads and rows; gains are over the vote or, of controls, over the full network, with paired 95% intervals."""
