"""The service's pages in a real browser, under the policy that its headers set."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.viewer.pages import bridge_pool, hostile_pool, page_of, voted
from tracerank.pools.canonical import rollout_to_record
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tests.served import served
from tracerank.serving.select_service import select_app


def open_in(browser: Any, url: str, troubles: list[str]) -> Any:
    page = browser.new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.goto(url)
    return page


def test_the_start_page_leads_to_the_page_of_the_files(browser: Any, tmp_path: Path) -> None:
    view, troubles = tmp_path / "view.html", []
    view.write_bytes(page_of(voted([bridge_pool()])))
    with served(select_app(MajorityVote(), "1", view=view)) as url:
        page = open_in(browser, url, troubles)
        page.get_by_role("link", name="Questions and decisions").click()
        page.locator(".lane .card").first.wait_for()
        assert page.url == f"{url}/view"
        page.close()
    assert [text for text in troubles if "favicon" not in text] == []


def test_a_posted_pool_is_a_page_in_which_nothing_hostile_runs(browser: Any) -> None:
    pool = hostile_pool()
    body = {"rollouts": [rollout_to_record(pool.question, rollout) for rollout in pool.rollouts]}
    troubles: list[str] = []
    with served(select_app(MajorityVote(), "1")) as url:
        reply = httpx.post(f"{url}/v1/view", content=json.dumps(body), headers={"content-type": "application/json"})
        assert reply.status_code == 200
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        page = browser.new_page()
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.route(
            "**/v1/view", lambda route: route.fulfill(status=200, headers=dict(reply.headers), body=reply.content)
        )
        page.goto(f"{url}/v1/view")
        page.locator(".lane .card").first.wait_for()
        assert page.evaluate("window.hacked === undefined")
        page.close()
    assert troubles == []
