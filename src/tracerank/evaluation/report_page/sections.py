"""The parts of the page: differences as a forest plot, budgets, calibration, escalation, time, questions, tables."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from math import log2, log10

import numpy as np

from tracerank.evaluation.calibration import Calibration, calibrations
from tracerank.evaluation.escalation import EscalationCurve, escalation_curves
from tracerank.evaluation.evaluate import ORACLE, REFERENCES
from tracerank.evaluation.gains import Alike, alike, gain_curves, merged
from tracerank.evaluation.report import (
    CostPoint,
    Curve,
    ReportPlan,
    accuracy_curves,
    baseline,
    comparison_table,
    cost_points,
)
from tracerank.evaluation.report_page.charts import Scale, Series, Tick, axis, chart, colour_of, interval
from tracerank.evaluation.report_page.viewer_page import ViewerPage
from tracerank.evaluation.score_matrix import ScoreMatrix
from tracerank.evaluation.tables import PERCENT, POINTS, TEXT, Table, Value, shown

LISTED = 24
"""Questions of each side that are listed; the tables have them all."""
SURE = 0.001
"""Below it, a p says no more than that."""
REFERENCE = "reference"
"""Class of what is no method."""
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_LARGEST_DOT, _SMALLEST_DOT = 11.0, 3.0
_FEW = 0.05
"""Share of the questions below which a precision is luck and is not drawn."""
_MOST_POINTS = 40


def colours(scores: ScoreMatrix) -> dict[str, str]:
    """A colour for each distinct method, under its label and its own name, the same in every chart."""
    found = dict.fromkeys(REFERENCES, REFERENCE)
    for place, group in enumerate(alike(scores)):
        found |= dict.fromkeys((group.label, *group.methods), colour_of(place))
    return found


def forest(scores: ScoreMatrix, plan: ReportPlan) -> str:
    """Differences from the baseline with their intervals; the oracle is a bound and would only squeeze the others."""
    against = baseline(scores, plan)
    if against is None:
        return '<p class="empty">There is no method to compare with; name one with --against.</p>'
    k = plan.k or scores.ks[-1]
    table = comparison_table(scores, k, replace(plan, k=k, against=against))
    rows = {str(row[0]): row for row in table.rows}
    groups = alike(scores)
    listed = [group for group in groups if against not in group.methods]
    listed += [Alike((name,)) for name in REFERENCES if name in rows and name != ORACLE and name != against]
    listed = [group for group in listed if isinstance(rows[group.first][5], float)]
    listed.sort(key=lambda group: (group.first in REFERENCES, -_number(rows[group.first][4])))
    if not listed:
        return '<p class="empty">No other method was right or wrong on the same questions.</p>'
    bounds = [_number(rows[group.first][place]) for group in listed for place in (4, 5, 6)]
    scale = Scale.around([0.0, *bounds], margin=0.08)
    of, zero = colours(scores), scale.at(0.0)
    made = "".join(_forest_row(rows[group.first], group.label, of[group.label], scale, zero) for group in listed)
    ticks = [Tick(scale.at(value), _rounded(value, POINTS)) for value in scale.ticks()]
    base = rows[against]
    named = next((group.label for group in groups if against in group.methods), against)
    return (
        f'<p class="lead"><b>{escape(named)}</b> is right on <b>{shown(base[1], PERCENT)}%</b> '
        f"[{shown(base[2], PERCENT)}, {shown(base[3], PERCENT)}] of the questions at K={k}. "
        "Each line is the 95% interval of the paired difference, in points; right of zero is better.</p>"
        f'<div class="forest">{made}<div class="forest-axis"><span></span>{axis(ticks)}</div></div>'
    )


def _forest_row(row: Sequence[Value], label: str, colour: str, scale: Scale, zero: float) -> str:
    difference, low, high = (_number(value) for value in row[4:7])
    told = [shown(value, POINTS) for value in (difference, low, high)]
    is_sure = low > 0 or high < 0
    title = f"{label}: {told[0]} points, 95% interval {told[1]} to {told[2]}"
    drawn = interval(scale.at(low), scale.at(difference), scale.at(high), zero, colour, title)
    return (
        f'<div class="forest-row{" sure" if is_sure else ""}"><div class="forest-name">{escape(label)}'
        f'<span class="soft">{shown(row[1], PERCENT)}%</span></div>{drawn}'
        f'<div class="forest-figures"><b>{told[0]}</b> [{told[1]}, {told[2]}]'
        f'<span class="soft">better {row[7]} · worse {row[8]} · {_chance(row[9])}</span></div></div>'
    )


def _rounded(value: float, kind: str) -> str:
    """A tick's number without what says nothing."""
    text = shown(value, kind).removesuffix(".0")
    return "0" if text == "+0" else text


