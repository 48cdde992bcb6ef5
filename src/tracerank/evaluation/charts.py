"""Charts as SVG that fits any width: positions are percentages, so lines stretch and letters do not.

A chart is a grid of three drawings (values, field, arguments); curves lie in a nested drawing that may be distorted,
dots and letters outside of it. Colours are classes, because the page's policy forbids styles in elements.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

MAX_TICKS = 5
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values to positions between 0 and 100."""

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
        raw = (self.high - self.low) / MAX_TICKS
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in _STEPS if power * factor >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale with its name and its labelled values."""

    name: str
    scale: Scale
    ticks: Sequence[tuple[float, str]]

    @classmethod
    def of(cls, name: str, scale: Scale, shown: Callable[[float], str]) -> "Axis":
        """An axis with round values."""
        return cls(name, scale, [(value, shown(value)) for value in scale.ticks()])


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a series."""

    x: float
    y: float
    title: str
    """Its tooltip."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line through dots."""

    dots: Sequence[Dot]
    colour: str
    """A class of the style sheet."""
    is_dashed: bool = False
    """Dashed lines show no dots."""


def chart(series: Sequence[Series], across: Axis, up: Axis) -> str:
    """The markup of a chart."""

    def at(x: float, y: float) -> tuple[float, float]:
        return across.scale.at(x), round(100 - up.scale.at(y), 3)

    def circle(dot: Dot, colour: str) -> str:
        x, y = at(dot.x, dot.y)
        title = f"<title>{escape(dot.title)}</title>"
        return f'<circle class="dot {colour}" cx="{x}%" cy="{y}%" r="4">{title}</circle>'

    values = [(round(100 - up.scale.at(value), 3), label) for value, label in up.ticks]
    rules = "".join(f'<line class="rule" x1="0" x2="100%" y1="{y}%" y2="{y}%"/>' for y, _ in values)
    lines = "".join(
        f'<polyline class="curve {one.colour}{" dashed" if one.is_dashed else ""}" points="{line}"/>'
        for one in series
        if " " in (line := " ".join("{},{}".format(*at(dot.x, dot.y)) for dot in one.dots))
    )
    circles = "".join(circle(dot, one.colour) for one in series if not one.is_dashed for dot in one.dots)
    texts = "".join(f'<text x="100%" y="{y}%" dx="-6" dy="4">{escape(label)}</text>' for y, label in values)
    return (
        f'<div class="chart"><span class="axis-name">{escape(up.name)}</span>'
        f'<svg class="values" aria-hidden="true">{texts}</svg>'
        f'<svg class="field" role="img" aria-label="{escape(up.name)} against {escape(across.name)}">{rules}'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">{lines}</svg>'
        f"{circles}</svg>{arguments(across)}"
        f'<span class="axis-name across">{escape(across.name)}</span></div>'
    )


def arguments(axis: Axis) -> str:
    """The labels below a chart."""
    made = ""
    for value, label in axis.ticks:
        x = axis.scale.at(value)
        anchor = "start" if x < 2 else "end" if x > 98 else "middle"
        made += f'<text x="{x}%" y="14" text-anchor="{anchor}">{escape(label)}</text>'
    return f'<svg class="arguments" aria-hidden="true">{made}</svg>'


def interval(low: float, middle: float, high: float, scale: Scale, colour: str, title: str) -> str:
    """One row of a forest plot: a line from low to high with a dot, beside the line of zero."""
    left, dot, right, zero = (scale.at(value) for value in (low, middle, high, 0.0))
    return (
        f'<svg class="interval" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<line class="zero" x1="{zero}%" x2="{zero}%" y1="0" y2="100%"/>'
        f'<line class="whisker {colour}" x1="{left}%" x2="{right}%" y1="50%" y2="50%"/>'
        f'<circle class="dot {colour}" cx="{dot}%" cy="50%" r="5"/></svg>'
    )
