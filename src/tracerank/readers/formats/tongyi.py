"""Transcripts with calls in the text: Tongyi DeepResearch, WebDancer and other agents of the Qwen family.

Assistant messages call with ``<tool_call>`` and end with ``<answer>``; the messages between them return
``<tool_response>``. Also one flat text of both. The question may stand behind the description of the tools.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.pools.types import BROWSING
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.text_calls import CALL_TAGS, RETURN_TAG, spoken, tagged_returns, written_calls
from tracerank.readers.sources.record_fields import decoded, question_of, sample_id_of
from tracerank.readers.tools import ToolCall, is_underway
from tracerank.readers.values import cleaned, said_of, text_of

_MESSAGE_FIELDS = ("messages", "rollout", "conversation", "conversations", "trajectory", "history", "completion")
_FLAT_FIELDS = ("output", "response", "completion", "text", "trajectory", "generated_text", "rollout")
_AGENTS = ("assistant", "gpt", "ai", "model", "function_call")
_TOOLS = ("tool", "function", "observation", "tool_response")
_NO_PREDICTIONS = ("[no prediction]", "[failed]", "no answer found.", "no answer found")
# In a flat text a return begins right behind its call, with at most the marks of a turn between them.
_FLAT_RETURN = re.compile(
    r"(?<=</tool_call>)\s*(?:<\|im_end\|>\s*)?(?:<\|im_start\|>\s*)?(?:user|tool)?\s*<tool_response>"
)
_TURN_MARK = re.compile(r"<\|im_(?:start|end)\|>(?:assistant\b)?|\A\s*assistant[ \t]*\n")


class TongyiReader:
    """One rollout a record, calls and returns in the text of its messages."""

    name = "tongyi"

    def recognises(self, record: Record) -> bool:
        """By calls in assistant text, or by calls and returns in a flat text."""
        if not isinstance(record, Mapping):
            return False
        for name in _MESSAGE_FIELDS:
            value = record.get(name)
            if isinstance(value, list):
                if any(_calls_natively(message) for message in value):
                    return False
                if any(_calls_in_text(message) for message in value):
                    return True
            elif isinstance(value, str) and value[:1] == "[" and '"role"' in value and CALL_TAGS[0] in value:
                return '"tool_calls"' not in value
        return _flat_text(record) is not None

    def parse(self, record: Record, source: str) -> Parsed:
        """The messages as a rollout of a browsing agent."""
        plain = decoded(record)
        messages = _messages(plain)
        if messages is None:
            fields = ", ".join(_MESSAGE_FIELDS)
            reject(f"no messages: expected a list in one of {fields}", question_of(plain), sample_id_of(plain))
        dialogue = read_tagged(messages)
        noted = plain.get("prediction")
        if isinstance(noted, str) and noted.strip().lower() in _NO_PREDICTIONS:
            dialogue = replace(dialogue, final=noted)
        stated = plain.get("question")
        if dialogue.asked and not (isinstance(stated, str) and stated.strip()):
            plain["question"] = dialogue.asked
        parsed = parsed_dialogue(plain, source, dialogue)
        # Such agents may open pages and answer in sentences, whether or not this rollout did.
        return replace(parsed, rollout=replace(parsed.rollout, setting=BROWSING))


def read_tagged(messages: Sequence[object]) -> Dialogue:
    """Calls with their returns, the question and the final text of messages with calls in their text."""
    calls: list[ToolCall] = []
    waiting: list[int] = []
    asked: str | None = None
    final: str | None = None
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        role, text = _role(message), _text(message)
        if role in _AGENTS:
            made = written_calls(text)
            waiting = list(range(len(calls), len(calls) + len(made)))
            calls += made
            final = _final(text, made, final)
        elif waiting and (role in _TOOLS or RETURN_TAG in text):
            returns = tagged_returns(text, len(waiting))
            for place, output in zip(waiting, returns, strict=False):
                calls[place] = replace(calls[place], output=output)
            del waiting[: len(returns) or len(waiting)]
        elif role in ("user", "human") and not asked:
            asked = _asked(text)
    return Dialogue(tuple(calls), asked, final)


def _final(text: str, made: Sequence[ToolCall], final: str | None) -> str | None:
    """What counts as the final text after a message."""
    if not made:
        return text if text.strip() else final
    if "<answer>" in spoken(text):
        return spoken(text)
    # Words before further research are a plan, not the answer.
    return None if any(is_underway(call.name, call.arguments) for call in made) else final


def _asked(text: str) -> str:
    """The question in a user message, without a description of tools before it."""
    end = text.rfind("</tools>")
    at = text.find("\nUser:", end) if end >= 0 else -1
    return (text[at + len("\nUser:") :] if at >= 0 else text).strip()


# ---- messages


def _role(message: Mapping[str, Any]) -> str:
    return cleaned(message.get("role", message.get("from")))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content", message.get("value"))
    return said_of(content) if _role(message) in _AGENTS else text_of(content)


def _calls_natively(message: object) -> bool:
    return isinstance(message, Mapping) and bool(message.get("tool_calls") or message.get("recipient"))


def _calls_in_text(message: object) -> bool:
    if not isinstance(message, Mapping) or _role(message) not in _AGENTS:
        return False
    text = _text(message)
    return any(tag in text for tag in CALL_TAGS)


def _messages(record: Record) -> list[Any] | None:
    for name in _MESSAGE_FIELDS:
        value = record.get(name)
        if isinstance(value, list) and any(isinstance(message, Mapping) and _role(message) for message in value):
            return value
    text = _flat_text(record)
    return None if text is None else list(_flat_messages(text))


def _flat_text(record: Record) -> str | None:
    values = (record.get(name) for name in _FLAT_FIELDS)
    return next((v for v in values if isinstance(v, str) and CALL_TAGS[0] in v and RETURN_TAG in v), None)


def _flat_messages(text: str) -> Iterator[dict[str, str]]:
    """A flat text as messages; the last closing tag before the next return ends one, earlier ones belong to a page."""
    at = 0
    for found in _FLAT_RETURN.finditer(text):
        yield from _flat_turn(text[at : found.start()], is_first=at == 0)
        at = found.end()
    yield from _flat_turn(text[at:], is_first=at == 0)


def _flat_turn(text: str, *, is_first: bool) -> Iterator[dict[str, str]]:
    page, closed, said = ("", "", text) if is_first else text.rpartition("</tool_response>")
    if not is_first:
        yield {"role": "tool", "content": page if closed else said}
    if is_first or closed:
        yield {"role": "assistant", "content": _TURN_MARK.sub("", said)}
