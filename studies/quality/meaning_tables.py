"""Cells of the study by meaning as records, their arithmetic, and Markdown tables of them. Decides and fits nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from studies.quality.figures import STRONGEST, Figures, View
from studies.quality.tables import Pair, with_interval
from tracerank.evaluation.bootstrap import LEVEL, intervals, resampled_means
from tracerank.evaluation.labels import EM, GIVEN

ORACLE = "oracle"


@dataclass(frozen=True, slots=True)
class Figure:
    """How right a method is by one rule, and what it gains over another, all in points."""

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
    over: str = STRONGEST
    """What the gains are over: the best vote of the cell, or another method."""


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


def differences(view: View, name: str, k: int, over: str = STRONGEST) -> Figures | None:
    """Per question, what one method gains over another; [questions]. None: there is no such other."""
    if name == ORACLE:
        return rightness(view, name, k) - rightness(view, over, k)
    found = view.differences(name, over, k)
    return None if found is None else found[:, 0]


def rightness(view: View, name: str, k: int) -> Figures:
    """Per question, how often the returned string is right by the rule of the view; [questions]."""
    found: Figures = (view.oracle(k) if name == ORACLE else view.of(name, k))[:, 0]
    return found


def figure(view: View, name: str, k: int, over: str = STRONGEST) -> Figure | None:
    gains = differences(view, name, k, over)
    if gains is None:
        return None
    bounds = intervals(gains[:, None])
    values = (rightness(view, name, k).mean(), gains.mean(), bounds.low[0], bounds.high[0])
    return Figure(*(100 * float(value) for value in values))


def cell_rows(cell: str, view: View, pairs: Sequence[Pair], k: int) -> list[Row]:
    """Each method over another, by meaning and by exact match; the view's own rule does not matter."""
    by_meaning, by_match = (replace(view, rule=rule) for rule in (GIVEN, EM))
    return [
        Row(cell, len(view), name, meant, figure(by_match, name, k, over), over)
        for name, over in pairs
        if (meant := figure(by_meaning, name, k, over)) is not None
    ]


def mean_figure(views: Sequence[View], name: str, over: str = STRONGEST) -> Figure | None:
    """The mean over agents, a view each, of the mean over the budgets of each; agents are resampled on their own."""
    rights, gains, drawn = [], [], []
    for place, view in enumerate(views):
        ks = view.settled.ks
        by_budget = [own for k in ks if (own := differences(view, name, k, over)) is not None]
        if not by_budget:
            return None
        rights.append(np.mean([rightness(view, name, k) for k in ks]))
        found = np.mean(by_budget, axis=0)  # budgets share their questions
        gains.append(found.mean())
        drawn.append(resampled_means(found[:, None], seed=place)[:, 0])
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.mean(drawn, axis=0), (tail, 1 - tail))
    return Figure(*(100 * float(value) for value in (np.mean(rights), np.mean(gains), low, high)))


def markdown(part: Part) -> list[str]:
    """A table a cell, then one of what is sane; gains over the best vote alone."""
    lines: list[str] = []
    for cell in dict.fromkeys(row.cell for row in part.rows):
        own = [row for row in part.rows if row.cell == cell and row.over == STRONGEST]
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
    """Gains by meaning, a method a row and a cell a column; what is not over the best vote says so."""
    cells = list(dict.fromkeys(row.cell for row in rows))
    titles = {row: row.method if row.over == STRONGEST else f"*{row.method} − {row.over}*" for row in rows}
    found = {(titles[row], row.cell): str(row.meaning) for row in rows}
    ordered = sorted(dict.fromkeys(titles.values()), key=lambda title: title.startswith("*"))
    return [
        f"| gain by meaning | {' | '.join(cells)} |",
        "|---" * (len(cells) + 1) + "|",
        *(f"| {title} | {' | '.join(found.get((title, cell), '-') for cell in cells)} |" for title in ordered),
        "",
    ]
