"""Cells of the study by meaning as records, their arithmetic, and Markdown tables of them. Decides and fits nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from studies.quality.figures import STRONGEST, Figures, View
from studies.quality.tables import with_interval
from tracerank.evaluation.bootstrap import LEVEL, intervals, resampled_means
from tracerank.evaluation.labels import EM, GIVEN

ORACLE = "oracle"


@dataclass(frozen=True, slots=True)
class Figure:
    """How right a method is by one rule, and what it gains over the best vote, all in points."""

    right: float
    gain: float
    low: float
    """Of the 95% interval of a paired bootstrap over questions."""
    high: float

    def __str__(self) -> str:
        return with_interval(self.gain, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Row:
    """One method in one cell."""

    cell: str
    questions: int
    method: str
    meaning: Figure
    exact: Figure | None
    """By exact match; None: a mean over cells."""


@dataclass(frozen=True, slots=True)
class Sanity:
    """One model in one cell; the counts are those of ``sanity.py``."""

    cell: str
    method: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Part:
    """What is measured and kept together."""

    rows: list[Row]
    sanity: list[Sanity]

    @classmethod
    def of_json(cls, saved: Mapping[str, Any]) -> "Part":
        rows = [
            Row(**row | {"meaning": Figure(**row["meaning"]), "exact": row["exact"] and Figure(**row["exact"])})
            for row in saved["rows"]
        ]
        return cls(rows, [Sanity(**row) for row in saved["sanity"]])


def differences(view: View, name: str, k: int) -> Figures:
    """Per question, what a method gains over the best vote of the cell; [questions]."""
    return _rightness(view, name, k) - _rightness(view, STRONGEST, k)


def _rightness(view: View, name: str, k: int) -> Figures:
    """Per question, how often the returned string is right by the rule of the view; [questions]."""
    found: Figures = (view.oracle(k) if name == ORACLE else view.of(name, k))[:, 0]
    return found


def figure(view: View, name: str, k: int) -> Figure:
    gains = differences(view, name, k)
    bounds = intervals(gains[:, None])
    values = (_rightness(view, name, k).mean(), gains.mean(), bounds.low[0], bounds.high[0])
    return Figure(*(100 * float(value) for value in values))


def cell_rows(cell: str, view: View, names: Sequence[str], k: int) -> list[Row]:
    """The methods, the best vote and the oracle, by meaning and by exact match; the view's own rule does not matter."""
    by_meaning, by_match = (replace(view, rule=rule) for rule in (GIVEN, EM))
    return [
        Row(cell, len(view), name, figure(by_meaning, name, k), figure(by_match, name, k))
        for name in (*names, STRONGEST, ORACLE)
    ]


def mean_figure(views: Sequence[View], name: str) -> Figure:
    """The mean over agents, a view each, of the mean over the budgets of each; agents are resampled on their own."""
    rights, gains, drawn = [], [], []
    for place, view in enumerate(views):
        ks = view.settled.ks
        rights.append(np.mean([_rightness(view, name, k) for k in ks]))
        found = np.mean([differences(view, name, k) for k in ks], axis=0)  # budgets share their questions
        gains.append(found.mean())
        drawn.append(resampled_means(found[:, None], seed=place)[:, 0])
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.mean(drawn, axis=0), (tail, 1 - tail))
    return Figure(*(100 * float(value) for value in (np.mean(rights), np.mean(gains), low, high)))


def markdown(part: Part) -> list[str]:
    """A table a cell, then one of what is sane."""
    lines: list[str] = []
    for cell in dict.fromkeys(row.cell for row in part.rows):
        own = [row for row in part.rows if row.cell == cell]
        lines += [
            f"| {cell} ({own[0].questions:,} questions) | meaning | gain | exact | gain |",
            "|---|---|---|---|---|",
            *(
                f"| {row.method} | {row.meaning.right:.1f} | {row.meaning} | "
                + (f"{row.exact.right:.1f} | {row.exact} |" if row.exact else "- | - |")
                for row in own
            ),
            "",
        ]
    if part.sanity:
        names = list(part.sanity[0].counts)
        lines += [f"| cell | model | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
        lines += [
            f"| {row.cell} | {row.method} | {' | '.join(str(row.counts[name]) for name in names)} |"
            for row in part.sanity
        ]
        lines.append("")
    return lines


def gain_table(rows: Sequence[Row]) -> list[str]:
    """Gains by meaning, a method a row and a cell a column."""
    cells = list(dict.fromkeys(row.cell for row in rows))
    by_place = {(row.method, row.cell): row for row in rows}
    methods = dict.fromkeys(row.method for row in rows)
    lines = [f"| gain by meaning | {' | '.join(cells)} |", "|---" * (len(cells) + 1) + "|"]
    for method in methods:
        found = [by_place.get((method, cell)) for cell in cells]
        lines.append(f"| {method} | {' | '.join(str(row.meaning) if row else '-' for row in found)} |")
    return [*lines, ""]
