"""The page: markup, style and script from ``assets``, and the data, in one file that loads nothing else.

Page text is hostile. The data is compressed and in base64, the list of questions is JSON without a character that HTML
knows; a Content-Security-Policy lets exactly our own script and style run, and nothing be fetched.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from operator import add
from pathlib import Path
from typing import Any

from tracerank.errors import UndecidedPool
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import whole_file
from tracerank.viewer.question_data import agent_counts, list_entry, question_data
from tracerank.votes.base import Method, OnFailure
from tracerank.votes.explanation import explain_stream

STYLES = ("theme.css", "frame.css", "question.css", "reports.css", "lanes.css")
SCRIPTS = (
    "elements.js",
    "data.js",
    "shapes.js",
    "format.js",
    "marks.js",
    "list.js",
    "overview.js",
    "answers.js",
    "reports.js",
    "why.js",
    "missing.js",
    "matrix.js",
    "cards.js",
    "lanes.js",
    "links.js",
    "details.js",
    "question.js",
    "keyboard.js",
    "start.js",
)
"""In this order they are one script: later files use what earlier ones define."""

COMPRESSION = 6


@dataclass(frozen=True, slots=True)
class About:
    """What the page says about where it comes from."""

    title: str
    """Usually the names of the files."""
    method: str
    """What decided, as the user calls it."""
    is_vote: bool = False
    """Whether it is the vote itself, so that there is nothing to compare it with."""


def page(questions: Iterable[dict[str, Any]], about: About) -> bytes:
    """The page of these questions, each as ``question_data`` gives it."""
    return b"".join(page_parts(questions, about))


def page_parts(questions: Iterable[dict[str, Any]], about: About) -> Iterator[bytes]:
    """The page piece by piece; of each question only its line in the list is kept."""
    head, tail = _template().split("{{questions}}")
    yield head.encode()
    entries, fitted, agents = [], 0, dict[str, list[float]]()
    for number, data in enumerate(questions):
        entries.append(list_entry(data))
        fitted += data["is_fitted"]
        for agent, counts in agent_counts(data):
            known = agents.setdefault(agent, [0, 0, 0, 0])
            known[:] = map(add, known, counts)
        yield f'<script type="text/plain" id="question-{number}">{_compressed(data)}</script>\n'.encode()
    rows = [[agent, *counts] for agent, counts in agents.items()] if len(agents) > 1 else []
    listed = {**asdict(about), "fitted": fitted, "agents": rows, "questions": entries}
    yield tail.replace("{{list}}", safe_json(listed), 1).encode()


def write_page(
    path: Path,
    pools: Iterable[Pool],
    method: Method,
    *,
    vote: Method,
    title: str,
    called: str | None = None,
    fitted: Container[Pool] = (),
    on_failure: OnFailure | None = None,
) -> int:
    """Write the page of these pools as the method decides them, whole or not at all; returns its size in bytes.

    ``vote`` is what decisions are compared with, ``called`` the user's name for the method. Pools on which the method
    fails are left out and reported to ``on_failure``; without it the failure is raised.
    """

    def questions() -> Iterator[dict[str, Any]]:
        for pool, explanation in explain_stream(method, pools, on_failure):
            if explanation.decision.problem is None:
                yield question_data(pool, explanation, vote, pool in fitted)
            elif on_failure is None:
                raise UndecidedPool(pool.question.id, explanation.decision.problem)

    about = About(title, called or method.name, is_vote=method.name == vote.name)
    with whole_file(path) as file:
        return sum(file.write(part) for part in page_parts(questions(), about))


def safe_json(value: object) -> str:
    """JSON in ASCII that neither HTML nor JavaScript can take for anything else."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def content_security_policy() -> str:
    """Only our own script and style, by their digests; no request, no frame, no form, no markup from text."""
    own = f"script-src '{_digest(_script())}'; style-src '{_digest(_style())}'"
    rest = (
        "img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return f"default-src 'none'; {own}; {rest}"


def _compressed(data: dict[str, Any]) -> str:
    # ASCII, so that a lone surrogate in some page's text survives.
    packed = zlib.compress(json.dumps(data, separators=(",", ":"), allow_nan=False).encode(), COMPRESSION)
    return base64.b64encode(packed).decode()


def _template() -> str:
    """The page but for its data; only {{list}} and {{questions}} are left to fill in."""
    parts = {"policy": content_security_policy(), "style": _style(), "script": _script()}
    text = _asset("page.html")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part, 1)
    return text


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _style() -> str:
    return "\n" + "\n".join(_asset(name) for name in STYLES)


@cache
def _script() -> str:
    body = "\n".join(_asset(name) for name in SCRIPTS)
    return f'\n"use strict";\n(() => {{\n{body}\n}})();\n'


def _asset(name: str) -> str:
    return resources.files("tracerank.viewer").joinpath("assets", name).read_text(encoding="utf-8")
