"""Anthropic messages: a conversation with tools of the client or the vendor, a single message, or a batch's line.

Finds the messages in a record and reads their content blocks one by one: text with citations, tool uses and results.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.pools.urls import canonical_url
from tracerank.readers.assemble import Assembly, asked_question, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.results import Result, cited_results, flat_text
from tracerank.readers.sources.record_fields import decoded, lists_any, sample_id_of
from tracerank.readers.tools import CallKind, ToolCall, parse_arguments
from tracerank.readers.values import part_text, text_of

CLIENT_CALLS = ("tool_use", "mcp_tool_use")
HOSTED_CALL = "server_tool_use"
HOSTED_KINDS: Mapping[str, CallKind] = {"web_search": "search", "web_fetch": "open"}
"""Hosted tools that research; the others run code or look for tools."""
_SOURCES = ("search_result", "document")


def read_agent_blocks(builder: Assembly, content: object) -> None:
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


def read_block(builder: Assembly, block: object) -> bool:
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


_MESSAGE_FIELDS = ("messages", "conversation", "conversations", "history", "trajectory", "rollout", "transcript")
_REPLY_FIELDS = ("response", "message", "output", "completion", "result")
_RESULTS = ("tool_result", "mcp_tool_result", "web_search_tool_result", "web_fetch_tool_result")
# Inside a JSON string quotes are escaped, so that no page can look like this.
_TELLING = re.compile(r'"type"\s{0,3}:\s{0,3}"server_tool_use"|"tool_use_id"\s{0,3}:')


class AnthropicReader:
    """One rollout a record: messages, and the last reply where it is kept apart."""

    name = "anthropic"

    def recognises(self, record: Record) -> bool:
        """By a block that only this API has, or by a reply in its envelope."""
        if not isinstance(record, Mapping):
            return False
        if _reply(record) is not None:
            return True
        return any(lists_any(record.get(name), _TELLING, _holds_blocks) for name in _MESSAGE_FIELDS)

    def parse(self, record: Record, source: str) -> Parsed:
        """The messages as a rollout; the answer is extracted from the last text of the agent."""
        plain = decoded(record)
        messages = _messages(plain)
        # The content of a bare reply is the transcript, not a field beside it.
        fields = {name: value for name, value in plain.items() if name not in ("content", *_REPLY_FIELDS)}
        if messages is None:
            reason = f"no messages: expected a list in one of {', '.join(_MESSAGE_FIELDS)}, or a reply"
            reject(reason, asked_question(fields), sample_id_of(fields))
        builder = Assembly()
        for message in messages:
            _read_message(builder, message)
        dialogue = builder.dialogue()
        return parsed_dialogue(fields, source, dialogue, question=asked_question(fields, dialogue.asked))


def _read_message(builder: Assembly, message: object) -> None:
    if not isinstance(message, Mapping):
        return
    content = message.get("content")
    if message.get("role") == "assistant":
        read_agent_blocks(builder, content)
    elif message.get("role") == "user":
        for block in content if isinstance(content, list) else ():
            if isinstance(block, Mapping) and block.get("type") in _RESULTS:
                read_block(builder, block)
        builder.ask(_asked(content))


def _asked(content: object) -> str:
    """The text of a user's message; the returns in it are not the user's words."""
    if isinstance(content, list):
        content = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    return text_of(content)


def _messages(record: Record) -> list[Any] | None:
    given = next((value for name in _MESSAGE_FIELDS if isinstance(value := record.get(name), list)), None)
    reply = _reply(record)
    if reply is None:
        return given
    messages = [*(given or ())]
    return messages if messages and _is_same(messages[-1], reply) else [*messages, reply]


def _is_same(message: object, reply: Mapping[str, Any]) -> bool:
    """Whether the conversation ends with the reply; told by its words, since blocks may be nested without end."""
    content = message.get("content") if isinstance(message, Mapping) else None
    is_list = isinstance(content, list) and len(content) == len(reply["content"])
    return is_list and text_of(content) == text_of(reply["content"])


def _reply(record: Record) -> Mapping[str, Any] | None:
    """The agent's last message where it stands in an envelope of its own."""
    holders: list[object] = [record, *(record.get(name) for name in _REPLY_FIELDS)]
    holders += [
        inner for one in holders if isinstance(one, Mapping) and isinstance(inner := one.get("message"), Mapping)
    ]
    for one in holders:
        is_reply = isinstance(one, Mapping) and one.get("type") == "message" and one.get("role") == "assistant"
        if is_reply and isinstance(one, Mapping) and "stop_reason" in one and isinstance(one.get("content"), list):
            return one
    return None


def _holds_blocks(message: object) -> bool:
    if not isinstance(message, Mapping) or message.get("role") not in ("assistant", "user"):
        return False
    content = message.get("content")
    return isinstance(content, list) and any(isinstance(block, Mapping) and _is_block(block) for block in content)


def _is_block(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind in _RESULTS:
        return "tool_use_id" in block
    return kind == HOSTED_CALL or (kind in CLIENT_CALLS and "input" in block)
