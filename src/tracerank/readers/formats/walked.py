"""Formats that need no code but a way to be recognised: the walk reads them, whatever their messages look like.

A row says by what a record is known and, where fields of a record are no part of its transcript, what is. Names are
kept apart because users know them, and because a run of a known format may end without an answer.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracerank.readers.assemble import asked_question, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.formats.general import last_words
from tracerank.readers.formats.langchain_texts import told_in
from tracerank.readers.sources.record_fields import decoded, lists_any, question_of, sample_id_of
from tracerank.readers.walk import read_anything

_MESSAGES = ("messages", "conversation", "conversations", "history", "trajectory", "rollout", "transcript")
_ITEMS = (
    *("output", "items", "response_items", "input_list", "history", "messages", "conversation", "trajectory"),
    *("rollout", "data", "response", "input"),
)
_RUN_ITEMS = ("new_items", "session_items", "generated_items")
_STATES = ("output", "outputs", "state", "values", "channel_values", "result", "final_state")
_STATE_MESSAGES = (*_MESSAGES, "chat_history", "output", "outputs")
_REPLIES = ("response", "message", "output", "completion", "result")
_COLUMNS = (*_ITEMS, *_RUN_ITEMS, "intermediate_steps")
"""Fields that tables keep as JSON."""
_NOT_AROUND = frozenset((*_REPLIES, *_STATES, "input", "inputs", "original_input", "content"))
"""Fields that are part of the transcript where they are no plain text."""
_ASKED_IN = ("original_input", "inputs", "input", "request", *_STATES)


@dataclass(frozen=True, slots=True)
class Walked:
    """A format that is read by shape."""

    name: str
    knows: Callable[[Record], bool]
    """Whether a record is of this format."""
    lacks: str
    """What to say of a record without a transcript."""

    def recognises(self, record: Record) -> bool:
        """By its content."""
        return isinstance(record, Mapping) and self.knows(record)

    def parse(self, record: Record, source: str) -> Parsed:
        """The transcript as a rollout; a run that never answered has no answer."""
        plain = decoded(record, *_COLUMNS)
        reading = read_anything(plain)
        dialogue, fields = reading.dialogue, around(plain)
        asked = dialogue.asked or next(filter(None, map(_question_in, map(plain.get, _ASKED_IN))), None)
        question = asked_question(fields, asked)
        if not dialogue.calls and dialogue.final is None and not (question and self.knows(record)):
            reject(self.lacks, question, sample_id_of(fields))
        if dialogue.final is None:
            dialogue = replace(dialogue, final=last_words(plain, reading))
        return parsed_dialogue(fields, source, dialogue, question=question)


def around(record: Record) -> dict[str, Any]:
    """The fields around a transcript: not those that hold it."""
    is_reply = record.get("type") == "message" and "content" in record
    return {
        name: value
        for name, value in record.items()
        if name not in _NOT_AROUND or (isinstance(value, str) and not (is_reply and name == "content"))
    }


def _question_in(inputs: object) -> str | None:
    if isinstance(inputs, str):
        return inputs if len(inputs.split(maxsplit=1)) > 1 else None
    found = question_of(inputs) if isinstance(inputs, Mapping) else None
    return found.text if found is not None else None


def _told(*spellings: str) -> re.Pattern[str]:
    # Inside a JSON string quotes are escaped, so that no page can look like this.
    return re.compile("|".join(spellings))


# ---- Anthropic

_BLOCK = _told(r'"type"\s{0,3}:\s{0,3}"server_tool_use"', r'"tool_use_id"\s{0,3}:')
_RESULTS = ("tool_result", "mcp_tool_result", "web_search_tool_result", "web_fetch_tool_result")


def _is_anthropic(record: Record) -> bool:
    return _has_reply(record) or any(lists_any(record.get(name), _BLOCK, _holds_blocks) for name in _MESSAGES)


def _has_reply(record: Record) -> bool:
    """Whether the agent's message stands in an envelope of its own."""
    holders: list[object] = [record, *(record.get(name) for name in _REPLIES)]
    holders += [one.get("message") for one in holders if isinstance(one, Mapping)]
    return any(
        isinstance(one, Mapping)
        and (one.get("type"), one.get("role")) == ("message", "assistant")
        and "stop_reason" in one
        and isinstance(one.get("content"), list)
        for one in holders
    )


def _holds_blocks(message: object) -> bool:
    if not isinstance(message, Mapping) or message.get("role") not in ("assistant", "user"):
        return False
    content = message.get("content")
    return isinstance(content, list) and any(isinstance(block, Mapping) and _is_block(block) for block in content)


