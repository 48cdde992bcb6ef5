"""The report as one page for the browser: differences, budgets, calibration, escalation, time, questions, tables.

One file without a script, which loads nothing and opens from disk. Names of methods, datasets and questions come from
files and are escaped; the Content-Security-Policy allows exactly the page's own style and nothing else.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib import resources
from math import ceil, floor, log2, log10
from pathlib import Path
from string import Template
from urllib.parse import quote

import numpy as np

from tracerank.evaluation.calibration import Calibration
from tracerank.evaluation.charts import Axis, Dot, Scale, Series, arguments, chart, colour_of, interval
from tracerank.evaluation.escalation import EscalationCurve
from tracerank.evaluation.evaluate import ORACLE, REFERENCES
from tracerank.evaluation.figures import Compared, Curve, Figures
from tracerank.evaluation.scores import mean
from tracerank.evaluation.tables import PERCENT, POINTS, TEXT, Table, shown
from tracerank.runs.atomic import whole_file

INDEX = "index.html"
LISTED = 24
"""Questions of each side that are listed."""
MIN_P = 0.001
"""The smallest p that is shown as a number."""
REFERENCE = "reference"
"""Class of what is no method."""
MIN_SHARE = 0.05
"""Share of the questions below which a precision is luck and is not drawn."""
MAX_POINTS = 40
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_LARGEST_DOT, _SMALLEST_DOT = 11.0, 3.0
_SHARES = [(share, f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
_UNIT = Scale(0.0, 1.0)


def report_page(
    title: str,
    tables: Sequence[Table],
    figures: Figures,
    labels: Sequence[str] = (),
    warning: str | None = None,
    viewer: str | None = None,
) -> str:
    """The page of a report, with links to a viewer's page at an address; equal reports give equal bytes."""
    k, against = figures.k, figures.against
    parts = [
        ("differences", "Differences" if against is None else f"Against {against}", _forest(figures)),
        ("budgets", "Accuracy with the first K rollouts", _budgets(figures)),
        ("random", "Accuracy with random K rollouts", _budgets(figures, True) if figures.scores.has_subsets else ""),
        ("calibration", f"Calibration at K={k}", _calibration(figures)),
        ("escalation", f"Asking another method about unsure questions, at K={k}", _escalations(figures)),
        ("time", f"Accuracy against time at K={k}", _times(figures)),
        ("questions", "Questions that change sides", _changed(figures, viewer)),
        ("tables", "All tables", "".join(_table(one, index == 0) for index, one in enumerate(tables))),
    ]
    kept = [part for part in parts if part[2]]
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in (title, f"K={k}", *(f"labels: {one}" for one in labels)))
    if viewer is not None:
        facts += f'<li><a href="{escape(viewer)}">questions and decisions</a></li>'
    return _asset("page.html").substitute(
        policy=content_security_policy(),
        style=_style(),
        title=escape(title),
        facts=facts,
        warning="" if warning is None else f'<p class="warning" role="note">{escape(warning)}</p>',
        contents="".join(f'<a href="#{name}">{escape(words)}</a>' for name, words, _ in kept),
        sections="\n".join(
            f'<section id="{name}"><h2>{escape(words)}</h2>{body}</section>' for name, words, body in kept
        ),
    )


def write_page(folder: Path, page: str) -> None:
    """The page in a folder, whole or not at all."""
    with whole_file(folder / INDEX) as file:
        # Lone surrogates, as some logs hold, are not encodable; a browser shows a sign for them.
        file.write(page.encode("utf-8", "xmlcharrefreplace"))


