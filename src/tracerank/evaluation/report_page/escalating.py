"""The part of the page about escalation: accuracy against the share of questions that went to another method."""

from collections.abc import Mapping
from html import escape

from tracerank.evaluation.escalation import EscalationCurve, escalation_curves
from tracerank.evaluation.report_page.charts import Scale, Series, Tick, chart
from tracerank.evaluation.score_matrix import ScoreMatrix
from tracerank.evaluation.tables import PERCENT, shown

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def escalations(scores: ScoreMatrix, k: int, colour_of: Mapping[str, str]) -> str:
    """A curve for each method with another one behind it; nothing where there is none."""
    curves = [curve for curve in escalation_curves(scores, k) if curve.before is not None]
    if not curves:
        return ""
    accuracies = [curve.before for curve in curves if curve.before is not None]
    accuracies += [point.accuracy for curve in curves for point in curve.points if point.accuracy is not None]
    up, across = Scale.around(accuracies, margin=0.12), Scale(0.0, 1.0)
    series = [_series(curve, up, across, colour_of.get(curve.method, "")) for curve in curves]
    ticks = [Tick(100 - up.at(value), shown(value, PERCENT).removesuffix(".0")) for value in up.ticks()]
    below = [Tick(across.at(share), f"{share:.0%}") for share in _SHARES]
    drawn = chart(series, below, ticks, ("questions that went to the other method", "accuracy, %"))
    said = "".join(
        f'<li class="{colour_of.get(curve.method, "")}"><span class="key"></span>{escape(curve.sentence)}.</li>'
        for curve in curves
    )
    return (
        "<p>The unsurest questions first: what asking the other method about them makes of the accuracy of all. Each "
        "dot is a confidence below which it is asked, told from what was recorded; the leftmost asks nobody.</p>"
        f'<div class="by-k"><div>{drawn}</div><ul class="keys">{said}</ul></div>'
    )


def _series(curve: EscalationCurve, up: Scale, across: Scale, colour: str) -> Series:
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