def _chance(value: Value) -> str:
    p = _number(value)
    return f"p < {SURE}" if p < SURE else f"p {p:.3f}".rstrip("0").rstrip(".")


def _number(value: Value) -> float:
    return value if isinstance(value, float) else 0.0


def budgets(scores: ScoreMatrix, plan: ReportPlan, is_random: bool = False) -> str:
    """Accuracy against K as lines, and the gain of each method over the baseline with its band."""
    of = colours(scores)
    absolute = merged(accuracy_curves(scores, plan, is_random), alike(scores))
    if len(scores.ks) < 2 or not absolute:
        return ""
    up = Scale.around([value for curve in absolute for value in curve.accuracy])
    drawn = _by_k([_line(curve, of, scores.ks, up) for curve in absolute], scores.ks, up, "accuracy, %", PERCENT)
    keys = "".join(
        f'<li class="{of[curve.method]}"><span class="key"></span>{escape(curve.method)}'
        f"<b>{shown(curve.accuracy[-1], PERCENT)}</b></li>"
        for curve in sorted(absolute, key=lambda curve: -curve.accuracy[-1])
    )
    return (
        f'<div class="by-k"><div>{drawn}</div><ul class="keys">{keys}</ul></div>{_gains(scores, plan, of, is_random)}'
    )


def _gains(scores: ScoreMatrix, plan: ReportPlan, of: dict[str, str], is_random: bool) -> str:
    gains = gain_curves(scores, plan, is_random)
    if not gains:
        return ""
    up = Scale.around([0.0, *(value for curve in gains for value in (*curve.low, *curve.high))])
    zero = 100 - up.at(0.0)
    panels = "".join(
        f'<figure><figcaption class="{of[curve.method]}"><span class="key"></span>{escape(curve.method)}</figcaption>'
        + _by_k([_line(curve, of, scores.ks, up, has_band=True)], scores.ks, up, "points", POINTS, zero)
        + "</figure>"
        for curve in gains
    )
    against = escape(baseline(scores, plan) or "")
    return (
        f"<h3>Gain over {against}</h3><p>Paired, question by question, with 95% bootstrap bands; all panels have one "
        f'scale.</p><div class="panels">{panels}</div>'
    )


def _line(curve: Curve, of: dict[str, str], ks: Sequence[int], up: Scale, has_band: bool = False) -> Series:
    across = [_k_place(k, ks) for k in curve.ks]
    points = [(x, 100 - up.at(value)) for x, value in zip(across, curve.accuracy, strict=True)]
    band: list[tuple[float, float]] = []
    if has_band:
        band = [(x, 100 - up.at(value)) for x, value in zip(across, curve.high, strict=True)]
        band += [(x, 100 - up.at(value)) for x, value in zip(reversed(across), reversed(curve.low), strict=True)]
    kind = POINTS if has_band else PERCENT
    titles = [f"{curve.method}, K={k}: {shown(v, kind)}" for k, v in zip(curve.ks, curve.accuracy, strict=True)]
    return Series(points, of[curve.method], band, titles, is_dashed=curve.method in REFERENCES)


