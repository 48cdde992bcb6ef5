"""Figures as Markdown tables, and the differences that the summary is made from. Decides and fits nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from studies.quality.figures import GENERATOR, STRONGEST, Figures, View
from tracerank.evaluation.bootstrap import intervals

Pair = tuple[str, str]
"""Two methods: what the first gains over the second."""


@dataclass(frozen=True, slots=True)
class Column:
    """One budget on some questions."""

    heading: str
    view: View
    k: int


@dataclass(frozen=True, slots=True)
class Gain:
    """What one method gains over another on one set."""

    set: str
    rule: str
    k: int
    ours: str
    over: str
    differences: Figures
    """Question by question."""
    low: Figures
    """Of the 95% interval, in points: string, group."""
    high: Figures

    @property
    def mean(self) -> Figures:
        """In points: string, group."""
        return np.asarray(100 * self.differences.mean(axis=0))

    def __str__(self) -> str:
        return " / ".join(map(with_interval, self.mean, self.low, self.high))


def with_interval(mean: float, low: float, high: float) -> str:
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def columns_of(view: View, ks: Sequence[int] = (), prefix: str = "") -> list[Column]:
    """A column for each budget; none where no question is left."""
    return [Column(f"{prefix}K={k}", view, k) for k in (ks or view.settled.ks) if len(view)]


def gains_of(name: str, columns: Sequence[Column], pairs: Sequence[Pair]) -> list[Gain]:
    """Of each pair in each column, pair by pair; none over the best generator where there is one."""
    found = []
    for ours, over in pairs:
        for column in columns:
            view, k = column.view, column.k
            differences = view.differences(ours, over, k)
            if differences is None:
                continue
            bounds = intervals(100 * differences)
            found.append(Gain(name, view.rule, k, ours, over, differences, bounds.low, bounds.high))
    return found


def head(title: str, columns: Sequence[Column]) -> list[str]:
    return [_row(title, [column.heading for column in columns]), "|---" * (len(columns) + 1) + "|"]


def method_rows(columns: Sequence[Column], names: Sequence[str], prefix: str = "") -> Iterator[str]:
    """String / group accuracy of each method."""
    for name in names:
        yield _row(prefix + name, [_percent(column.view.of(name, column.k)) for column in columns])


def generator_row(columns: Sequence[Column]) -> str:
    """The best agent by itself, which no budget changes; all columns are of one view."""
    name, view = GENERATOR, columns[0].view
    best = view.best_generator()
    if best is None:
        return _row(name, ["one generator"] * len(columns))
    missing = len(view) - len(best.figures)
    left_out = f", {missing} questions that it has no rollout of left out" if missing else ""
    return _row(f"{name}: {best.name}{left_out}", [_percent(best.figures)] * len(columns))


def oracle_row(columns: Sequence[Column], prefix: str = "") -> str:
    return _row(f"{prefix}oracle", [f"{100 * column.view.oracle(column.k)[:, 0].mean():.1f}" for column in columns])


def gain_rows(gains: Sequence[Gain], prefix: str = "") -> Iterator[str]:
    """A row for each pair, which stand one after the other."""
    for (ours, over), own in groupby(gains, key=lambda gain: (gain.ours, gain.over)):
        yield _row(f"**{prefix}{ours} − {over}**", list(map(str, own)))


def table(title: str, columns: Sequence[Column], names: Sequence[str], gains: Sequence[Gain]) -> list[str]:
    """Everything about a set: methods, strongest vote, best agent, oracle, gains."""
    if not columns:
        return []
    return [
        *head(title, columns),
        *method_rows(columns, [*names, STRONGEST]),
        generator_row(columns),
        oracle_row(columns),
        *gain_rows(gains),
        "",
    ]


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def _percent(figures: Figures) -> str:
    return " / ".join(f"{100 * value:.1f}" for value in np.mean(figures, axis=0))
