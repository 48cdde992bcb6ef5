"""Methods and requests for tests of the service."""

import json
import threading
from typing import Any

import httpx

from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.voting import MajorityVote

BODY: dict[str, Any] = {"question": "Q?", "rollouts": [{"answer": "Paris"}, {"answer": "Rome"}, {"answer": "paris."}]}


class Held:
    """A vote that waits until its gate is opened."""

    name = "held"

    def __init__(self) -> None:
        self.begun, self.gate = threading.Event(), threading.Event()

    def decide(self, pool: Pool) -> Decision:
        self.begun.set()
        assert self.gate.wait(20)
        return MajorityVote().decide(pool)


def asked(pool: Pool) -> dict[str, Any]:
    """The request for a pool."""
    return {"rollouts": [rollout_to_record(pool.question, rollout) for rollout in pool.rollouts]}


def post(url: str, path: str, body: Any, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body)
    return httpx.post(f"{url}{path}", content=content, headers={"content-type": "application/json"} | headers)
