"""What the service shows in a browser: a start page, its own description, a page of files, a page of a posted pool.

All of it without anything from elsewhere. ``GET /docs`` needs no scripts either: Swagger UI would be two megabytes of
somebody else's and wants inline styles; a table a schema says the same.
"""

import json
import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

from tracerank.pools.pool import Pool
from tracerank.viewer.page import About, content_security_policy, page
from tracerank.viewer.question_data import question_data
from tracerank.votes.explanation import Explanation

Schema = Mapping[str, Any]
HTML: Mapping[str, Any] = {"response_class": Response, "responses": {200: {"content": {"text/html": {}}}}}
"""How a page is described; refusals of the same endpoint are JSON."""

PLAIN_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_VIEW_LINK = '<li><a href="view">Questions and decisions</a> of the files that this service was given</li>'
_NAMED = "#/components/schemas/"
_JSON_HEADER = "content-type: application/json"
_TOKEN_HEADER = '"Authorization: Bearer $TRACERANK_SERVICE_TOKEN"'


def page_of_pool(pool: Pool, explanation: Explanation, method: str) -> Response:
    """The viewer's page of one question."""
    about = About(pool.question.id, method)
    return _html_page(page([question_data(pool, explanation)], about), content_security_policy())


def add_pages(app: FastAPI, method: str, version: str, view: Path | None) -> None:
    """``GET /``, and ``GET /view`` where there is a page to show."""

    @app.get("/", **HTML)
    async def start() -> Response:
        """What is here, for people."""
        style = _template("service_page.css").template
        link = _VIEW_LINK if view else ""
        text = _template("start_page.html").substitute(style=style, method=method, version=version, view=link)
        return _html_page(text, PLAIN_POLICY)

    if view is not None:

        @app.get("/view", **HTML)
        async def shown() -> Response:
            """The page of the files that the service was given."""
            return FileResponse(view, media_type="text/html", headers=_headers(content_security_policy()))


def add_docs(app: FastAPI, wants_token: bool) -> None:
    """Show the description at ``/docs``."""

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        text = docs_page(app.openapi(), str(request.base_url).rstrip("/"), wants_token)
        return _html_page(text, PLAIN_POLICY)


def docs_page(description: Schema, address: str, wants_token: bool = False) -> str:
    """The page of an OpenAPI description; all that stands in it is shown as text."""
    schemas: Schema = description.get("components", {}).get("schemas", {})
    operations = [
        _operation(path, method, operation, schemas, _Call(address, wants_token))
        for path, methods in description.get("paths", {}).items()
        for method, operation in methods.items()
    ]
    return _template("docs_page.html").substitute(
        style=_template("service_page.css").template,
        version=escape(str(description.get("info", {}).get("version", ""))),
        operations="\n".join(operations),
        objects="\n".join(_object(name, schema) for name, schema in schemas.items()),
    )


class _Call:
    """How an endpoint is called from a shell."""

    def __init__(self, address: str, wants_token: bool) -> None:
        self._address = address
        self._wants_token = wants_token

    def line(self, path: str, body: Schema | None) -> str:
        parts = ["curl"]
        if self._wants_token and path != "/health":
            parts += ["-H", _TOKEN_HEADER]
        if body is not None:
            example = next(iter(body.get("examples", ())), None)
            data = "@body.json" if example is None else json.dumps(example, ensure_ascii=False)
            parts += ["-H", shlex.quote(_JSON_HEADER), "-d", shlex.quote(data)]
        return " ".join([*parts, shlex.quote(self._address + path)])


def _operation(path: str, method: str, operation: Schema, schemas: Schema, call: _Call) -> str:
    body = _content_schema(operation.get("requestBody", {}))
    named = schemas.get(str(body.get("$ref", "")).removeprefix(_NAMED), body) if body else None
    replies = _rows(
        (escape(status), _type(_content_schema(reply)), escape(reply.get("description", "")))
        for status, reply in operation.get("responses", {}).items()
    )
    takes = f"<p>Takes {_type(body)}.</p>" if body else ""
    return (
        f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>\n"
        f"<p>{escape(operation.get('description', ''))}</p>\n{takes}"
        f"<pre><code>{escape(call.line(path, named))}</code></pre>\n"
        f"<table><tr><th>Status</th><th>Gives</th><th>When</th></tr>{replies}</table>"
    )


def _object(name: str, schema: Schema) -> str:
    required = schema.get("required", ())
    rows = _rows(
        (
            f"<code{' class=must' if field in required else ''}>{escape(field)}</code>",
            _type(inner),
            escape(_told(inner)),
        )
        for field, inner in schema.get("properties", {}).items()
    )
    return (
        f'<h2 id="{escape(name)}"><code>{escape(name)}</code></h2>\n<p>{escape(schema.get("description", ""))}</p>\n'
        f"<table><tr><th>Field</th><th>Type</th><th>Meaning</th></tr>{rows}</table>"
    )


def _rows(rows: Iterable[tuple[str, str, str]]) -> str:
    """Cells hold markup already."""
    return "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)


def _content_schema(holder: Schema) -> Schema:
    for kind, content in holder.get("content", {}).items():
        return content.get("schema") or {"type": kind}
    return {}


def _told(schema: Schema) -> str:
    """What a schema says in words, or what its parts say."""
    own = schema.get("description")
    parts = [*schema.get("anyOf", ()), *filter(None, [schema.get("items")])]
    return str(own) if own else next(filter(None, map(_told, parts)), "")


def _type(schema: Schema) -> str:
    """A schema as markup: a link to a named one, else its type in words."""
    if "$ref" in schema:
        name = escape(str(schema["$ref"]).removeprefix(_NAMED))
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "const" in schema or "enum" in schema:
        return escape(" or ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")])))
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return f"object of {_type(values)}"
    return escape(str(schema.get("type", "any")))


def _html_page(content: str | bytes, policy: str) -> Response:
    """A page that may do no more than its Content-Security-Policy says."""
    return HTMLResponse(content, headers=_headers(policy))


def _headers(policy: str) -> dict[str, str]:
    # A page cannot forbid to be framed by itself; only the header can.
    return {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff"}


@cache
def _template(name: str) -> Template:
    """A file beside this module, with places to fill in."""
    return Template(resources.files("tracerank.serving").joinpath(name).read_text(encoding="utf-8"))
