"""Anthropic messages: a conversation with tools of the client or the vendor, a single message, or a batch's line.

Finds the messages in a record; what their blocks say is read in ``anthropic_blocks.py``.
"""

import re
from collections.abc import Mapping
from typing import Any

from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.dialogues import DialogueBuilder, asked_question
from tracerank.readers.calls.record_fields import decoded, parsed_dialogue, sample_id_of
from tracerank.readers.formats.anthropic_blocks import CLIENT_CALLS, HOSTED_CALL, read_agent_blocks, read_block
from tracerank.readers.values import text_of

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
        return any(_is_telling(record.get(name)) for name in _MESSAGE_FIELDS)

    def parse(self, record: Record, source: str) -> Parsed:
        """The messages as a rollout; the answer is extracted from the last text of the agent."""
        plain = decoded(record)
        messages = _messages(plain)
        # The content of a bare reply is the transcript, not a field beside it.
        fields = {name: value for name, value in plain.items() if name not in ("content", *_REPLY_FIELDS)}
        if messages is None:
            reason = f"no messages: expected a list in one of {', '.join(_MESSAGE_FIELDS)}, or a reply"
            reject(reason, asked_question(fields), sample_id_of(fields))
        builder = DialogueBuilder()
        for message in messages:
            _read_message(builder, message)
        dialogue = builder.dialogue()
        return parsed_dialogue(fields, source, dialogue, question=asked_question(fields, dialogue.asked))


def _read_message(builder: DialogueBuilder, message: object) -> None:
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


def _is_telling(messages: object) -> bool:
    if isinstance(messages, str):  # a JSON column: decoding it here would cost as much as reading it
        return messages[:1] == "[" and _TELLING.search(messages) is not None
    return isinstance(messages, list) and any(_holds_blocks(message) for message in messages)


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
