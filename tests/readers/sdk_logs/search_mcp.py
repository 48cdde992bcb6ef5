"""The search tool as an MCP server over standard input, for commands that run in a process of their own."""

import json
import os
import sys
from typing import Any

from tests.readers.sdk_logs.questions import FAILURE, results

_TOOL = {
    "name": "web_search",
    "description": "Search the web.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "annotations": {"readOnlyHint": True},
}


def _answer(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = parameters.get("protocolVersion", "2025-06-18")
        about = {"name": "web", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [_TOOL]}
    if method == "tools/call":
        query = parameters["arguments"]["query"]
        is_failing = query == os.environ.get("FAILING")
        text = FAILURE if is_failing else json.dumps(results(query))
        return {"content": [{"type": "text", "text": text}], "isError": is_failing}
    return {}


def main() -> None:
    """One message a line until the input ends; notifications get no answer."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = _answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
