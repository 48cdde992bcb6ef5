"""The report as one page for the browser: differences, budgets, calibration and all tables.

One file without a script, which loads nothing and opens from disk. Names of methods, datasets and questions come from
files and are escaped; the Content-Security-Policy allows exactly the page's own style and nothing else.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib import resources
from math import log2
from string import Template

from tracerank.evaluation.charts import Axis, Dot, Scale, Series, arguments, chart, interval
from tracerank.evaluation.evaluate import ORACLE, REFERENCES
from tracerank.evaluation.report_tables import Compared, Figures
from tracerank.evaluation.tables import PERCENT, POINTS, TEXT, Table, shown

MIN_P = 0.001
"""The smallest p that is shown as a number."""
COLOURS, REFERENCE = 8, "reference"
"""Classes of the style sheet: ``s0`` and so on, which repeat after the last, and that of what is no method."""
MIN_SHARE = 0.05
"""Share of the questions below which a precision is luck and is not drawn."""
MAX_POINTS = 40
_SHARES = [(share, f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]


def report_page(
    title: str,
    tables: Sequence[Table],
    figures: Figures,
    labels: Sequence[str] = (),
    warning: str | None = None,
) -> str:
    """The page of a report; equal reports give equal bytes."""
    k, against = figures.k, figures.against
    parts = [
        ("differences", "Differences" if against is None else f"Against {against}", _forest(figures)),
        ("budgets", "Accuracy with the first K rollouts", _budgets(figures)),
        ("calibration", f"Answering only where it is sure, at K={k}", _answering(figures)),
        ("tables", "All tables", "".join(_table(one, index == 0) for index, one in enumerate(tables))),
    ]
    kept = [part for part in parts if part[2]]
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in (title, f"K={k}", *(f"labels: {one}" for one in labels)))
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
    """The class of a method, the same in every chart."""
    methods = figures.scores.choosers
    return f"s{methods.index(name) % COLOURS}" if name in methods else REFERENCE


def _keys(rows: Iterable[tuple[str, str, str]]) -> str:
    """A legend: class, text and figure of each row."""
    made = (
        f'<li class="{colour}"><span class="key"></span>{escape(text)}{f"<b>{figure}</b>" if figure else ""}</li>'
        for colour, text, figure in rows
    )
    return f'<ul class="keys">{"".join(made)}</ul>'


def _beside(drawn: str, keys: str) -> str:
    return f'<div class="by-k"><div>{drawn}</div>{keys}</div>'


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
    rows = [one for one in figures.compared if one.method != ORACLE and one.difference_low is not None]
    rows.sort(key=lambda one: (one.method in REFERENCES, -(one.difference or 0.0)))
    if not rows:
        return '<p class="empty">No other method was right or wrong on the same questions.</p>'
    bounds = [each or 0.0 for one in rows for each in (one.difference, one.difference_low, one.difference_high)]
    scale = Scale.around([0.0, *bounds], margin=0.08)
    made = "".join(_forest_row(one, scale, _colour(figures, one.method)) for one in rows)
    return (
        f'<p class="lead"><b>{escape(base.method)}</b> is right on <b>{shown(base.accuracy, PERCENT)}%'
        f"</b> [{shown(base.low, PERCENT)}, {shown(base.high, PERCENT)}] of the questions at K={figures.k}. "
        "Each line is the 95% interval of the paired difference, in points; right of zero is better.</p>"
        f'<div class="forest">{made}<div class="forest-axis"><span></span>{arguments(Axis.of("", scale, _points))}'
        "</div></div>"
    )


def _forest_row(one: Compared, scale: Scale, colour: str) -> str:
    low, middle, high = (each or 0.0 for each in (one.difference_low, one.difference, one.difference_high))
    words = [shown(value, POINTS) for value in (middle, low, high)]
    title = f"{one.method}: {words[0]} points, 95% interval {words[1]} to {words[2]}"
    p = one.p or 0.0
    p_value = f"p < {MIN_P}" if p < MIN_P else f"p {p:.3f}".rstrip("0").rstrip(".")
    return (
        f'<div class="forest-row{" sure" if low > 0 or high < 0 else ""}"><div class="forest-name">{escape(one.method)}'
        f'<span class="soft">{shown(one.accuracy, PERCENT)}%</span></div>'
        f"{interval(low, middle, high, scale, colour, title)}"
        f'<div class="forest-figures"><b>{words[0]}</b> [{words[1]}, {words[2]}]'
        f'<span class="soft">better {one.better} · worse {one.worse} · {p_value}</span></div></div>'
    )


def _budgets(figures: Figures) -> str:
    """Accuracy against K, a line a method."""
    ks = figures.scores.ks
    accuracies = {method: [figures.by_budget(method, k) for k in ks] for method in figures.scores.methods}
    curves = {
        method: [(k, value) for k, value in zip(ks, values, strict=True) if value is not None]
        for method, values in accuracies.items()
        if values[-1] is not None
    }
    if len(ks) < 2 or not curves:
        return ""
    across = Axis("rollouts, K", Scale.around(map(log2, ks), margin=0.032), [(log2(k), str(k)) for k in ks])
    bounds = (value for curve in curves.values() for _, value in curve)
    series = []
    for method, curve in curves.items():
        dots = [Dot(log2(k), value, f"{method}, K={k}: {shown(value, PERCENT)}") for k, value in curve]
        series.append(Series(dots, _colour(figures, method), method in REFERENCES))
    drawn = chart(series, across, Axis.of("accuracy, %", Scale.around(bounds), _percent))
    ordered = sorted(curves, key=lambda method: -curves[method][-1][1])
    keys = _keys((_colour(figures, method), method, shown(curves[method][-1][1], PERCENT)) for method in ordered)
    return _beside(drawn, keys)


def _answering(figures: Figures) -> str:
    """Precision against the share of questions that are answered, a line for each method that gives a confidence."""
    found = figures.calibrations
    if not found:
        return '<p class="empty">No decision of these records carries a confidence.</p>'
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
    keys = _keys((_colour(figures, one.method), one.sentence, "") for one in found)
    return (
        "<p>The surest questions first: how many are answered, and how many of these are right.</p>"
        f"{_beside(chart(series, Axis('answered', Scale(0.0, 1.0), _SHARES), up), keys)}"
    )


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
