"""Claude Agent SDK and Claude Code: the SDK's messages, ``stream-json`` lines and the session's JSONL file.

The command that the SDK brings talks to the scripted server; its home is a folder of its own, so it finds no settings.
"""

import asyncio
import json
from dataclasses import asdict
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("claude-agent-sdk",)


def make(run: Run) -> dict[str, Any]:
    """The tool is an MCP server in this process: ``mcp__web__web_search``."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query, tool

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
    messages = [message async for message in query(prompt=run.question, options=options)]
    session = next((home / "config" / "projects").rglob("*.jsonl"))
    lines = [json.loads(line) for line in session.read_text().splitlines()]
    dumped = [{"kind": type(message).__name__, **asdict(message)} for message in messages]
    return {
        "sdk_messages": Lines([json.loads(json.dumps(one, default=str)) for one in dumped]),
        "session": Lines(lines),
    }
