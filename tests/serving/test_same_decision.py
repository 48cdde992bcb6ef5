"""Every way to ask gives the record that ``tracerank select`` writes: over HTTP and by MCP."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.served import awaited, served
from tests.serving.held import asked, post
from tracerank.endpoints.chat import Usage
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.base import Decision

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.app import create_app
from tracerank.serving.mcp import create_server

POOL = Pool.of(Question("q-1", "Capital of France?"), [Rollout(0, "Rome", ()), Rollout(1, "Paris", ())])
EXPECTED = {
    "question_id": "q-1",
    "question": "Capital of France?",
    "answer": "Paris",
    "sample_id": 1,
    "verdict": "redo",
    "scores": {"1": 0.75},
    "dropped": {"0": "no answer of its own"},
    "group": [1],
    "confidence": 0.5,
    "basis": "labels",
    "rank_score": 0.5,
    "usage": {"prompt_tokens": 30, "completion_tokens": 4, "calls": 2},
    "note": "the model was cut off",
    **dict.fromkeys(("claims", "lacks", "reports")),
    "problems": [],
}


class Costly:
    """A method that fills every field."""

    name = "costly"

    def decide(self, pool: Pool) -> Decision:
        return Decision(
            pool.question.id,
            answer="Paris",
            sample_id=1,
            scores={1: 0.75},
            dropped={0: "no answer of its own"},
            group=(1,),
            confidence=0.5,
            basis="labels",
            rank_score=0.5,
            usage=Usage(30, 4, 2),
            note="the model was cut off",
        )


def by_http(path: str) -> Any:
    with served(create_app(Costly())) as url:
        return post(url, path, asked(POOL)).json()


def by_mcp(tool: str) -> Any:
    rollouts = asked(POOL)["rollouts"]
    call = create_server(Costly()).call_tool(tool, {"question": POOL.question.text, "rollouts": rollouts})
    return awaited(call).structured_content  # type: ignore[union-attr]


WAYS: dict[str, Callable[[], Any]] = {
    "POST /v1/select": lambda: by_http("/v1/select"),
    "POST /v1/explain": lambda: by_http("/v1/explain")["decision"],
    "select_rollout": lambda: by_mcp("select_rollout"),
    "explain_selection": lambda: by_mcp("explain_selection")["decision"],
}


@pytest.mark.parametrize("way", WAYS)
def test_every_field_of_the_decision_arrives(way: str) -> None:
    found = WAYS[way]()
    assert found == EXPECTED
    assert list(found) == list(EXPECTED)
