"""Claude Agent SDK and Claude Code: the SDK's messages, ``stream-json`` lines and the session's JSONL file.

The command that the SDK brings talks to the scripted server; its home is a folder of its own, so it finds no settings.
"""

import asyncio
import json
import shutil
from dataclasses import asdict
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("claude-agent-sdk",)
_LONGEST = 400


def make(run: Run) -> dict[str, Any]:
    """The tool is an MCP server in this process: ``mcp__web__web_search``."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query, tool
    from claude_agent_sdk._internal import client

    @tool("web_search", "Search the web.", {"query": str})
    async def web_search(arguments: dict[str, str]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": run.found_text(arguments["query"])}]}

    home = run.folder / "work" / run.name
    (home / "cwd").mkdir(parents=True, exist_ok=True)
    options = ClaudeAgentOptions(
        mcp_servers={"web": create_sdk_mcp_server("web", tools=[web_search])},
        allowed_tools=["mcp__web__web_search"],
        disallowed_tools=["WebSearch", "Task", "ToolSearch"],
        setting_sources=[],
        model="claude-sonnet-4-5",
        cwd=str(home / "cwd"),
        env={
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / "config"),
            "ANTHROPIC_BASE_URL": run.root,
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_AUTH_TOKEN": "",
            "CLAUDE_CODE_OAUTH_TOKEN": "",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )
    raw: list[Any] = []
    parse = client.parse_message
    client.parse_message = lambda data: (raw.append(data), parse(data))[1]  # what the command prints as stream-json
    try:
        messages = [message async for message in query(prompt=run.question, options=options)]
    finally:
        client.parse_message = parse
    session = next((home / "config" / "projects").rglob("*.jsonl"))
    lines = [json.loads(line) for line in session.read_text().splitlines()]
    shutil.rmtree(home)
    dumped = [{"kind": type(message).__name__, **asdict(message)} for message in messages]
    return {
        "sdk_messages": Lines(_shortened(json.loads(json.dumps(dumped, default=str)))),
        "stream_json": Lines(_shortened(raw)),
        "session": Lines(_shortened(lines)),
    }


def _shortened(value: Any) -> Any:
    """Without the long instructions that the command writes into its logs; what the script said stays."""
    if isinstance(value, dict):
        return {key: _shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one) for one in value]
    is_ours = not isinstance(value, str) or "example." in value
    return value if is_ours or len(value) <= _LONGEST else value[:_LONGEST] + "…"
