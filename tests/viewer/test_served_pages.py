"""The service's page in a real browser, under the policy that its headers set."""

import json
from typing import Any

import httpx
import pytest

from tests.viewer.pages import hostile_pool
from tracerank.pools.canonical import rollout_to_record
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tests.served import served
from tracerank.serving.app import create_app


def test_a_posted_pool_is_a_page_in_which_nothing_hostile_runs(browser: Any) -> None:
    pool = hostile_pool()
    body = {"rollouts": [rollout_to_record(pool.question, rollout) for rollout in pool.rollouts]}
    troubles: list[str] = []
    with served(create_app(MajorityVote())) as url:
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
