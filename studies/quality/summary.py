"""What stands on top of docs/quality.md: mean gains over the real sets, and the marks that were set beforehand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from studies.quality.figures import STRONGEST, Figures
from studies.quality.methods import CONTAINMENT, MAJORITY, PAPER, PLUS, SHIPPED
from studies.quality.pools import BUDGETS
from studies.quality.tables import Gain, with_interval
from studies.shipped_weights.real_pools import MAY_TRAIN
from tracerank.evaluation.bootstrap import LEVEL, resampled_means
from tracerank.evaluation.labels import CONTAINS, EM, GIVEN

WITH_QUERIES = ("search_r1", "hotpot_agent", *MAY_TRAIN)
SEARCHED_AGAIN = ("search_r1", "hotpot_agent+", *MAY_TRAIN)
"""The same agents; one of them logged no evidence, and is shown what its queries find."""
SMALL, LARGE = (2, 3, 4), (8, 10)
OVER = {CONTAINMENT: "vote (a)", STRONGEST: "vote (b)"}
STRING, GROUP = 0, 1
REAL_MARKS = ((SMALL, STRING, "exact match", 4.0), (SMALL, GROUP, "group", 1.5), (LARGE, GROUP, "group", 0.0))
"""Budgets, which figure, its name, and the least gain in points; significant unless 0."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of gains over sets, each weighing the same, in points."""

    sets: int
    mean: Figures
    """String, group."""
    low: Figures
    high: Figures

    def cell(self, of: int) -> str:
        return with_interval(self.mean[of], self.low[of], self.high[of])

    def __str__(self) -> str:
        return f"{self.cell(STRING)} / {self.cell(GROUP)}"


Compared = tuple[str, str]
"""Rule of labels and the vote that the shipped selector is compared with."""
COMPARED: tuple[Compared, ...] = tuple((rule, over) for rule in (EM, CONTAINS) for over in OVER)


def mean_gains(gains: Sequence[Gain], sets: Sequence[str], ks: Sequence[int]) -> dict[Compared, Mean]:
    """Of the shipped selector: over the budgets of a set, then over sets; questions are resampled within sets."""
    columns = [of_set for name in sets if (of_set := _differences(gains, name, ks)) is not None]
    if not columns:
        return {}
    resampled = np.mean([resampled_means(values, seed) for seed, values in enumerate(columns)], axis=0)
    tail = (1 - LEVEL) / 2
    means, (low, high) = np.mean([v.mean(axis=0) for v in columns], axis=0), np.quantile(resampled, (tail, 1 - tail), 0)
    places = {pair: slice(2 * place, 2 * place + 2) for place, pair in enumerate(COMPARED)}
    return {pair: Mean(len(columns), means[at], low[at], high[at]) for pair, at in places.items()}


def _differences(gains: Sequence[Gain], name: str, ks: Sequence[int]) -> Figures | None:
    """(questions, string and group of each comparison) in points; None: the set has none of these budgets."""
    own = [gain for gain in gains if gain.set == name and gain.ours == SHIPPED and gain.k in ks]
    found = [[g.differences for g in own if (g.rule, g.over) == pair] for pair in COMPARED]
    return 100 * np.hstack([np.mean(by_k, axis=0) for by_k in found]) if all(found) else None


def summary(gains: Sequence[Gain]) -> list[str]:
    """Both tables; nothing where no part is finished."""
    return [*means_table(gains), "", *marks_table(gains), ""] if gains else []


def means_table(gains: Sequence[Gain]) -> Iterator[str]:
    """The shipped selector over both votes by K, by both rules of labels."""
    words = {EM: "exact match", CONTAINS: "containment"}
    headings = [f"{words[rule]}, over {OVER[over]}" for rule, over in COMPARED]
    yield "| shipped default, string / group | sets | " + " | ".join(headings) + " |"
    yield "|---" * (len(headings) + 2) + "|"
    for sets, note in ((WITH_QUERIES, ""), (SEARCHED_AGAIN, ", hotpot_agent+")):
        for ks in (*((k,) for k in BUDGETS), SMALL, LARGE):
            found = mean_gains(gains, sets, ks)
            if found:
                count = found[COMPARED[0]].sets
                yield f"| {_budgets(ks)}{note} | {count} | " + " | ".join(map(str, found.values())) + " |"


def _budgets(ks: Sequence[int]) -> str:
    return f"K={ks[0]}" if len(ks) == 1 else f"K={ks[0]} to {ks[-1]}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure that was wanted, and what was measured."""

    wanted: str
    measured: str
    is_reached: bool


def marks_table(gains: Sequence[Gain]) -> Iterator[str]:
    """Every mark whose parts are finished."""
    yield "| mark | measured | reached |"
    yield "|---|---|---|"
    for mark in (*_real_marks(gains), *_lexical_marks(gains), *_world_marks(gains)):
        yield f"| {mark.wanted} | {mark.measured} | {'yes' if mark.is_reached else '**no**'} |"


def _real_marks(gains: Sequence[Gain]) -> Iterator[Mark]:
    means = {ks: [mean_gains(gains, sets, ks) for sets in (WITH_QUERIES, SEARCHED_AGAIN)] for ks in (SMALL, LARGE)}
    for over, words in OVER.items():
        for ks, of, kind, least in REAL_MARKS:
            if not all(means[ks]):
                continue
            plain, again = (each[EM, over] for each in means[ks])
            is_reached = bool(plain.mean[of] >= least and (least == 0 or plain.low[of] > 0))
            wanted = f"at least {least:+g} over {words}, significant" if least else f"not below {words}"
            measured = f"{plain.cell(of)}; with hotpot_agent+ {again.cell(of)}"
            yield Mark(f"real sets, {_budgets(ks)}, {kind}: {wanted}", measured, is_reached)
        for rule, by in ((EM, "exact match"), (CONTAINS, "containment")):
            yield _nowhere_below(gains, rule, by, over, words)


def _nowhere_below(gains: Sequence[Gain], rule: str, by: str, over: str, words: str) -> Mark:
    sets = {*WITH_QUERIES, *SEARCHED_AGAIN}
    own = [g for g in gains if g.set in sets and g.rule == rule and (g.ours, g.over) == (SHIPPED, over)]
    below = [
        f"{each.set} K={each.k} {kind} {each.mean[of]:+.1f}"
        for each in own
        for of, kind in ((STRING, "string"), (GROUP, "group"))
        if each.high[of] < 0
    ]
    measured = "below: " + ", ".join(below) if below else f"below on none of {len(own)} sets and budgets"
    return Mark(f"real sets, {by}: no set below {words} by more than its interval", measured, not below)


def _lexical_marks(gains: Sequence[Gain]) -> Iterator[Mark]:
    for k, least in ((4, 4.0), (16, 2.0)):
        own = [g for g in gains if (g.rule, g.k, g.ours, g.over) == (EM, k, SHIPPED, MAJORITY)]
        for each in own:
            yield _least(each, f"{each.set}, K={k}: shipped default at least +{least:g} over majority", least)


def _world_marks(gains: Sequence[Gain]) -> Iterator[Mark]:
    for each in gains:
        if (each.rule, each.k, each.over) == (GIVEN, 16, MAJORITY) and each.ours in (PAPER, PLUS):
            yield _least(each, f"{each.set}, K=16: {each.ours} here at least +5 over majority", 5.0)


def _least(found: Gain, wanted: str, least: float) -> Mark:
    measured = with_interval(found.mean[STRING], found.low[STRING], found.high[STRING])
    return Mark(wanted, measured, bool(found.mean[STRING] >= least))
