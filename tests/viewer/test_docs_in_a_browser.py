"""The page at ``/docs`` in a real browser, without the network."""

from typing import Any

import pytest

from tests.served import served
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.select_service import select_app


def test_the_page_needs_nothing_but_this_server(browser: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 900})
    asked: list[str] = []
    troubles: list[str] = []
    with served(select_app(MajorityVote(), "1")) as url:
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        reply = page.goto(f"{url}/docs", wait_until="networkidle")
        assert page.get_by_role("heading", name="POST /v1/select").is_visible()
        page.get_by_role("link", name="SelectReply").first.click()
        assert page.url == f"{url}/docs#SelectReply"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        context.close()
    assert asked
    assert all(one.startswith(f"{url}/") for one in asked)
    assert troubles == []
