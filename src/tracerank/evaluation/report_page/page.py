"""The page put together: one file without a script, which loads nothing and opens from disk.

Names of methods, datasets and questions come from files and are escaped; the Content-Security-Policy allows exactly the
page's own style and nothing else.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from tracerank.evaluation.report import ReportPlan, baseline
from tracerank.evaluation.report_page.sections import budgets, calibration, changed, escalations, forest, table, times
from tracerank.evaluation.report_page.viewer_page import ViewerPage
from tracerank.evaluation.score_matrix import ScoreMatrix
from tracerank.evaluation.tables import Table
from tracerank.runs.atomic import whole_file

INDEX = "index.html"


def report_page(
    title: str,
    tables: Sequence[Table],
    scores: ScoreMatrix,
    plan: ReportPlan,
    labels: Sequence[str] = (),
    warning: str | None = None,
    viewer: ViewerPage | None = None,
) -> str:
    """The page of a report; equal reports give equal bytes."""
    k = plan.k or scores.ks[-1]
    against = baseline(scores, plan)
    parts = [
        ("differences", "Differences" if against is None else f"Against {against}", forest(scores, plan)),
        ("budgets", "Accuracy with the first K rollouts", budgets(scores, plan)),
        ("random", "Accuracy with random K rollouts", budgets(scores, plan, True) if scores.has_subsets else ""),
        ("calibration", f"Calibration at K={k}", calibration(scores, k, plan.abstain_below)),
        ("escalation", f"Asking another method where it is unsure, at K={k}", escalations(scores, k)),
        ("time", f"Accuracy against time at K={k}", times(scores, k)),
        ("questions", "Questions that change sides", changed(scores, plan, viewer)),
        ("tables", "All tables", "".join(table(one, place == 0) for place, one in enumerate(tables))),
    ]
    kept = [part for part in parts if part[2]]
    return _asset("page.html").substitute(
        policy=content_security_policy(),
        style=_style(),
        title=escape(title),
        facts=_facts(title, labels, k, viewer),
        warning="" if warning is None else f'<p class="warning" role="note">{escape(warning)}</p>',
        contents="".join(f'<a href="#{name}">{escape(words)}</a>' for name, words, _ in kept),
        sections="\n".join(
            f'<section id="{name}"><h2>{escape(words)}</h2>{body}</section>' for name, words, body in kept
        ),
    )


def write_page(folder: Path, page: str) -> None:
    """The page in a folder, whole or not at all."""
    with whole_file(folder / INDEX) as file:
        # Half a character, as some logs hold, is no text; a browser shows a sign for it.
        file.write(page.encode("utf-8", "xmlcharrefreplace"))


def _facts(title: str, labels: Sequence[str], k: int, viewer: ViewerPage | None) -> str:
    told = [title, f"K={k}", *(f"labels: {words}" for words in dict.fromkeys(labels))]
    made = "".join(f"<li>{escape(fact)}</li>" for fact in told)
    if viewer is not None:
        made += f'<li><a href="{escape(viewer.address)}">questions and decisions</a></li>'
    return made


def content_security_policy() -> str:
    """No script, no request, no form; only our own style, by its digest."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def _style() -> str:
    return "\n" + _asset("report.css").template


def _asset(name: str) -> Template:
    path = resources.files("tracerank.evaluation.report_page").joinpath("assets", name)
    return Template(path.read_text(encoding="utf-8"))
