"""Whoever asks is told the same of a decision: on the command line, over HTTP, by MCP, in an adapter."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.served import awaited, served
from tracerank.cli.app import app as cli
from tracerank.endpoints.chat import Usage
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.base import NO_EVIDENCE, Decision, decision_to_record, told

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.select_service import select_app

POOL = Pool.of(Question("q-1", "Capital of France?"), [Rollout(0, "Rome", ()), Rollout(1, "Paris", ())])
RECORDS = [rollout_to_record(POOL.question, rollout) for rollout in POOL.rollouts]
EXPECTED = {
    "question_id": "q-1",
    "question": "Capital of France?",
    "answer": "Paris",
    "sample_id": 1,
    "scores": {"1": 0.75},
    "dropped": {"0": "no answer of its own"},
    "group": [1],
    "confidence": 0.5,
    "usage": {"prompt_tokens": 30, "completion_tokens": 4, "calls": 2},
    "note": f"the model was cut off; {NO_EVIDENCE}",
}


class Costly:
    """Has something to say in every field."""

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
            usage=Usage(30, 4, 2),
            note="the model was cut off",
        )


def by_select(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("tracerank.cli.select.method_named", lambda *_: Costly())
    file = folder / "pools.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS), encoding="utf-8")
    return json.loads(CliRunner().invoke(cli, ["select", str(file), "-q"]).stdout)


def by_service(path: str) -> Any:
    with served(select_app(Costly(), "1")) as url:
        return httpx.post(f"{url}{path}", json={"rollouts": RECORDS}).json()


def by_mcp(tool: str) -> Any:
    pytest.importorskip("mcp")
    from tracerank.serving.mcp_server import mcp_server

    call = mcp_server(Costly(), "1").call_tool(tool, {"question": POOL.question.text, "rollouts": RECORDS})
    return awaited(call).structured_content  # type: ignore[union-attr]


TOLD: dict[str, Callable[[], Any]] = {
    "POST /v1/select": lambda: by_service("/v1/select"),
    "POST /v1/explain": lambda: by_service("/v1/explain")["decision"],
    "select_rollout": lambda: by_mcp("select_rollout"),
    "explain_selection": lambda: by_mcp("explain_selection")["decision"],
}


def test_select_writes_the_record_of_the_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = by_select(tmp_path, monkeypatch)
    # A file of many also says what a model wrote, who decided and where the rollout was read; a request knows.
    more = {
        "problem": None,
        "reply": None,
        "counts": {},
        "method": "default",
        "source": f"{tmp_path / 'pools.jsonl'}:2",
        "score_list": [{"sample_id": 1, "score": 0.75}],
        "escalated": None,
        "missing": None,
    }
    assert written == {**EXPECTED, **more}
    assert list(written) == [*EXPECTED, *more]
    assert decision_to_record(POOL.question, told(POOL, Costly().decide(POOL))) == {**EXPECTED, "problem": None}


@pytest.mark.parametrize("teller", TOLD)
def test_others_tell_what_select_writes_and_what_could_not_be_read(teller: str) -> None:
    told = TOLD[teller]()
    expected = {**EXPECTED, "problems": [], "escalated": None, "missing": None}
    assert told == expected
    assert list(told) == list(expected)
