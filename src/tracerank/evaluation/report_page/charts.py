"""Charts as SVG that fits any width: places are percentages, so lines stretch and letters do not.

A chart is a grid of three drawings (values, field, arguments); curves lie in a nested drawing that may be distorted,
dots and letters outside of it. Colours are classes, because the page's policy forbids styles in elements.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

SERIES = 8
"""Colours that the style sheet has."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """Values to places between 0 and 100."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float], *, margin: float = 0.06) -> "Scale":
        """All values, with some room at both ends."""
        known = [value for value in values if math.isfinite(value)]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        room = margin * (high - low) or max(abs(high) * margin, 0.01)
        return cls(low - room, high + room)

    def at(self, value: float) -> float:
        """In percent of the way, never outside by more than the page can show."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(100 * min(max(share, -0.5), 1.5), 3)

    def ticks(self) -> list[float]:
        """Round values inside, a few."""
        raw = (self.high - self.low) / _MOST_TICKS
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in _STEPS if power * factor >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis, in percent, and what stands there."""

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Series:
    """A line through points, perhaps with a band and dots."""

    points: Sequence[tuple[float, float]]
    """Places in percent from the left and from the top."""
    colour: str
    """A class of the style sheet."""
    band: Sequence[tuple[float, float]] = ()
    """Corners; empty: no band."""
    titles: Sequence[str] = ()
    """What the pointer is told at each dot."""
    is_dashed: bool = False
    sizes: Sequence[float] = ()
    """Radii of the dots in pixels; empty: all alike."""


def colour_of(place: int) -> str:
    """The class of a series; after the last colour they begin again."""
    return f"s{place % SERIES}"


def chart(
    series: Sequence[Series],
    across: Sequence[Tick],
    up: Sequence[Tick],
    names: tuple[str, str],
    guides: Sequence[tuple[tuple[float, float], tuple[float, float]]] = (),
    size: str = "",
) -> str:
    """The markup of a chart; ``guides`` are lines that belong to no series, ``names`` those of the two axes."""
    rules = "".join(f'<line class="rule" x1="0" x2="100%" y1="{t.place}%" y2="{t.place}%"/>' for t in up)
    lines = "".join(f'<polyline class="guide" points="{_points(guide)}"/>' for guide in guides)
    lines += "".join(f'<polygon class="band {one.colour}" points="{_points(one.band)}"/>' for one in series if one.band)
    lines += "".join(
        f'<polyline class="curve {one.colour}{" dashed" if one.is_dashed else ""}" points="{_points(one.points)}"/>'
        for one in series
        if len(one.points) > 1
    )
    dots = "".join(_dots(one) for one in series)
    field = (
        f'<svg class="field" role="img" aria-label="{escape(names[1])} against {escape(names[0])}">{rules}'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">{lines}</svg>{dots}</svg>'
    )
    values = "".join(f'<text x="100%" y="{t.place}%" dx="-6" dy="4">{escape(t.label)}</text>' for t in up)
    arguments = "".join(_below(tick) for tick in across)
    return (
        f'<div class="chart {size}"><span class="axis-name">{escape(names[1])}</span>'
        f'<svg class="values" aria-hidden="true">{values}</svg>{field}'
        f'<svg class="arguments" aria-hidden="true">{arguments}</svg>'
        f'<span class="axis-name across">{escape(names[0])}</span></div>'
    )


def _dots(one: Series) -> str:
    sizes = one.sizes or [4.0 if not one.is_dashed else 0.0] * len(one.points)
    titles = one.titles or [""] * len(one.points)
    return "".join(
        f'<circle class="dot {one.colour}" cx="{x}%" cy="{y}%" r="{size:.1f}">{_title(title)}</circle>'
        for (x, y), size, title in zip(one.points, sizes, titles, strict=True)
        if size
    )


def _below(tick: Tick) -> str:
    anchor = "start" if tick.place < 2 else "end" if tick.place > 98 else "middle"
    return f'<text x="{tick.place}%" y="14" text-anchor="{anchor}">{escape(tick.label)}</text>'


def interval(low: float, middle: float, high: float, zero: float, colour: str, title: str) -> str:
    """One row of a forest plot: a line from low to high, a dot between them, all in percent."""
    return (
        f'<svg class="interval" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<line class="zero" x1="{zero}%" x2="{zero}%" y1="0" y2="100%"/>'
        f'<line class="whisker {colour}" x1="{low}%" x2="{high}%" y1="50%" y2="50%"/>'
        f'<circle class="dot {colour}" cx="{middle}%" cy="50%" r="5"/></svg>'
    )


def axis(ticks: Sequence[Tick]) -> str:
    """The numbers below a forest plot."""
    return f'<svg class="arguments" aria-hidden="true">{"".join(map(_below, ticks))}</svg>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