def _by_k(
    series: Sequence[Series], ks: Sequence[int], up: Scale, name: str, kind: str, zero: float | None = None
) -> str:
    across = [Tick(_k_place(k, ks), str(k)) for k in ks]
    guides = [] if zero is None else [((0.0, zero), (100.0, zero))]
    ticks = [Tick(100 - up.at(value), _rounded(value, kind)) for value in up.ticks()]
    return chart(series, across, ticks, ("rollouts, K", name), guides, "" if zero is None else "small")


def _k_place(k: int, ks: Sequence[int]) -> float:
    scale = Scale(log2(ks[0]), log2(ks[-1]))
    return round(3 + 0.94 * scale.at(log2(k)), 3)


def calibration(scores: ScoreMatrix, k: int, abstain_below: float | None = None) -> str:
    """A reliability curve for each method that gives a confidence, then what keeping silent brings."""
    found = calibrations(scores, k)
    of = colours(scores)
    panels = "".join(_reliability(one, of.get(one.method, REFERENCE)) for one in found)
    if not panels:
        return '<p class="empty">No decision of these records carries a confidence.</p>'
    return (
        "<p>Questions with about the same confidence (ten bins), against how many of them are right. On the diagonal a "
        "confidence means what it says; below it, it promises too much. Larger dots hold more questions.</p>"
        f'<div class="panels wide">{panels}</div>{_answering(found, of, abstain_below)}'
    )


