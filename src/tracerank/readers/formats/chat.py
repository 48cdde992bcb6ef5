"""Records with OpenAI chat messages, AggAgent's rows among them: which records are some, and where the messages stand.

gpt-oss browser transcripts have a reader of their own, which knows cursors.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.readers.assemble import parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.chat_roles import makes_calls, read_chat
from tracerank.readers.sources.record_fields import decoded, question_of, sample_id_of
from tracerank.readers.sources.stitch import reply_of
from tracerank.readers.values import cleaned

_FIELDS = (
    *("messages", "conversation", "conversations", "trajectory", "rollout", "history", "completion", "chat_history"),
)


class ChatReader:
    """One rollout a record, a list of chat messages."""

    name = "openai-chat"

    def recognises(self, record: Record) -> bool:
        """By a tool call in its messages; more specific formats are asked before."""
        if not isinstance(record, Mapping):
            return False
        return any(_holds_calls(record.get(name)) for name in _FIELDS) or _replies_with_calls(record)

    def parse(self, record: Record, source: str) -> Parsed:
        """The messages as a rollout; the answer is extracted from the last message without a call."""
        plain = decoded(record)
        messages = _messages(plain)
        if messages is None:
            fields = ", ".join(_FIELDS)
            reject(f"no messages: expected a list in one of {fields}", question_of(plain), sample_id_of(plain))
        return parsed_dialogue(plain, source, read_chat(messages))


def is_conversation(record: Record) -> bool:
    """Whether the record holds messages in which somebody asks and an assistant answers, with or without tools."""
    messages = _messages(decoded(record)) or ()
    roles = {cleaned(message.get("role")) for message in messages if isinstance(message, Mapping)}
    return {"user", "assistant"} <= roles


def _messages(record: Record) -> list[Any] | None:
    for name in _FIELDS:
        value = record.get(name)
        if isinstance(value, list) and any(isinstance(message, Mapping) and "role" in message for message in value):
            prompt = record.get("prompt")
            if name == "completion" and isinstance(prompt, list):
                return [*prompt, *value]
            reply = reply_of(record)
            return value if reply is None or value[-1] == reply else [*value, reply]
    return None


def _replies_with_calls(record: Record) -> bool:
    reply = reply_of(record)
    return reply is not None and makes_calls(reply) and isinstance(record.get("messages"), list)


def _holds_calls(messages: object) -> bool:
    if isinstance(messages, str):  # a JSON column: decoding it here would cost as much as reading it
        is_chat = messages[:1] == "[" and '"role"' in messages
        return is_chat and ('"tool_calls"' in messages or '"function_call"' in messages)
    return isinstance(messages, list) and any(makes_calls(message) for message in messages)
