"""Figures: accuracy and paired gains against K, accuracy against cost. Drawn without global state."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import ORACLE, REFERENCES, SINGLE
from tracerank.evaluation.report import MAJORITY, TRACE, CostPoint, Curve
from tracerank.extras import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
_SIZE_INCHES = (7.2, 4.4)
_DOTS_PER_INCH = 160

_INK, _FAINT = "#222222", "#8a8a8a"
# Okabe and Ito's colours, told apart by every kind of eye; yellow is left out, it is too pale on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_FIXED: Mapping[str, str] = {TRACE: _COLOURS[0], MAJORITY: _COLOURS[1], SINGLE: _FAINT, ORACLE: _FAINT}
_SHOWN = {TRACE: "TRACE", SINGLE: "single rollout", ORACLE: "oracle"}
_LABEL_GAP, _LETTER_WIDTH, _DOT_WIDTH = 0.047, 0.0105, 0.03
"""Height of a label and width of its letters and of the dot before it, as shares of the axes."""


def draw_accuracy_by_k(curves: Sequence[Curve], title: str, folder: Path, name: str = "accuracy_by_k") -> list[Path]:
    """A line per method; names stand at the lines' ends. Bands of accuracies would hide what gains show."""
    figure, axes = _new_figure(title)
    ends = []
    for curve, colour in zip(curves, _colours([curve.method for curve in curves]), strict=True):
        is_reference = curve.method in REFERENCES
        accuracy = [100 * value for value in curve.accuracy]
        style: dict[str, Any] = (
            {"linestyle": (0, (4, 3)), "linewidth": 1.2} if is_reference else {"linewidth": 1.8, "marker": "o"}
        )
        style["zorder"] = 4 if curve.method in _FIXED else 3  # where lines coincide, these are seen
        axes.plot(curve.ks, accuracy, color=colour, markersize=4, solid_capstyle="round", **style)
        ends.append((curve.ks[-1], accuracy[-1], _label(curve.method), colour))
    _budget_axis(axes, curves)
    axes.set_ylabel("accuracy, %")
    _label_ends(axes, ends)
    return _save(figure, folder, name)


def draw_gain_by_k(curves: Sequence[Curve], title: str, folder: Path, name: str = "gain_by_k") -> list[Path]:
    """A line per method around the baseline's zero, with the band of the paired difference."""
    figure, axes = _new_figure(title)
    axes.axhline(0.0, color=_FAINT, linewidth=1.2)
    ends = []
    for curve, colour in zip(curves, _colours([curve.method for curve in curves]), strict=True):
        gain, low, high = ([100 * value for value in values] for values in (curve.accuracy, curve.low, curve.high))
        axes.plot(curve.ks, gain, color=colour, markersize=4, linewidth=1.8, marker="o", zorder=3)
        axes.fill_between(curve.ks, low, high, color=colour, alpha=0.13, linewidth=0)
        ends.append((curve.ks[-1], gain[-1], _label(curve.method), colour))
    _budget_axis(axes, curves)
    axes.set_ylabel("gain, points")
    _label_ends(axes, ends)
    return _save(figure, folder, name)


def draw_accuracy_by_rollouts(
    lines: Mapping[str, Sequence[tuple[float, float]]], title: str, folder: Path, name: str = "budget"
) -> list[Path]:
    """A line per kind of rule: mean rollouts against accuracy, a dot for each of its settings."""
    figure, axes = _new_figure(title)
    ends = []
    for (label, points), colour in zip(lines.items(), _COLOURS, strict=False):
        across, up = [point[0] for point in points], [100 * point[1] for point in points]
        axes.plot(across, up, color=colour, markersize=4, linewidth=1.8, marker="o", zorder=3)
        ends.append((across[-1], up[-1], label, colour))
    axes.set_xlabel("rollouts per question, mean")
    axes.set_ylabel("accuracy, %")
    _label_ends(axes, ends)
    return _save(figure, folder, name)


def _budget_axis(axes: "Axes", curves: Sequence[Curve]) -> None:
    ks = sorted({k for curve in curves for k in curve.ks})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.minorticks_off()
    axes.set_xlim(ks[0] / 1.06, ks[-1] * 1.06)
    axes.set_xlabel("rollouts per question, K")


