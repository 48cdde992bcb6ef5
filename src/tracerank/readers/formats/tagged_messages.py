"""Messages with calls in their text: Tongyi DeepResearch, WebDancer and others of the Qwen family, and MiroThinker.

The agent calls between the marks of ``calls/text_calls.py``, and the messages between its own return. Words before
further research are a plan. What sub-agents of MiroThinker searched stands where they were sent out; what they report
is an agent's text and no evidence.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.pools.types import BROWSING, Question
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.text_calls import CALL_TAGS, RETURN_TAG, tagged_returns, written_calls
from tracerank.readers.formats.marked import TEXT_FIELDS, Marks, speaker, turns
from tracerank.readers.sources.loose_json import json_texts
from tracerank.readers.sources.record_fields import decoded, label_value, question_of, sample_id_of
from tracerank.readers.tools import TOOL_NAMES, ToolCall
from tracerank.readers.values import said_of, text_of
from tracerank.readers.walk import read_chat

_MESSAGE_FIELDS = ("messages", "rollout", "conversation", "conversations", "trajectory", "history", "completion")
_FLAT_FIELDS = (*TEXT_FIELDS, "rollout")
_AGENTS = ("assistant", "gpt", "ai", "model", "function_call")
_TOOLS = ("tool", "function", "observation", "tool_response")
_NO_PREDICTIONS = ("[no prediction]", "[failed]", "no answer found.", "no answer found")
_END = {"role": "assistant", "content": ""}
"""Behind the last message: all that came back is there."""
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
        dialogue = _dialogue(messages)
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


def _dialogue(messages: Iterable[object], *, are_json: bool = False) -> Dialogue:
    """What the walk reads in messages that say only words; ``are_json``: returns come without tags."""
    dialogue = read_chat(list(_spelled(messages, are_json)))
    calls = tuple(replace(call, is_error=_NO_RETURN.match(text_of(call.output)) is not None) for call in dialogue.calls)
    return replace(dialogue, calls=calls, asked=_asked(dialogue.asked or ""))


def _spelled(messages: Iterable[object], are_json: bool) -> Iterator[dict[str, str]]:
    """Each return a message of its own, so that the walk looks for no tags in a page."""
    waiting = 0
    returned: list[str] = []
    for message in (*messages, _END):
        if not isinstance(message, Mapping):
            continue
        role, text = speaker(message), _text(message)
        outputs: list[str] = []
        if role in _AGENTS:
            outputs, returned = tagged_returns(returned, waiting), []
        elif waiting and are_json:
            outputs, waiting = _json_returns(text, waiting), 0
        elif waiting and (role in _TOOLS or RETURN_TAG in text):
            returned.append(text)
        elif role in ("user", "human"):
            yield {"role": "user", "content": text}
        yield from ({"role": "tool", "content": output} for output in outputs)
        if role in _AGENTS:
            waiting = len(written_calls(text))
            yield {"role": "assistant", "content": text}


def _asked(text: str) -> str:
    """The question in a user message, without a description of tools before it."""
    end = text.rfind("</tools>")
    at = text.find("\nUser:", end) if end >= 0 else -1
    return (text[at + len("\nUser:") :] if at >= 0 else text).strip()


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
        is_native = messages is not None and any(map(_calls_natively, messages))
        dialogue = read_chat(messages or ()) if is_native else _dialogue(messages or (), are_json=True)
        calls = tuple(_with_sessions(dialogue.calls, sessions))
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
        made = Dialogue(calls, final=said)
        return _browsed(
            parsed_dialogue(fields, source, made, names=_MIRO_NAMES, question=question, sample_id=attempt, label=label)
        )


def _with_sessions(calls: Iterable[ToolCall], sessions: Iterable[object]) -> Iterator[ToolCall]:
    """The calls with those of the sub-agents where these were sent out."""
    researched = (_dialogue(_history(session) or (), are_json=True).calls for session in sessions)
    for call in calls:
        if call.name == _SUB_AGENT:
            yield from next(researched, ())
        yield call
    for rest in researched:
        yield from rest


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


def _json_returns(text: str, count: int) -> list[str]:
    """What so many calls returned: JSON values behind each other where there are several."""
    text = _MESSAGE_ID.sub("", text, count=1).strip() if text.lstrip().startswith("[msg_") else text.strip()
    parts = [text] if count == 1 else json_texts(text) or []
    return parts if len(parts) == count else []
