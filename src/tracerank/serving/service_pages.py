"""What the service shows in a browser: a start page, the page of files that it was given, a page of a posted pool."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response

from tracerank.methods.explanation import Explanation
from tracerank.pools.pool import Pool
from tracerank.serving.viewer.page import About, content_security_policy, page
from tracerank.serving.viewer.question_data import question_data

HTML: Mapping[str, Any] = {"response_class": Response, "responses": {200: {"content": {"text/html": {}}}}}
"""How a page is described; refusals of the same endpoint are JSON."""

PLAIN_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_VIEW_LINK = '<li><a href="view">Questions and decisions</a> of the files that this service was given</li>'


def page_of_pool(pool: Pool, explanation: Explanation, method: str) -> Response:
    """The viewer's page of one question."""
    about = About(pool.question.id, method)
    return html_page(page([question_data(pool, explanation)], about), content_security_policy())


def add_pages(app: FastAPI, method: str, version: str, view: Path | None) -> None:
    """``GET /``, and ``GET /view`` where there is a page to show."""

    @app.get("/", **HTML)
    async def start() -> Response:
        """What is here, for people."""
        style = template("service_page.css").template
        link = _VIEW_LINK if view else ""
        text = template("start_page.html").substitute(style=style, method=method, version=version, view=link)
        return html_page(text, PLAIN_POLICY)

    if view is not None:

        @app.get("/view", **HTML)
        async def shown() -> Response:
            """The page of the files that the service was given."""
            return FileResponse(view, media_type="text/html", headers=_headers(content_security_policy()))


def html_page(content: str | bytes, policy: str) -> Response:
    """A page that may do no more than its Content-Security-Policy says."""
    return HTMLResponse(content, headers=_headers(policy))


def _headers(policy: str) -> dict[str, str]:
    # A page cannot forbid to be framed by itself; only the header can.
    return {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff"}


@cache
def template(name: str) -> Template:
    """A file beside this module, with places to fill in."""
    return Template(resources.files("tracerank.serving").joinpath(name).read_text(encoding="utf-8"))