def draw_accuracy_by_cost(points: Sequence[CostPoint], title: str, folder: Path) -> list[Path]:
    """A dot per method, named beside it; time is on a logarithmic scale."""
    figure, axes = _new_figure(title)
    from matplotlib.ticker import EngFormatter, LogLocator

    axes.set_xscale("log")
    colours = _colours([point.method for point in points])
    for point, colour in zip(points, colours, strict=True):
        axes.plot([point.seconds], [100 * point.accuracy], marker="o", markersize=7, color=colour, linestyle="none")
    axes.margins(x=0.12, y=0.15)
    axes.minorticks_off()
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if _decades(points) > 2 else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.set_xlabel("time per question, median")
    axes.set_ylabel("accuracy, %")
    dots = [
        (point.seconds, 100 * point.accuracy, _label(point.method), colour)
        for point, colour in zip(points, colours, strict=True)
    ]
    _label_dots(axes, dots)
    return _save(figure, folder, "accuracy_by_cost")


def _decades(points: Sequence[CostPoint]) -> float:
    seconds = [point.seconds for point in points]
    return log10(max(seconds) / min(seconds))


def _new_figure(title: str) -> "tuple[Figure, Axes]":
    with needed("plots need", "report", UsageError):
        from matplotlib.figure import Figure
    figure = Figure(figsize=_SIZE_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_FAINT)
    axes.tick_params(color=_FAINT, labelcolor=_INK, labelsize=9)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title(_plain(title), loc="left", fontsize=11, color=_INK, parse_math=False)
    return figure, axes


def _label_ends(axes: "Axes", ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Each line's name at its end, moved apart where lines end close to each other."""
    low, high = axes.get_ylim()
    heights = _spread([(1.0, (y - low) / (high - low)) for _, y, _, _ in ends], [1.0] * len(ends))
    for (x, y, text, colour), height in zip(ends, heights, strict=True):
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.6, "shrinkA": 1, "shrinkB": 3}
        _write(axes, text, colour, (x, y), xytext=(1.025, height), textcoords="axes fraction", arrowprops=leader)


def _label_dots(axes: "Axes", dots: Sequence[tuple[float, float, str, str]]) -> None:
    """Each dot's name to its right, moved up or down where dots are close."""
    # Pixels of the axes to shares of them.
    places = axes.transAxes.inverted().transform(axes.transData.transform([(x, y) for x, y, _, _ in dots]))
    heights = _spread(
        [(float(x), float(y)) for x, y in places], [_DOT_WIDTH + _LETTER_WIDTH * len(text) for _, _, text, _ in dots]
    )
    inches = _SIZE_INCHES[1] * axes.get_position().height
    for (x, y, text, colour), height, (_, place) in zip(dots, heights, places, strict=True):
        points = (height - float(place)) * 72 * inches
        _write(axes, text, colour, (x, y), xytext=(8, points), textcoords="offset points")


def _write(axes: "Axes", text: str, colour: str, place: tuple[float, float], **where: Any) -> None:
    # No mathematics: a dollar sign in a name is a dollar sign.
    axes.annotate(text, place, va="center", color=colour, fontsize=9, annotation_clip=False, parse_math=False, **where)


def _spread(places: Sequence[tuple[float, float]], reaches: Sequence[float]) -> list[float]:
    """Heights at which labels to the right of these places do not cover each other, found in passes of small shifts."""
    heights = [y for _, y in places]
    order = sorted(range(len(places)), key=lambda place: heights[place])
    for _ in range(100):
        for below, above in combinations(order, 2):
            lack = _LABEL_GAP - (heights[above] - heights[below])
            left, right = sorted((below, above), key=lambda place: places[place][0])
            if lack > 1e-6 and places[right][0] - places[left][0] < reaches[left]:
                heights[below] -= lack / 2
                heights[above] += lack / 2
    return heights


def _colours(methods: Sequence[str]) -> list[str]:
    free = iter([colour for colour in _COLOURS if colour not in _FIXED.values()] * len(methods))
    fixed = [next((_FIXED[name] for name in method.split(" = ") if name in _FIXED), None) for method in methods]
    return [next(free) if colour is None else colour for colour in fixed]


def _label(method: str) -> str:
    return _plain(_SHOWN.get(method, method))


def _plain(text: str) -> str:
    """Names come from files: what no font can show is spelled out."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    from matplotlib import rc_context

    # Text stays text in SVG, and the same figures give the same bytes.
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "tracerank", "font.family": "DejaVu Sans"}
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    with rc_context(settings):
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, metadata=metadata, facecolor="white")
    return paths
