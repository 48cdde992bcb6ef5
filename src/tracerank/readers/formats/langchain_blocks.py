"""What stands in the content of a LangChain agent message: text, hosted tools in LangChain's or the vendor's spelling.

Calls of the client's tools are repeated there and are read from the message's own list.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.calls.dialogues import FILE_SEARCH, DialogueBuilder
from tracerank.readers.calls.results import Result
from tracerank.readers.calls.tool_calls import ToolCall, parse_arguments
from tracerank.readers.formats.anthropic_blocks import CLIENT_CALLS, hosted_call, hosted_results, is_failed, read_block
from tracerank.readers.formats.response_items import HOSTED_CALLS, cited_in, read_item, web_call

_REMOTE = "remote_mcp"


def read_content(builder: DialogueBuilder, message: Mapping[str, Any]) -> None:
    """Add the content of an agent's message to the dialogue; words before its last hosted search are no answer."""
    said: list[str] = []
    cited: list[Result] = []
    for block in _blocks(message):
        if isinstance(block, str):
            said.append(block)
        elif block.get("type") == "text":
            text = block.get("text")
            said.append(text if isinstance(text, str) else "")
            cited += cited_in(block)
        elif _read_block(builder, block):
            said.clear()
    builder.say("".join(said), cited)


def _blocks(message: Mapping[str, Any]) -> Iterator[str | Mapping[str, Any]]:
    # Older versions keep the hosted calls of OpenAI beside the content.
    kept = message.get("additional_kwargs")
    outputs = kept.get("tool_outputs") if isinstance(kept, Mapping) else None
    content = message.get("content")
    listed = content if isinstance(content, list) else [content]
    for block in (*(outputs if isinstance(outputs, list) else ()), *listed):
        inner = block.get("value") if isinstance(block, Mapping) and block.get("type") == "non_standard" else block
        if isinstance(inner, str | Mapping):
            yield inner


def _read_block(builder: DialogueBuilder, block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind == "server_tool_call":
        return builder.call(_server_call(block), block.get("id"))
    if kind == "server_tool_result":
        _read_server_result(builder, block)
        return False
    if kind in HOSTED_CALLS:
        return read_item(builder, block)
    return kind not in CLIENT_CALLS and read_block(builder, block)


def _server_call(block: Mapping[str, Any]) -> ToolCall:
    name, arguments, extras = block.get("name"), block.get("args"), block.get("extras")
    if name == "web_search":
        return web_call(arguments)
    if name == FILE_SEARCH:
        return ToolCall(FILE_SEARCH, parse_arguments(arguments), kind="search", results=())
    if name == _REMOTE:
        extra: Mapping[str, Any] = extras if isinstance(extras, Mapping) else {}
        called = extra.get("tool_name")
        given = arguments if arguments is not None else extra.get("arguments")
        return ToolCall(called if isinstance(called, str) else "", parse_arguments(given))
    return hosted_call(name if isinstance(name, str) else "", arguments)


def _read_server_result(builder: DialogueBuilder, block: Mapping[str, Any]) -> None:
    output, call_id = block.get("output"), block.get("tool_call_id")
    is_error = block.get("status") == "error" or is_failed(output)
    sources = output.get("sources") if isinstance(output, Mapping) else None
    results = web_call({"sources": sources}).results if isinstance(sources, list) else hosted_results(output)
    # Files and MCP servers return text of their own; the hosted web search never does.
    builder.returned(call_id, output, is_error=is_error, results=results or None)
