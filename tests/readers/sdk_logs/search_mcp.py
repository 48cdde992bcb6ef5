"""The tools of a script as an MCP server over standard input, for commands that run in a process of their own.

``TOOLS`` in its environment is JSON: what is told of each tool, and for each call its arguments, its return or failure.
"""

import json
import os
import sys
from typing import Any

from tests.readers.sdk_logs.run import as_text
from tests.readers.sdk_logs.scenario import Script


def environment_of(script: Script) -> str:
    """The value of ``TOOLS`` for a script."""
    tools = [
        {"name": one.name, "description": one.about, "inputSchema": one.schema, "annotations": {"readOnlyHint": True}}
        for one in script.tools
    ]
    calls = [
        {
            "tool": one.tool,
            "arguments": dict(one.arguments),
            "text": one.failure or as_text(one.returned),
            "fails": bool(one.failure),
        }
        for one in script.steps
    ]
    return json.dumps({"tools": tools, "calls": calls})


def _answer(told: dict[str, Any], method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = parameters.get("protocolVersion", "2025-06-18")
        about = {"name": "web", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": told["tools"]}
    if method == "tools/call":
        asked = (parameters["name"], parameters["arguments"])
        call = next(one for one in told["calls"] if (one["tool"], one["arguments"]) == asked)
        return {"content": [{"type": "text", "text": call["text"]}], "isError": call["fails"]}
    return {}


def main() -> None:
    """One message a line until the input ends; notifications get no answer."""
    told = json.loads(os.environ["TOOLS"])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = _answer(told, message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
