"""A real MCP client over stdin and stdout."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.served import awaited

mcp = pytest.importorskip("mcp")

ROLLOUTS = [
    {"answer": "Paris", "searches": [{"query": "capital", "evidence": [{"text": "Paris is the capital."}]}]},
    {"answer": "Rome", "searches": []},
    {"answer": "paris", "searches": [{"query": "capital of France", "evidence": [{"text": "Paris is the capital."}]}]},
]


def call(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The tools' names, then the result of each call, of a server in a process of its own."""

    async def talk() -> list[Any]:
        environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        arguments = ["-m", "tracerank", "mcp", "--method", "majority"]
        server = mcp.StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        async with mcp.Client(server) as client:
            listed = await client.list_tools()
            return [{tool.name for tool in listed.tools}, *[await client.call_tool(*each) for each in calls]]

    return awaited(talk())


def content(result: Any) -> dict[str, Any]:
    found = result.structured_content
    return found if found is not None else json.loads(result.content[0].text)


def test_an_agent_can_select_and_ask_why(tmp_path: Path) -> None:
    body = {"question": "Capital of France?", "rollouts": ROLLOUTS}
    tools, selected, explained, wrong = call(
        ("select_rollout", body),
        ("explain_selection", body),
        ("select_rollout", {"question": "Q?", "rollouts": [{"nonsense": 1}]}),
    )
    assert tools == {"select_rollout", "explain_selection"}
    assert (content(selected)["answer"], content(selected)["group"]) == ("Paris", [0, 2])
    assert content(explained)["candidates"][0]["evidence"][0]["same_text"] == 1
    assert wrong.is_error
    assert "no known format" in wrong.content[0].text
