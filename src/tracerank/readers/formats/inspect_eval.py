"""Inspect AI samples: one rollout a sample and epoch, chat messages in Inspect's own spelling.

Reads what ``archives.py`` or a ``.json`` log gives. Scores are read as labels only: their answers and explanations
were written by a scorer that saw the target. Events repeat the messages and are not read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Question
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.chat_messages import read_chat
from tracerank.readers.sources.record_fields import label_value
from tracerank.readers.values import encodable, plain_text, said_of, text_of, whole_number

_ATTACHMENT = "attachment://"
_OLD_ATTACHMENT = "tc://"
# Correct, incorrect, partial, no answer.
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_URL_CITATION = "url"


class InspectReader:
    """One rollout a sample; the epochs of a sample are the rollouts of its question."""

    name = "inspect"

    def recognises(self, record: Record) -> bool:
        """By an id, an epoch, a target and messages."""
        return (
            isinstance(record, Mapping)
            and all(key in record for key in ("id", "epoch", "input", "target"))
            and isinstance(record.get("messages"), list)
        )

    def parse(self, record: Record, source: str) -> Parsed:
        """The sample as a rollout; the answer is extracted from the last message or from what was submitted."""
        attachments = record.get("attachments")
        texts = attachments if isinstance(attachments, Mapping) else {}
        question = _question(record, texts)
        sample_id = whole_number(record.get("epoch"))
        messages = record.get("messages")
        if not isinstance(messages, list):
            reject("field 'messages': expected a list", question, sample_id)
        said = read_chat([made for message in messages for made in _chat_messages(message, texts)])
        final = said.final or _completion(record.get("output"), texts)
        if question is None and said.asked and said.asked.strip():
            question = Question(encodable(normalize_text(said.asked)), encodable(said.asked.strip()))
        dialogue = Dialogue(said.calls, said.asked, final)
        label = _label(record.get("scores"))
        # Only what the sample itself states; its metadata may hold anything, judgements too.
        return parsed_dialogue({}, source, dialogue, question=question, sample_id=sample_id, label=label)


def _question(record: Record, attachments: Mapping[str, Any]) -> Question | None:
    asked = record.get("input")
    if isinstance(asked, list):
        users = (message for message in asked if isinstance(message, Mapping) and message.get("role") == "user")
        asked = next((text_of(_resolved(message.get("content"), attachments)) for message in users), "")
    else:
        asked = _resolved(asked, attachments)
    text = asked.strip() if isinstance(asked, str) else ""
    identity = plain_text(record.get("id"))
    identity = identity.strip() if identity is not None and identity.strip() else normalize_text(text)
    if not identity:
        return None
    target = record.get("target")
    targets = (plain_text(item) for item in (target if isinstance(target, list) else [target]))
    references = tuple(encodable(item.strip()) for item in targets if item is not None and item.strip())
    return Question(encodable(identity), encodable(text), references)


# ---- messages


def _chat_messages(message: object, attachments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The message as chat messages; a tool that the provider ran itself becomes a call and its return."""
    if not isinstance(message, Mapping):
        return
    content = _resolved(message.get("content"), attachments)
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    cited = [each for part in parts for each in _citations(part)]
    role = message.get("role")
    if role == "tool":
        yield _return(message, content, cited)
        return
    if role != "assistant":
        yield {"role": role, "content": content}
        return
    for place, part in enumerate(parts):
        if part.get("type") == "tool_use":
            yield from _server_call(part, f"{message.get('id')}/{place}")
    calls = message.get("tool_calls")
    spoken = said_of(content)
    made = [_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    yield {"role": "assistant", "content": spoken, "tool_calls": made, "annotations": _spans(parts)}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": call.get("id"), "function": {"name": call.get("function"), "arguments": call.get("arguments")}}


def _return(message: Mapping[str, Any], content: object, cited: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A tool message; where its text cites pages, the pages are what came back, not the text about them."""
    sources = [
        {"title": each.get("title"), "url": each.get("url"), "text": each.get("cited_text")}
        for each in cited
        if isinstance(each.get("cited_text"), str)
    ]
    return {
        "role": "tool",
        "tool_call_id": message.get("tool_call_id"),
        "name": message.get("function"),
        "content": sources or content,
        "is_error": isinstance(message.get("error"), Mapping),
    }


def _server_call(part: Mapping[str, Any], fallback: str) -> Iterator[dict[str, Any]]:
    name = part.get("name") if isinstance(part.get("name"), str) else part.get("tool_type")
    identity = part.get("id") or fallback
    function = {"name": name, "arguments": part.get("arguments")}
    yield {"role": "assistant", "content": "", "tool_calls": [{"id": identity, "function": function}]}
    is_error = bool(part.get("error"))
    yield {"role": "tool", "tool_call_id": identity, "content": part.get("result") or None, "is_error": is_error}


def _citations(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = part.get("citations")
    return [
        each
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, Mapping) and each.get("type") == _URL_CITATION
    ]


def _spans(parts: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The citations of an answer with the places that they have in its joined text."""
    spans: list[dict[str, Any]] = []
    start = 0
    for part in parts:
        text = part.get("text")
        length = len(text) if isinstance(text, str) else 0
        for each in _citations(part):
            quoted = each.get("cited_text")
            place = quoted if isinstance(quoted, list) and len(quoted) == 2 else (0, length)
            low, high = whole_number(place[0]) or 0, whole_number(place[1]) or 0
            bounds = {"start_index": start + low, "end_index": start + high}
            spans.append({"url": each.get("url"), "title": each.get("title"), "cited_text": quoted, **bounds})
            if not isinstance(quoted, str):
                del spans[-1]["cited_text"]
        start += length
    return spans


def _resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """Content whose long texts stand elsewhere in the sample; only a text that is nothing but a reference is one."""
    if isinstance(value, str):
        for protocol in (_ATTACHMENT, _OLD_ATTACHMENT):
            if value.startswith(protocol):
                text = attachments.get(value.removeprefix(protocol))
                return text if isinstance(text, str) else value
        return value
    if isinstance(value, list):
        return [_with_texts(part, attachments) if isinstance(part, Mapping) else part for part in value]
    return value


def _with_texts(part: Mapping[str, Any], attachments: Mapping[str, Any]) -> dict[str, Any]:
    fields = ("text", "result", "arguments")
    return {**part, **{name: _resolved(part[name], attachments) for name in fields if isinstance(part.get(name), str)}}


# ---- what came out


def _completion(output: object, attachments: Mapping[str, Any]) -> str | None:
    """What the model said last, where the messages end without it."""
    choices = output.get("choices") if isinstance(output, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return None
    message = choices[0].get("message")
    if not isinstance(message, Mapping) or message.get("tool_calls"):
        return None
    return said_of(_resolved(message.get("content"), attachments)) or None


def _label(scores: object) -> float | None:
    """The first score that says whether the answer is correct; None: unscored."""
    for score in scores.values() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping) and len(value) == 1:
            (value,) = value.values()
        label = _GRADES.get(value) if isinstance(value, str) else None
        label = label_value(value) if label is None else label
        if label is not None:
            return label
    return None
