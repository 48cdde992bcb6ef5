"""Messages with calls in their text: Tongyi DeepResearch, WebDancer and others of the Qwen family, and MiroThinker.

The agent calls between the marks of ``calls/text_calls.py``, and the messages between its own return. Words before
further research are a plan. What sub-agents of MiroThinker searched stands where they were sent out; what they report
is an agent's text and no evidence.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.pools.types import BROWSING, Question
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.text_calls import CALL_TAGS, RETURN_TAG, spoken, tagged_returns, written_calls
from tracerank.readers.formats.marked import TEXT_FIELDS, Marks, speaker, turns
from tracerank.readers.sources.loose_json import json_texts
from tracerank.readers.sources.record_fields import decoded, label_value, question_of, sample_id_of
from tracerank.readers.tools import TOOL_NAMES, ToolCall, is_underway
from tracerank.readers.values import said_of, text_of
from tracerank.readers.walk import read_chat

_MESSAGE_FIELDS = ("messages", "rollout", "conversation", "conversations", "trajectory", "history", "completion")
_FLAT_FIELDS = (*TEXT_FIELDS, "rollout")
_AGENTS = ("assistant", "gpt", "ai", "model", "function_call")
_TOOLS = ("tool", "function", "observation", "tool_response")
_NO_PREDICTIONS = ("[no prediction]", "[failed]", "no answer found.", "no answer found")
_TURN_MARK = re.compile(r"<\|im_(?:start|end)\|>(?:assistant\b)?|\A\s*assistant[ \t]*\n")
_CALLS = Marks(
    CALL_TAGS[0],
    re.compile(
        r"(?<=</tool_call>)\s*+(?:<\|im_end\|>\s*+)?(?:<\|im_start\|>\s*+)?(?:(?:user|tool)\s*+)?<tool_response>"
    ),
    "</tool_response>",
)
"""A flat text of messages."""
# What stands in the place of a return: the tool failed, or the log was shortened.
_NO_RETURN = re.compile(
    r"Tool call to [^\n]{1,200} failed\. Error:|Tool result is omitted|Tool call to [^\n]{1,200} but produced no"
)


class TongyiReader:
    """One rollout a record: calls and returns in the text of its messages, or one flat text of both."""

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
        dialogue = _tagged_dialogue(messages, _in_tags)
        noted = plain.get("prediction")
        if isinstance(noted, str) and noted.strip().lower() in _NO_PREDICTIONS:
            dialogue = replace(dialogue, final=noted)
        stated = plain.get("question")
        if dialogue.asked and not (isinstance(stated, str) and stated.strip()):
            plain["question"] = dialogue.asked
        return _browsed(parsed_dialogue(plain, source, dialogue))


def _browsed(parsed: Parsed) -> Parsed:
    """Such agents may open pages and answer in sentences, whether or not this rollout did."""
    return replace(parsed, rollout=replace(parsed.rollout, setting=BROWSING))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content", message.get("value"))
    return said_of(content) if speaker(message) in _AGENTS else text_of(content)


def _calls_natively(message: object) -> bool:
    return isinstance(message, Mapping) and bool(message.get("tool_calls") or message.get("recipient"))


def _calls_in_text(message: object) -> bool:
    if not isinstance(message, Mapping) or speaker(message) not in _AGENTS:
        return False
    text = _text(message)
    return any(tag in text for tag in CALL_TAGS)


def _messages(record: Record) -> Sequence[object] | None:
    for name in _MESSAGE_FIELDS:
        value = record.get(name)
        if isinstance(value, list) and any(map(speaker, value)):
            return value
    text = _flat_text(record)
    return None if text is None else list(_flat_messages(text))


def _flat_text(record: Record) -> str | None:
    values = (record.get(name) for name in _FLAT_FIELDS)
    return next((v for v in values if isinstance(v, str) and CALL_TAGS[0] in v and RETURN_TAG in v), None)


def _flat_messages(text: str) -> Iterator[dict[str, str]]:
    for said, returned in turns(text, _CALLS):
        yield {"role": "assistant", "content": _TURN_MARK.sub("", said)}
        if returned is not None:
            yield {"role": "tool", "content": returned}


Returns = Callable[[str, str, int], list[str] | None]
"""What a message of this role and text returns to so many calls, empty where it cannot be told whose it is; None:
it returns nothing."""


def _tagged_dialogue(messages: Iterable[object], returns: Returns, sessions: Iterable[Any] = ()) -> Dialogue:
    """Calls with their returns, the question and the final text; ``sessions`` are those of sub-agents."""
    sent_out = iter(sessions)
    calls: list[ToolCall] = []
    waiting: list[int] = []
    asked: str | None = None
    final: str | None = None
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        role, text = speaker(message), _text(message)
        if role in _AGENTS:
            made = written_calls(text)
            for _ in filter(_sends_out, made):
                calls += _session_calls(next(sent_out, ()))
            waiting = list(range(len(calls), len(calls) + len(made)))
            calls += made
            final = _final(text, made, final)
        elif waiting and (outputs := returns(role, text, len(waiting))) is not None:
            for place, output in zip(waiting, outputs, strict=False):
                failed = _NO_RETURN.match(output) is not None
                calls[place] = replace(calls[place], output=output, is_error=failed)
            del waiting[: len(outputs) or len(waiting)]
        elif role in ("user", "human") and not asked:
            asked = _asked(text)
    for session in sent_out:
        calls += _session_calls(session)
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


def _in_tags(role: str, text: str, count: int) -> list[str] | None:
    return tagged_returns(text, count) if role in _TOOLS or RETURN_TAG in text else None


# ---- MiroThinker and MiroFlow: one attempt a file

_HISTORY, _SESSIONS = "main_agent_message_history", "sub_agent_message_history_sessions"
_SUB_AGENT = "search_and_browse"
_MIRO_NAMES = TOOL_NAMES.extended(search=("google_search", "sogou_search"), other=(_SUB_AGENT,))
_ATTEMPT = re.compile(r"(.+?)[-_]attempt[-_](\d{1,6})(?:[-_].*)?\Z", re.S)
_INPUT_KEYS = ("task_description", "task_question", "question", "query", "task")
_EARLIER_ATTEMPTS = "=== Previous Attempts Analysis ==="
_MESSAGE_ID = re.compile(r"\[msg_[^\]\n]{1,80}\]\s*")
_NO_BOX = "content found in the final answer"


class MiroThinkerReader:
    """One rollout a task log; searches of sub-agents stand where they were sent out, their reports are no evidence."""

    name = "mirothinker"

    def recognises(self, record: Record) -> bool:
        """By the history of its main agent."""
        return isinstance(record, Mapping) and _HISTORY in record

    def parse(self, record: Record, source: str) -> Parsed:
        """The main agent's history as a rollout of a browsing agent; the judge's verdict is the label."""
        task_id, attempt = _attempt(record)
        messages = _history(record.get(_HISTORY))
        found = record.get(_SESSIONS)
        sessions = found.values() if isinstance(found, Mapping) else ()
        if messages and any(map(_calls_natively, messages)):
            dialogue = read_chat(messages)
            dialogue = replace(dialogue, calls=(*dialogue.calls, *_tagged_dialogue((), _as_json, sessions).calls))
        else:
            dialogue = _tagged_dialogue(messages or (), _as_json, sessions)
        question = _task(record, task_id, dialogue.asked or "")
        if messages is None:
            reject(f"field '{_HISTORY}': expected messages", question, attempt)
        if question is None:
            reject("no question: expected 'task_id', 'input' or a user message with text")
        boxed, said = record.get("final_boxed_answer"), dialogue.final
        if isinstance(boxed, str) and boxed.strip() and _NO_BOX not in boxed:
            said = boxed
        elif not (said and "\\boxed" in said):
            said = None
        # The field has been read, with its notes about missing boxes.
        fields = {key: value for key, value in record.items() if key != "final_boxed_answer"}
        verdict = record.get("final_judge_result")
        label = 0.0 if verdict == "NOT_ATTEMPTED" else label_value(verdict)
        made = Dialogue(dialogue.calls, final=said)
        return _browsed(
            parsed_dialogue(fields, source, made, names=_MIRO_NAMES, question=question, sample_id=attempt, label=label)
        )


def _sends_out(call: ToolCall) -> bool:
    return call.name == _SUB_AGENT


def _session_calls(session: object) -> tuple[ToolCall, ...]:
    return _tagged_dialogue(_history(session) or (), _as_json).calls


def _attempt(record: Record) -> tuple[str, int | None]:
    """The id of the task and the number of the attempt, which the log writes as one."""
    stated = record.get("task_id")
    whole = stated.strip() if isinstance(stated, str) else str(stated) if isinstance(stated, int) else ""
    found = _ATTEMPT.match(whole)
    return (found[1], int(found[2])) if found else (whole, sample_id_of(record))


def _history(value: object) -> list[Any] | None:
    if isinstance(value, Mapping):
        value = value.get("message_history")
    return value if isinstance(value, list) else None


def _task(record: Record, task_id: str, asked: str) -> Question | None:
    given = record.get("input")
    if isinstance(given, Mapping):
        given = next((text for key in _INPUT_KEYS if isinstance(text := given.get(key), str) and text.strip()), None)
    if not isinstance(given, str) or not given.strip():
        given = _MESSAGE_ID.sub("", asked, count=1)
    # A retry is told what went wrong before; the question stays the same.
    text = given.partition(_EARLIER_ATTEMPTS)[0].strip()
    return question_of({**record, "question": text, "task_id": task_id, "input": None})


def _as_json(role: str, text: str, count: int) -> list[str] | None:
    """JSON values behind each other, where there are several calls."""
    text = _MESSAGE_ID.sub("", text, count=1).strip() if text.lstrip().startswith("[msg_") else text.strip()
    if count == 1:
        return [text]
    parts = json_texts(text) or []
    return parts if len(parts) == count else []
