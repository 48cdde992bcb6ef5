"""``GET /docs``: the service's own description as one page, without scripts and without anything from elsewhere.

Swagger UI would be two megabytes of somebody else's scripts and wants inline styles; a table a schema says the same.
"""

import json
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI, Request, Response

from tracerank.serving.service_pages import PLAIN_POLICY, html_page, template

Schema = Mapping[str, Any]
_NAMED = "#/components/schemas/"
_JSON_HEADER = "content-type: application/json"
_TOKEN_HEADER = '"Authorization: Bearer $TRACERANK_SERVICE_TOKEN"'


def add_docs(app: FastAPI, wants_token: bool) -> None:
    """Show the description at ``/docs``."""

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        page = docs_page(app.openapi(), str(request.base_url).rstrip("/"), wants_token)
        return html_page(page, PLAIN_POLICY)


def docs_page(description: Schema, address: str, wants_token: bool = False) -> str:
    """The page of an OpenAPI description; all that stands in it is shown as text."""
    schemas: Schema = description.get("components", {}).get("schemas", {})
    operations = [
        _operation(path, method, operation, schemas, _Call(address, wants_token))
        for path, methods in description.get("paths", {}).items()
        for method, operation in methods.items()
    ]
    return template("docs_page.html").substitute(
        style=template("service_page.css").template,
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
