"""OpenAI Responses: one response, its batch line, or a list of items as the Agents SDK's ``to_input_list`` gives it.

Finds the items in a record; what they say is read in ``response_items.py``.
"""

import re
from collections.abc import Mapping
from typing import Any

from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.dialogues import DialogueBuilder, asked_question
from tracerank.readers.calls.record_fields import decoded, parsed_dialogue, sample_id_of
from tracerank.readers.files.loose_json import load_json
from tracerank.readers.formats.response_items import TELLING_TYPES, read_item

_ITEM_FIELDS = (
    *("output", "items", "response_items", "input_list", "history", "messages", "conversation", "trajectory"),
    *("rollout", "data", "response", "input"),
)
# Inside a JSON string quotes are escaped, so that no page can look like this.
_TELLING = re.compile(rf'"type"\s{{0,3}}:\s{{0,3}}"(?:{"|".join(sorted(TELLING_TYPES))})"')
_JSON_FIELDS = ("output", "items", "input", "response", "data", "input_list")


class OpenAIResponsesReader:
    """One rollout a record: the items of a response, or of all turns of a run."""

    name = "openai-responses"

    def recognises(self, record: Record) -> bool:
        """By an item that only this API has; a response that failed may have none."""
        if not isinstance(record, Mapping):
            return False
        return any(
            (holder.get("object") == "response" and isinstance(holder.get("output"), list))
            or any(_is_telling(holder.get(name)) for name in _ITEM_FIELDS)
            for holder in _holders(record)
        )

    def parse(self, record: Record, source: str) -> Parsed:
        """The items as a rollout; the answer is extracted from the last message."""
        plain = _decoded(record)
        items = _items(plain)
        # A list under 'input' was read as items: its first user message is the question, not its last.
        fields = {name: value for name, value in plain.items() if name != "input" or isinstance(value, str)}
        if items is None:
            reason = f"no items: expected a list of response items in one of {', '.join(_ITEM_FIELDS)}"
            reject(reason, asked_question(fields), sample_id_of(fields))
        builder = DialogueBuilder()
        for item in items:
            read_item(builder, item)
        dialogue = builder.dialogue()
        return parsed_dialogue(fields, source, dialogue, question=asked_question(fields, dialogue.asked))


def _decoded(record: Record) -> dict[str, Any]:
    plain = decoded(record)
    for name in _JSON_FIELDS:
        value = plain.get(name)
        if isinstance(value, str) and value[:1] in ("{", "["):
            inner = load_json(value)
            plain[name] = inner if isinstance(inner, list | dict) else value
    return plain


def _holders(record: Record) -> tuple[Record, ...]:
    """The record and what it wraps: a response, or the body of a batch line's response."""
    response = record.get("response")
    if not isinstance(response, Mapping):
        return (record,)
    body = response.get("body")
    return (record, response, body) if isinstance(body, Mapping) else (record, response)


def _items(record: Record) -> list[Any] | None:
    """All items in order: the given ones before those of the response, where both are logged."""
    for holder in reversed(_holders(record)):
        for name in _ITEM_FIELDS:
            items = holder.get(name)
            if isinstance(items, list) and (name == "output" or any(isinstance(item, Mapping) for item in items)):
                given = next((inner for one in (holder, record) if isinstance(inner := one.get("input"), list)), [])
                return items if items is given else [*given, *items]
    return None


def _is_telling(items: object) -> bool:
    if isinstance(items, str):  # a JSON column: decoding it here would cost as much as reading it
        return items[:1] == "[" and _TELLING.search(items) is not None
    return isinstance(items, list) and any(_is_item(item) for item in items)


def _is_item(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    kind = item.get("type")
    if kind != "message":
        return isinstance(kind, str) and kind in TELLING_TYPES
    content = item.get("content")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and part.get("type") == "output_text" for part in content
    )