def _reliability(one: Calibration, colour: str) -> str:
    scale, told = Scale(0.0, 1.0), one.reliability
    most = max(each.questions for each in told.bins)
    series = Series(
        [(scale.at(each.confidence), 100 - scale.at(each.accuracy)) for each in told.bins],
        colour,
        titles=[
            f"confidence {each.confidence:.0%}: {each.accuracy:.0%} of {each.questions:,} right" for each in told.bins
        ],
        sizes=[max(_SMALLEST_DOT, _LARGEST_DOT * (each.questions / most) ** 0.5) for each in told.bins],
    )
    across, up = _shares((0.0, 0.5, 1.0), is_up=False), _shares((0.0, 0.25, 0.5, 0.75, 1.0), is_up=True)
    drawn = chart([series], across, up, ("confidence", "right"), [((0.0, 100.0), (100.0, 0.0))], "square")
    figures = [
        ("Brier", f"{told.brier:.3f}"),
        ("of base rate", f"{told.base_brier:.3f}"),
        ("log loss", f"{told.log_loss:.3f}"),
        ("ECE", f"{told.ece:.3f}"),
        ("AUROC", "–" if told.auroc is None else f"{told.auroc:.3f}"),
        ("confidence", f"{told.confidence:.0%}"),
        ("right", f"{told.accuracy:.0%}"),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{figure}</dd></div>" for name, figure in figures)
    return (
        f'<figure><figcaption class="{colour}"><span class="key"></span>{escape(one.method)}</figcaption>{drawn}'
        f'<dl class="figures">{listed}</dl></figure>'
    )


def _answering(found: Sequence[Calibration], of: dict[str, str], abstain_below: float | None) -> str:
    """Precision against the share of questions that are answered, a line a method."""
    low = min((point.precision for one in found for point in one.curve if point.share >= _FEW), default=0.0)
    up, across = Scale.around([low, 1.0]), Scale(0.0, 1.0)
    series = []
    for one in found:
        points = [point for point in one.curve if point.share >= _FEW or point is one.curve[-1]]
        points = points[:: max(1, len(points) // _MOST_POINTS)] + points[-1:]
        places = [(across.at(point.share), 100 - up.at(max(point.precision, up.low))) for point in points]
        titles = [
            f"{one.method}, from confidence {point.threshold:.2f}: {point.share:.0%} answered, {point.precision:.0%} "
            "of these right"
            for point in points
        ]
        series.append(Series(places, of.get(one.method, REFERENCE), titles=titles))
    ticks = [Tick(100 - up.at(value), _rounded(value, PERCENT)) for value in up.ticks()]
    drawn = chart(series, _shares((0.0, 0.25, 0.5, 0.75, 1.0), is_up=False), ticks, ("answered", "right, %"))
    said = "".join(f"<li>{escape(line)}</li>" for one in found for line in _sentences(one, abstain_below))
    return (
        "<h3>Answering only where it is sure</h3><p>The surest questions first: how many are answered, and how many of "
        f'these are right.</p><div class="by-k"><div>{drawn}</div><ul class="keys">{said}</ul></div>'
    )


def _sentences(one: Calibration, abstain_below: float | None) -> list[str]:
    if abstain_below is None:
        return [one.sentence]
    point = one.from_confidence(abstain_below)
    told = f"Silent below {abstain_below:g}, {one.method} answers nothing."
    if point is not None:
        told = (
            f"Silent below {abstain_below:g}, {one.method} answers {point.share:.0%} of the questions, and "
            f"{point.precision:.0%} of these are right."
        )
    return [one.sentence, told]


def _shares(values: Sequence[float], *, is_up: bool) -> list[Tick]:
    scale = Scale(0.0, 1.0)
    return [Tick(100 - scale.at(value) if is_up else scale.at(value), f"{value:.0%}") for value in values]


def escalations(scores: ScoreMatrix, k: int) -> str:
    """A curve for each method with another one behind it; nothing where there is none."""
    curves = [curve for curve in escalation_curves(scores, k) if curve.before is not None]
    if not curves:
        return ""
    of = colours(scores)
    accuracies = [curve.before for curve in curves if curve.before is not None]
    accuracies += [point.accuracy for curve in curves for point in curve.points if point.accuracy is not None]
    up, across = Scale.around(accuracies, margin=0.12), Scale(0.0, 1.0)
    series = [_escalation_series(curve, up, across, of.get(curve.method, REFERENCE)) for curve in curves]
    ticks = [Tick(100 - up.at(value), shown(value, PERCENT).removesuffix(".0")) for value in up.ticks()]
    below = _shares((0.0, 0.25, 0.5, 0.75, 1.0), is_up=False)
    drawn = chart(series, below, ticks, ("questions that went to the other method", "accuracy, %"))
    said = "".join(
        f'<li class="{of.get(curve.method, REFERENCE)}"><span class="key"></span>{escape(curve.sentence)}.</li>'
        for curve in curves
    )
    return (
        "<p>The unsurest questions first: what asking the other method about them makes of the accuracy of all. Each "
        "dot is a confidence below which it is asked, told from what was recorded; the leftmost asks nobody.</p>"
        f'<div class="by-k"><div>{drawn}</div><ul class="keys">{said}</ul></div>'
    )


def _escalation_series(curve: EscalationCurve, up: Scale, across: Scale, colour: str) -> Series:
    known = [(0.0, curve.before or 0.0, f"{curve.method}: nobody is asked, {shown(curve.before, PERCENT)}% right")]
    for point in curve.points:
        if point.accuracy is None or point.share == known[-1][0]:
            continue
        cost = point.each(point.tokens)
        told = "" if cost is None else f", {cost:,.0f} tokens a recovered answer"
        title = (
            f"{curve.method} below {point.below:g}: {point.share:.0%} asked, {shown(point.accuracy, PERCENT)}% right, "
            f"{point.recovered:g} recovered, {point.lost:g} lost{told}"
        )
        known.append((point.share, point.accuracy, title))
    points = [(across.at(share), 100 - up.at(accuracy)) for share, accuracy, _ in known]
    return Series(points, colour, titles=[title for *_, title in known])


def times(scores: ScoreMatrix, k: int) -> str:
    """Accuracy against the median time of a decision, a dot a method."""
    of = colours(scores)
    points = cost_points(scores, k)
    if not points:
        return ""
    up = Scale.around([point.accuracy for point in points], margin=0.2)
    across = Scale.around([log10(point.seconds) for point in points], margin=0.12)
    series = [
        Series(
            [(across.at(log10(point.seconds)), 100 - up.at(point.accuracy))],
            of[point.method],
            titles=[f"{point.method}: {_time(point.seconds)}, {shown(point.accuracy, PERCENT)}%"],
            sizes=[6.0],
        )
        for point in points
    ]
    powers = range(int(np.ceil(across.low)), int(np.floor(across.high)) + 1)
    below = [Tick(across.at(power), _time(10.0**power)) for power in powers]
    left = [Tick(100 - up.at(value), _rounded(value, PERCENT)) for value in up.ticks()]
    drawn = chart(series, below, left, ("time per question, median", "accuracy, %"))
    return (
        "<p>The median over questions, so that what a method loads with its first decision is left out. Answers that "
        "were read once stay read for the whole run: the method that came first has read them for the others.</p>"
        f'<div class="by-k"><div>{drawn}</div><ul class="keys">{_time_keys(points, of)}</ul></div>'
    )


def _time_keys(points: Sequence[CostPoint], of: dict[str, str]) -> str:
    return "".join(
        f'<li class="{of[point.method]}"><span class="key"></span>{escape(point.method)}'
        f"<b>{_time(point.seconds)}</b></li>"
        for point in sorted(points, key=lambda point: point.seconds)
    )


def _time(seconds: float) -> str:
    unit, name = next(((unit, name) for unit, name in _TIMES if seconds >= unit), _TIMES[-1])
    return f"{seconds / unit:.3g} {name}"


def changed(scores: ScoreMatrix, plan: ReportPlan, viewer: ViewerPage | None) -> str:
    """Questions that each method wins and loses against the baseline, with links where a page shows them."""
    against = baseline(scores, plan)
    if against is None:
        return ""
    k = plan.k or scores.ks[-1]
    base = scores.values(against, k)
    of, made = colours(scores), []
    for group in alike(scores):
        if against in group.methods:
            continue
        difference = scores.values(group.first, k) - base
        sides = [(name, np.flatnonzero(side)) for name, side in (("wins", difference > 0), ("loses", difference < 0))]
        lists = "".join(_questions(name, places.tolist(), scores, viewer) for name, places in sides if len(places))
        if lists:
            counts = f"{len(sides[0][1])} won, {len(sides[1][1])} lost"
            made.append(
                f'<details><summary class="{of[group.label]}"><span class="key"></span>{escape(group.label)} '
                f'<span class="soft">{counts}</span></summary><div class="sides">{lists}</div></details>'
            )
    return "".join(made)


def _questions(name: str, places: Sequence[int], scores: ScoreMatrix, viewer: ViewerPage | None) -> str:
    rows = []
    for place in places[:LISTED]:
        facts = scores.questions[place]
        text = (viewer.texts.get(facts.question_id) if viewer else None) or facts.question_id
        link = viewer.link(facts.question_id) if viewer else None
        inner = escape(text) if link is None else f'<a href="{escape(link)}">{escape(text)}</a>'
        rows.append(f'<li dir="auto">{inner}</li>')
    more = f'<li class="soft">and {len(places) - LISTED:,} more</li>' if len(places) > LISTED else ""
    return f'<div><h4 class="{name}">{name} {len(places):,}</h4><ul>{"".join(rows)}{more}</ul></div>'


def table(one: Table, is_open: bool) -> str:
    """A table as it is in report.md, behind its title."""
    head = "".join(
        f'<th scope="col"{"" if column.kind == TEXT else " class=figure"}>{escape(column.name)}</th>'
        for column in one.columns
    )
    rows = "".join(
        "<tr>"
        + f'<th scope="row">{escape(row[0])}</th>'
        + "".join(
            f"<td{'' if column.kind == TEXT else ' class=figure'}>{escape(cell)}</td>"
            for cell, column in zip(row[1:], one.columns[1:], strict=True)
        )
        + "</tr>"
        for row in one.shown_rows()
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in one.notes)
    return (
        f'<details id="table-{escape(one.name)}"{" open" if is_open else ""}><summary>{escape(one.title)}</summary>'
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<div class="notes">{notes}</div></details>'
    )
