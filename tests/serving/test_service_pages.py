"""The page at ``/docs``: complete and harmless."""

from collections.abc import Iterator

import httpx
import pytest

from tests.served import served
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.select_service import select_app
from tracerank.serving.service_pages import docs_page


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(select_app(MajorityVote(), "1")) as address:
        yield address


def test_every_path_schema_and_field_is_on_the_page(url: str) -> None:
    page = httpx.get(f"{url}/docs").text
    described = httpx.get(f"{url}/openapi.json").json()
    for path in described["paths"]:
        assert f" {path}</code></h2>" in page
        assert f"{url}{path}</code></pre>" in page
    for name, schema in described["components"]["schemas"].items():
        assert f'id="{name}"' in page
        assert all(f">{field}</code>" in page for field in schema["properties"])


def test_a_token_stands_in_the_lines_that_want_one() -> None:
    description = {"paths": {"/v1/a": {"post": {}}, "/health": {"get": {}}}}
    page = docs_page(description, "http://h", wants_token=True)
    assert page.count("TRACERANK_SERVICE_TOKEN") == 1
    assert "TRACERANK_SERVICE_TOKEN" not in docs_page(description, "http://h")


def test_what_the_description_says_is_text_and_nothing_else() -> None:
    bad = "<script>alert(1)</script>"
    schema = {
        "description": bad,
        "properties": {bad: {"type": bad, "description": bad}, "b": {"$ref": bad}, "c": {"enum": [bad]}},
        "examples": [{"x": f"' {bad}"}],
    }
    operation = {
        "description": bad,
        "requestBody": {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{bad}"}}}},
        "responses": {bad: {"description": bad, "content": {bad: {}}}},
    }
    description = {
        "info": {"version": bad},
        "paths": {f"/{bad}": {bad: operation}},
        "components": {"schemas": {bad: schema}},
    }
    page = docs_page(description, f"http://{bad}")
    assert "<script" not in page.lower()
    assert page.count("&lt;script&gt;") >= 12
