"""Content blocks of Anthropic's Messages API, one by one: text with citations, tool uses and tool results.

The text that the hosted search returns is encrypted: what is known of a result is its title, its address and the words
that the answer quotes from it. Thinking is passed over.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.pools.urls import canonical_url
from tracerank.readers.calls.citations import cited_results
from tracerank.readers.calls.dialogues import DialogueBuilder
from tracerank.readers.calls.results import Result, flat_text
from tracerank.readers.calls.tool_calls import ToolCall, parse_arguments
from tracerank.readers.calls.tool_names import CallKind
from tracerank.readers.values import part_text

CLIENT_CALLS = ("tool_use", "mcp_tool_use")
HOSTED_CALL = "server_tool_use"
HOSTED_KINDS: Mapping[str, CallKind] = {"web_search": "search", "web_fetch": "open"}
"""Hosted tools that research; the others run code or look for tools."""
_SOURCES = ("search_result", "document")


def read_agent_blocks(builder: DialogueBuilder, content: object) -> None:
    """Add a message of the agent to the dialogue; only words after its last search can be the answer."""
    if isinstance(content, str):
        builder.say(content)
    said: list[str] = []
    cited: list[Result] = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "text":
            said.append(part_text(dict(block)))
            cited += cited_results(said[-1], block.get("citations"))
        elif read_block(builder, block):
            said.clear()
    # A text with citations comes in pieces that are cut inside sentences.
    builder.say("".join(said), cited)


def read_block(builder: DialogueBuilder, block: object) -> bool:
    """Add a tool use or a tool result to the dialogue; whether it is a call that researches."""
    if not isinstance(block, Mapping):
        return False
    kind, name = block.get("type"), block.get("name")
    name = name if isinstance(name, str) else ""
    if kind in CLIENT_CALLS:
        return builder.call(ToolCall(name, parse_arguments(block.get("input"))), block.get("id"))
    if kind == HOSTED_CALL:
        return builder.call(hosted_call(name, block.get("input")), block.get("id"))
    if kind in ("tool_result", "mcp_tool_result"):
        is_error = block.get("is_error") is True
        builder.returned(block.get("tool_use_id"), client_output(block.get("content")), is_error=is_error)
    elif isinstance(kind, str) and kind.endswith("_tool_result"):
        content = block.get("content")
        builder.returned(block.get("tool_use_id"), results=hosted_results(content), is_error=is_failed(content))
    return False


def hosted_call(name: str, arguments: object) -> ToolCall:
    """A call of a tool that runs at the vendor."""
    return ToolCall(name, parse_arguments(arguments), kind=HOSTED_KINDS.get(name, "other"), results=())


def is_failed(content: object) -> bool:
    """Whether a hosted tool reports an error instead of a result."""
    return isinstance(content, Mapping) and bool(content.get("error_code"))


def hosted_results(content: object) -> tuple[Result, ...]:
    """The results of a hosted search, or the page that a hosted fetch read."""
    if isinstance(content, Mapping):
        return (_fetched(content),) if content.get("type") == "web_fetch_result" else ()
    found = [item for item in content if isinstance(item, Mapping)] if isinstance(content, list) else []
    return tuple(
        Result(title=_string(item.get("title")), url=_string(item.get("url")), rank=rank)
        for rank, item in enumerate(found, start=1)
        if item.get("type") == "web_search_result"
    )


def client_output(content: object) -> object:
    """The return of a client's tool, with search results and documents in the plain shape that all tools share."""
    if not isinstance(content, list) or not any(
        isinstance(one, Mapping) and one.get("type") in _SOURCES for one in content
    ):
        return content
    return list(_plain_sources(content))


def _plain_sources(content: list[Any]) -> Iterator[dict[str, Any]]:
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "search_result":
            source = _string(block.get("source"))
            key = "url" if canonical_url(source) is not None else "docid"
            yield {"title": _string(block.get("title")), key: source, "text": flat_text(block.get("content"))}
        elif kind == "document":
            text, url = _document(block)
            yield {"title": _string(block.get("title")), "url": url, "text": text}
        elif kind == "text":
            yield {"text": part_text(dict(block))}


def _fetched(content: Mapping[str, Any]) -> Result:
    document = content.get("content")
    page: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    return Result(_document(page)[0], _string(page.get("title")), _string(content.get("url")))


def _document(block: Mapping[str, Any]) -> tuple[str, str | None]:
    """Text and address of a document; files in base64 have no text that could be read here."""
    source = block.get("source")
    if not isinstance(source, Mapping):
        return "", None
    text = source.get("data") if source.get("type") == "text" else flat_text(source.get("content"))
    return text if isinstance(text, str) else "", _string(source.get("url"))


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
