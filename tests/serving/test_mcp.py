"""The MCP tools asked by the official client."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.served import awaited
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision, Method
from tracerank.votes.voting import MajorityVote

pytest.importorskip("mcp")

import mcp

from tracerank.serving.mcp import create_server

ROLLOUTS = [
    {"answer": "Paris", "searches": [{"query": "capital", "evidence": [{"text": "Paris is the capital."}]}]},
    {"answer": "Rome", "searches": []},
    {"answer": "paris", "searches": [{"query": "capital of France", "evidence": [{"text": "Paris is the capital."}]}]},
]


SERVER = "from tracerank.serving.mcp import run; from tracerank.votes.voting import MajorityVote; run(MajorityVote())"


def call(*calls: tuple[str, dict[str, Any]], method: Method | None = None, is_apart: bool = False) -> list[Any]:
    """The tools by name, then the result of each call; ``is_apart``: over stdin and stdout of a process."""
    environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = mcp.StdioServerParameters(command=sys.executable, args=["-c", SERVER], env=environment)

    async def talk() -> list[Any]:
        async with mcp.Client(process if is_apart else create_server(method or MajorityVote())) as client:
            listed = await client.list_tools()
            return [{tool.name: tool for tool in listed.tools}, *[await client.call_tool(*each) for each in calls]]

    return awaited(talk())


def content(result: Any) -> dict[str, Any]:
    found = result.structured_content
    return found if found is not None else json.loads(result.content[0].text)


def test_an_agent_can_select_and_ask_why() -> None:
    body = {"question": "Capital of France?", "rollouts": ROLLOUTS}
    tools, selected, explained, wrong = call(
        ("select_rollout", body),
        ("explain_selection", body),
        ("select_rollout", {"question": "Q?", "rollouts": [{"nonsense": 1}]}),
        is_apart=True,
    )
    assert set(tools) == {"select_rollout", "explain_selection"}
    assert (content(selected)["answer"], content(selected)["group"]) == ("Paris", [0, 2])
    assert content(explained)["candidates"][0]["evidence"][0]["same_text"] == 1
    assert wrong.is_error
    assert "expected 'answer' and 'searches', or 'messages'" in wrong.content[0].text


def test_the_tools_say_field_by_field_what_a_rollout_looks_like_and_their_examples_are_read() -> None:
    [tools] = call()
    for tool in tools.values():
        kinds = tool.input_schema["$defs"]
        assert len(tool.input_schema["properties"]["rollouts"]["items"]["anyOf"]) == 4
        assert kinds["EvidenceRecord"]["properties"].keys() == {"text", "title", "url", "rank"}
        assert kinds["ChatRecord"]["required"] == ["messages"]
        _, found = call(
            ("select_rollout", {"question": "Who wrote it?", "rollouts": kinds["RolloutRecord"]["examples"]})
        )
        assert not found.is_error
        assert content(found)["answer"] == "Ada Lovelace"


BAD: list[tuple[Any, str]] = [
    ({"nonsense": 1}, "rollouts.3.log"),
    ({"answer": "Rome", "searches": "none"}, "rollouts.3.rollout.searches"),
    (
        {"answer": "Rome", "searches": [{"query": "q", "evidence": [{"txt": "Rome."}]}]},
        "rollouts.3.rollout.searches.0.evidence.0.text",
    ),
    ({"answer": "Rome", "searches": [{"query": "q", "results": ["Rome."]}]}, "rollouts.3.rollout.searches.0.evidence"),
    ({"answer": "Rome", "evidence": [{"text": "Rome."}]}, "rollouts.3.rollout.searches"),
    ({"messages": []}, "rollouts.3.chat.messages"),
    ({"messages": "Rome"}, "rollouts.3.chat.messages"),
]


def test_a_bad_item_among_good_ones_is_an_error_with_its_place() -> None:
    calls = [("select_rollout", {"question": "Q?", "rollouts": [*ROLLOUTS, bad]}) for bad, _ in BAD]
    _, *found = call(*calls, ("explain_selection", calls[0][1]))
    for result, (_, reason) in zip(found, [*BAD, BAD[0]], strict=True):
        assert result.is_error
        assert reason in result.content[0].text


def test_a_rollout_that_gave_no_answer_is_no_mistake() -> None:
    _, found = call(
        ("select_rollout", {"question": "Q?", "rollouts": [*ROLLOUTS, {"answer": None, "searches": []}, ""]})
    )
    assert not found.is_error
    assert content(found)["dropped"].keys() == {"3", "4"}


def test_a_lone_surrogate_of_a_page_is_answered() -> None:
    rollouts = [{"answer": "Paris \ud800", "searches": []}, "Rome", "Paris \ud800"]
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"name": "select_rollout", "arguments": {"question": "Capital \udfff of France?", "rollouts": rollouts}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": asked},
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            reply = json.loads(server.stdout.readline()) if "id" in message else None
        server.stdin.close()
    assert reply is not None
    assert reply["result"]["structuredContent"]["answer"] == "Paris ?"


class Failing:
    """A method that fails."""

    name = "failing"

    def decide(self, pool: Pool) -> Decision:
        raise OverflowError("math range error")


def test_a_pool_that_cannot_be_decided_is_an_error_with_the_reason() -> None:
    _, result = call(("select_rollout", {"question": "Q?", "rollouts": ["Paris"]}), method=Failing())
    assert result.is_error
    assert "not decided: OverflowError: math range error" in result.content[0].text