def _is_block(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind in _RESULTS:
        return "tool_use_id" in block
    return kind == "server_tool_use" or (kind in ("tool_use", "mcp_tool_use") and "input" in block)


# ---- OpenAI

_ITEM_TYPES = (
    *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
    *("web_search_call", "file_search_call", "mcp_call"),
)
_ITEM = _told(rf'"type"\s{{0,3}}:\s{{0,3}}"(?:{"|".join(_ITEM_TYPES)})"')


def _is_response(record: Record) -> bool:
    response = record.get("response")
    body = response.get("body") if isinstance(response, Mapping) else None
    return any(
        isinstance(holder, Mapping)
        and (
            (holder.get("object") == "response" and isinstance(holder.get("output"), list))
            or any(lists_any(holder.get(name), _ITEM, _is_item) for name in _ITEMS)
        )
        for holder in (record, response, body)
    )


def _is_item(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    if item.get("type") != "message":
        return item.get("type") in _ITEM_TYPES
    content = item.get("content")
    parts = content if isinstance(content, list) else ()
    return any(isinstance(part, Mapping) and part.get("type") == "output_text" for part in parts)


_RAW_ITEM = _told('"raw_item":')


def _is_run(record: Record) -> bool:
    return any(lists_any(record.get(name), _RAW_ITEM, _is_run_item) for name in _RUN_ITEMS)


def _is_run_item(item: object) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("raw_item"), Mapping)


# ---- LangChain

_LC_KINDS = ("ai", "human", "AIMessageChunk", "HumanMessageChunk")
_LC_CLASSES = ("AIMessage", "HumanMessage", "AIMessageChunk", "HumanMessageChunk")
_LC_MESSAGE = _told(r'"type"\s{0,3}:\s{0,3}"(?:ai|human)"', '"(?:AI|Human)Message"')


def _is_langchain(record: Record) -> bool:
    if isinstance(record.get("messages"), str):
        return lists_any(record["messages"], _LC_MESSAGE, _is_lc_message)
    states = _states(record)
    if any(_holds_lc(state.get(name)) for state in states for name in _STATE_MESSAGES):
        return True
    return any(_are_steps(state.get("intermediate_steps")) for state in states)


def _is_langchain_or_text(record: Record) -> bool:
    return _is_langchain(record) or (not isinstance(record.get("messages"), str) and told_in(record) is not None)


def _states(record: Record) -> Iterable[Record]:
    """The record and the states that it wraps, two deep: an output may hold a state in its values."""
    outer = [inner for name in _STATES if isinstance(inner := record.get(name), Mapping)]
    return [
        record,
        *outer,
        *(inner for one in outer for name in _STATES if isinstance(inner := one.get(name), Mapping)),
    ]


def _holds_lc(value: object) -> bool:
    listed = value.get("messages") if isinstance(value, Mapping) else value
    return isinstance(listed, list) and any(map(_is_lc_message, listed))


def _is_lc_message(message: object) -> bool:
    """Whether a message of the agent or the user is in one of the serialisations."""
    if not isinstance(message, Mapping):
        return False
    fields, kind, names = message, message.get("type"), message.get("id")
    if kind == "constructor":
        fields = message.get("kwargs", {})
        is_known = isinstance(names, list) and bool(names) and names[-1] in _LC_CLASSES
    else:
        fields = message["data"] if isinstance(message.get("data"), Mapping) else message
        is_known = kind in _LC_KINDS
    return is_known and isinstance(fields, Mapping) and "content" in fields and "role" not in fields


def _are_steps(steps: object) -> bool:
    for step in steps if isinstance(steps, list) else ():
        action = step[0] if isinstance(step, list | tuple) and len(step) == 2 else None
        if isinstance(action, Mapping) and isinstance(action.get("kwargs"), Mapping):
            action = action["kwargs"]
        if isinstance(action, Mapping) and isinstance(action.get("tool"), str):
            return True
    return False


class _LangChain(Walked):
    """Its messages may also stand in a text, as LangChain or Python prints them."""

    __slots__ = ()

    def parse(self, record: Record, source: str) -> Parsed:
        """The messages as a rollout."""
        told = None if _is_langchain(record) else told_in(decoded(record))
        if told is None:
            return Walked.parse(self, record, source)
        parsed = Walked.parse(self, {**record, told.field: None, "messages": told.messages}, source)
        count = f"{told.strays} return{'s' * (told.strays != 1)}"
        lost = f"{count} without a call in a transcript kept as text" if told.strays else ""
        return replace(parsed, doubt=parsed.doubt or told.doubt, loss=lost)


ANTHROPIC = Walked(
    "anthropic", _is_anthropic, f"no messages: expected a list in one of {', '.join(_MESSAGES)}, or a reply"
)
OPENAI_AGENTS = Walked(
    "openai-agents", _is_run, f"no items: expected a list of run items in one of {', '.join(_RUN_ITEMS)}"
)
OPENAI_RESPONSES = Walked(
    "openai-responses", _is_response, f"no items: expected a list of response items in one of {', '.join(_ITEMS)}"
)
LANGCHAIN = _LangChain("langchain", _is_langchain_or_text, "no LangChain messages: expected a list under 'messages'")
