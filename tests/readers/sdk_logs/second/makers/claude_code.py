"""Claude Agent SDK and Claude Code: blocks without their kinds, a record around them, two questions in one session."""

import asyncio
import json
import shutil
from dataclasses import asdict
from typing import Any

from tests.readers.sdk_logs.makers.claude_code import _shortened
from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("claude-agent-sdk",)
TOOLS = Toolbox(
    "ask_archive", "inquiry", "get_full_text", "record_url", returns.as_json_text(returns.haystack_documents)
)


def make(run: Run) -> dict[str, Any]:
    """The tools are ``mcp__archive__…``; thinking is on."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool

    def served(function: Any) -> Any:
        async def called(arguments: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": function(**arguments)}]}

        spec = next(one for one in run.script.tools if one.name == function.__name__)
        return tool(spec.name, spec.about, spec.schema)(called)

    home = run.folder / "work" / run.name
    (home / "cwd").mkdir(parents=True, exist_ok=True)
    tools = [served(function) for function in run.script.functions(str, as_text)]
    options = ClaudeAgentOptions(
        mcp_servers={"archive": create_sdk_mcp_server("archive", tools=tools)},
        allowed_tools=[f"mcp__archive__{one.name}" for one in run.script.tools],
        disallowed_tools=["WebSearch", "WebFetch", "Task", "ToolSearch"],
        setting_sources=[],
        system_prompt=run.script.system,
        include_partial_messages=True,
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
    async with ClaudeSDKClient(options) as client:
        await client.query(run.question)
        messages = [message async for message in client.receive_response()]
    session = next((home / "config" / "projects").rglob("*.jsonl"))
    lines = [json.loads(line) for line in session.read_text().splitlines()]
    shutil.rmtree(home)
    plain = json.loads(json.dumps([asdict(message) for message in messages], default=str))
    kinds = [type(message).__name__ for message in messages]
    whole = [one for one, kind in zip(plain, kinds, strict=True) if kind != "StreamEvent"]
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "asdict_record": {**about, "messages": _shortened(whole)},
        "typed_record": {
            **about,
            "run": [
                {"type": kind, "data": one}
                for kind, one in zip(kinds, _shortened(plain), strict=True)
                if kind != "StreamEvent"
            ],
        },
        "with_partials": {**about, "events": _shortened(plain)},
        "session": Lines(_shortened(lines)),
    }