def content_security_policy() -> str:
    """No script, no request, no form; only our own style, by its digest."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def _style() -> str:
    return "\n" + _asset("report.css").template


def _asset(name: str) -> Template:
    path = resources.files("tracerank.evaluation").joinpath("assets", name)
    return Template(path.read_text(encoding="utf-8"))


def _colour(figures: Figures, name: str) -> str:
    """The class of a method or of identical methods, the same in every chart."""
    found = (index for index, names in enumerate(figures.identical) if name in (*names, figures.label(names[0])))
    return next(map(colour_of, found), REFERENCE)


def _keys(rows: Iterable[tuple[str, str, str]]) -> str:
    """A legend: class, text and figure of each row."""
    made = ""
    for colour, text, figure in rows:
        key = f'<span class="key"></span>{escape(text)}' if colour else escape(text)
        made += f'<li class="{colour}">{key}{f"<b>{figure}</b>" if figure else ""}</li>'
    return f'<ul class="keys">{made}</ul>'


def _beside(drawn: str, keys: str) -> str:
    return f'<div class="by-k"><div>{drawn}</div>{keys}</div>'


def _caption(colour: str, name: str) -> str:
    return f'<figcaption class="{colour}"><span class="key"></span>{escape(name)}</figcaption>'


def _percent(value: float) -> str:
    return shown(value, PERCENT).removesuffix(".0")


def _points(value: float) -> str:
    text = shown(value, POINTS).removesuffix(".0")
    return "0" if text == "+0" else text


def _forest(figures: Figures) -> str:
    """Differences from the baseline with their intervals; the oracle is a bound and would only squeeze the others."""
    if figures.against is None:
        return '<p class="empty">There is no method to compare with; name one with --against.</p>'
    base = next(one for one in figures.compared if one.method == figures.against)
    shown_methods = {names[0] for names in figures.identical if base.method not in names} | {*REFERENCES} - {ORACLE}
    rows = [one for one in figures.compared if one.method in shown_methods and one.difference_low is not None]
    rows.sort(key=lambda one: (one.method in REFERENCES, -(one.difference or 0.0)))
    if not rows:
        return '<p class="empty">No other method was right or wrong on the same questions.</p>'
    bounds = [each or 0.0 for one in rows for each in (one.difference, one.difference_low, one.difference_high)]
    scale = Scale.around([0.0, *bounds], margin=0.08)
    made = "".join(_forest_row(one, figures, scale) for one in rows)
    return (
        f'<p class="lead"><b>{escape(figures.label(base.method))}</b> is right on <b>{shown(base.accuracy, PERCENT)}%'
        f"</b> [{shown(base.low, PERCENT)}, {shown(base.high, PERCENT)}] of the questions at K={figures.k}. "
        "Each line is the 95% interval of the paired difference, in points; right of zero is better.</p>"
        f'<div class="forest">{made}<div class="forest-axis"><span></span>{arguments(Axis.of("", scale, _points))}'
        "</div></div>"
    )


def _forest_row(one: Compared, figures: Figures, scale: Scale) -> str:
    low, middle, high = (each or 0.0 for each in (one.difference_low, one.difference, one.difference_high))
    words, label = [shown(value, POINTS) for value in (middle, low, high)], figures.label(one.method)
    title = f"{label}: {words[0]} points, 95% interval {words[1]} to {words[2]}"
    p = one.p or 0.0
    p_value = f"p < {MIN_P}" if p < MIN_P else f"p {p:.3f}".rstrip("0").rstrip(".")
    return (
        f'<div class="forest-row{" sure" if low > 0 or high < 0 else ""}"><div class="forest-name">{escape(label)}'
        f'<span class="soft">{shown(one.accuracy, PERCENT)}%</span></div>'
        f"{interval(low, middle, high, scale, _colour(figures, one.method), title)}"
        f'<div class="forest-figures"><b>{words[0]}</b> [{words[1]}, {words[2]}]'
        f'<span class="soft">better {one.better} · worse {one.worse} · {p_value}</span></div></div>'
    )


def _budgets(figures: Figures, is_random: bool = False) -> str:
    """Accuracy against K as lines, and the gain of each method over the baseline with its band."""
    curves, ks = figures.accuracy_curves(is_random), figures.scores.ks
    if len(ks) < 2 or not curves:
        return ""
    across = Axis("rollouts, K", Scale.around(map(log2, ks), margin=0.032), [(log2(k), str(k)) for k in ks])
    up = Axis.of("accuracy, %", Scale.around(value for curve in curves for value in curve.accuracy), _percent)
    drawn = chart([_line(curve, figures, PERCENT) for curve in curves], across, up)
    ordered = sorted(curves, key=lambda curve: -curve.accuracy[-1])
    made = _beside(
        drawn, _keys((_colour(figures, one.method), one.method, shown(one.accuracy[-1], PERCENT)) for one in ordered)
    )
    if not (gains := figures.gain_curves(is_random)):
        return made
    bounds = [value for curve in gains for value in (*curve.low, *curve.high)]
    up = Axis.of("points", Scale.around([0.0, *bounds]), _points)
    zero = [((across.scale.low, 0.0), (across.scale.high, 0.0))]
    panels = "".join(
        f"<figure>{_caption(_colour(figures, curve.method), curve.method)}"
        f"{chart([_line(curve, figures, POINTS)], across, up, zero, 'small')}</figure>"
        for curve in gains
    )
    return (
        f"{made}<h3>Gain over {escape(figures.against or '')}</h3><p>Paired, question by question, with 95% bootstrap "
        f'bands; all panels have one scale.</p><div class="panels">{panels}</div>'
    )


def _line(curve: Curve, figures: Figures, kind: str) -> Series:
    across = list(map(log2, curve.ks))
    named = zip(across, curve.ks, curve.accuracy, strict=True)
    band = [*zip(across, curve.high, strict=True), *zip(reversed(across), reversed(curve.low), strict=True)]
    return Series(
        [Dot(x, value, f"{curve.method}, K={k}: {shown(value, kind)}") for x, k, value in named],
        _colour(figures, curve.method),
        band if kind == POINTS else (),
        curve.method in REFERENCES,
    )


def _calibration(figures: Figures) -> str:
    """A reliability diagram for each method that gives a confidence, then what abstaining brings."""
    found = figures.calibrations
    if not found:
        return '<p class="empty">No decision of these records carries a confidence.</p>'
    panels = "".join(_reliability(one, _colour(figures, one.method)) for one in found)
    return (
        "<p>Questions with about the same confidence (ten bins), against how many of them are right. On the diagonal "
        "confidence equals accuracy; below it, confidence is too high. Larger dots hold more questions.</p>"
        f'<div class="panels wide">{panels}</div>{_answering(found, figures)}'
    )


def _reliability(one: Calibration, colour: str) -> str:
    bins = one.reliability.bins
    most = max(each.questions for each in bins)
    dots = [
        Dot(
            each.confidence,
            each.accuracy,
            f"confidence {each.confidence:.0%}: {each.accuracy:.0%} of {each.questions:,} right",
            max(_SMALLEST_DOT, _LARGEST_DOT * (each.questions / most) ** 0.5),
        )
        for each in bins
    ]
    across, up = Axis("confidence", _UNIT, _SHARES[::2]), Axis("right", _UNIT, _SHARES)
    drawn = chart([Series(dots, colour)], across, up, [((0.0, 0.0), (1.0, 1.0))], "square")
    return f"<figure>{_caption(colour, one.method)}{drawn}</figure>"


def _answering(found: Sequence[Calibration], figures: Figures) -> str:
    """Precision against the share of questions that are answered, a line a method."""
    low = min((point.precision for one in found for point in one.curve if point.share >= MIN_SHARE), default=0.0)
    up = Axis.of("right, %", Scale.around([low, 1.0]), _percent)
    series = []
    for one in found:
        points = [point for point in one.curve if point.share >= MIN_SHARE or point is one.curve[-1]]
        points = points[:: max(1, len(points) // MAX_POINTS)] + points[-1:]
        dots = [
            Dot(
                point.share,
                max(point.precision, up.scale.low),
                f"{one.method}, from confidence {point.threshold:.2f}: {point.share:.0%} answered, "
                f"{point.precision:.0%} of these right",
            )
            for point in points
        ]
        series.append(Series(dots, _colour(figures, one.method)))
    keys = _keys(("", one.sentence, "") for one in found)
    return (
        "<h3>Answering only where it is sure</h3><p>The surest questions first: how many are answered, and how many of "
        f"these are right.</p>{_beside(chart(series, Axis('answered', _UNIT, _SHARES), up), keys)}"
    )


def _escalations(figures: Figures) -> str:
    """A curve for each method with another one behind it; nothing where there is none."""
    curves = [curve for curve in figures.escalations if curve.before is not None]
    if not curves:
        return ""
    accuracies = [each.accuracy for curve in curves for each in curve.points if each.accuracy is not None]
    scale = Scale.around([*accuracies, *(curve.before or 0.0 for curve in curves)], margin=0.12)
    series = [_escalation_series(curve, _colour(figures, curve.method)) for curve in curves]
    across = Axis("questions that went to the other method", _UNIT, _SHARES)
    drawn = chart(series, across, Axis.of("accuracy, %", scale, _percent))
    keys = _keys((_colour(figures, curve.method), f"{curve.sentence}.", "") for curve in curves)
    return (
        "<p>The least sure questions first: the accuracy of all when the other method is asked about them. Each dot is "
        "a confidence below which it is asked, computed from the records; at the leftmost it is never asked.</p>"
        f"{_beside(drawn, keys)}"
    )


def _escalation_series(curve: EscalationCurve, colour: str) -> Series:
    before = curve.before or 0.0
    dots = [Dot(0.0, before, f"{curve.method}: never asked, {shown(before, PERCENT)}% right")]
    for point in curve.points:
        if point.accuracy is None or point.share == dots[-1].x:
            continue
        cost = point.each(point.tokens)
        title = (
            f"{curve.method} below {point.below:g}: {point.share:.0%} asked, {shown(point.accuracy, PERCENT)}% right, "
            f"{point.recovered:g} recovered, {point.lost:g} lost"
            + ("" if cost is None else f", {cost:,.0f} tokens per recovered answer")
        )
        dots.append(Dot(point.share, point.accuracy, title))
    return Series(dots, colour)


def _times(figures: Figures) -> str:
    """Accuracy against the median time of a decision, a dot a method."""
    points = [
        (cost.method, cost.typical_seconds, accuracy)
        for cost in figures.costs
        if cost.typical_seconds and (accuracy := mean(figures.scores.values(cost.method, figures.k))) is not None
    ]
    if not points:
        return ""
    scale = Scale.around([log10(seconds) for _, seconds, _ in points], margin=0.12)
    series = []
    for method, seconds, accuracy in points:
        dot = Dot(log10(seconds), accuracy, f"{method}: {_time(seconds)}, {shown(accuracy, PERCENT)}%", 6.0)
        series.append(Series([dot], _colour(figures, method)))
    powers = range(ceil(scale.low), floor(scale.high) + 1)
    across = Axis("time per question, median", scale, [(power, _time(10.0**power)) for power in powers])
    up = Axis.of("accuracy, %", Scale.around([accuracy for _, _, accuracy in points], margin=0.2), _percent)
    ordered = sorted(points, key=lambda point: point[1])
    keys = _keys((_colour(figures, method), method, _time(seconds)) for method, seconds, _ in ordered)
    return (
        "<p>The median over questions, so that loading with the first decision has no effect. Readings of answers are "
        "cached during a run: the method that came first has made them for the others.</p>"
        f"{_beside(chart(series, across, up), keys)}"
    )


def _time(seconds: float) -> str:
    unit, name = next(((unit, name) for unit, name in _TIMES if seconds >= unit * 0.999), _TIMES[-1])
    return f"{seconds / unit:.3g} {name}"


def _changed(figures: Figures, viewer: str | None) -> str:
    """Questions that each method wins and loses against the baseline, with links where a page shows them."""
    if figures.against is None:
        return ""
    base, made = figures.scores.values(figures.against, figures.k), ""
    for name, *_ in figures.identical:
        difference = figures.scores.values(name, figures.k) - base
        sides = {"wins": np.flatnonzero(difference > 0).tolist(), "loses": np.flatnonzero(difference < 0).tolist()}
        if not any(sides.values()):
            continue
        won, lost = map(len, sides.values())
        lists = "".join(_questions(side, numbers, figures, viewer) for side, numbers in sides.items() if numbers)
        made += (
            f'<details><summary class="{_colour(figures, name)}"><span class="key"></span>'
            f'{escape(figures.label(name))} <span class="soft">{won} won, {lost} lost</span></summary>'
            f'<div class="sides">{lists}</div></details>'
        )
    return made


def _questions(side: str, numbers: Sequence[int], figures: Figures, viewer: str | None) -> str:
    rows = ""
    for facts in (figures.scores.questions[number] for number in numbers[:LISTED]):
        text = escape(facts.question or facts.question_id)
        link = quote(facts.question_id, safe="", errors="surrogatepass")
        if viewer is not None:
            text = f'<a href="{escape(viewer)}#id={link}">{text}</a>'
        rows += f'<li dir="auto">{text}</li>'
    if len(numbers) > LISTED:
        rows += f'<li class="soft">and {len(numbers) - LISTED:,} more</li>'
    return f'<div><h4 class="{side}">{side} {len(numbers):,}</h4><ul>{rows}</ul></div>'


def _table(one: Table, is_open: bool) -> str:
    """A table as it is in report.md, behind its title."""

    def cell(tag: str, text: str, kind: str) -> str:
        return f"<{tag}{'' if kind == TEXT else ' class=figure'}>{escape(text)}</{tag.partition(' ')[0]}>"

    head = "".join(cell('th scope="col"', column.name, column.kind) for column in one.columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(cell("td", text, column.kind) for text, column in zip(row[1:], one.columns[1:], strict=True))
        + "</tr>"
        for row in one.shown_rows()
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in one.notes)
    return (
        f'<details id="table-{escape(one.name)}"{" open" if is_open else ""}><summary>{escape(one.title)}</summary>'
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<div class="notes">{notes}</div></details>'
    )
