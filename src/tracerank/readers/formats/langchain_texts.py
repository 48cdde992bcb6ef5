"""Transcripts saved as text: LangChain's buffer strings, pretty messages and printed messages, back to messages.

``get_buffer_string`` writes ``Human: …``, ``AI: …[{'name': …}]``, ``Tool: …`` (or the same in ``<message>`` elements),
``pretty_repr`` ruled headings, ``str`` the fields of a message. Other logs with ``User:``, ``Assistant:`` before
turns are read the same way. A page may hold such a label, too, so as many returns are expected as there were calls,
and what stays open is reported.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, NamedTuple

from tracerank.readers.base import Record
from tracerank.readers.sources.loose_json import load_literal
from tracerank.readers.sources.printed_objects import TYPE, load_printed

_NOT_TRANSCRIPTS = frozenset(("question", "query", "prompt", "input", "task", "problem", "expected", "system_prompt"))
_MIN_LENGTH = 20
_MAX_TURNS = 4000
_MAX_TRIES, _MAX_LISTS = 8, 500
"""Places in one turn where its calls may begin; turns of a text that are tried."""
_MAX_TURN = 50_000
_KINDS = {
    **dict.fromkeys(("human", "user"), "human"),
    **dict.fromkeys(("ai", "assistant"), "ai"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **dict.fromkeys(("system", "developer", "chat"), "system"),
}
_LABEL = re.compile(r"^(Human|User|AI|Assistant|Tool|Function|System|Developer):(?:[ \t]|$)", re.M)
_BEGINS = re.compile(r"\s*(?:(?:System|Developer|Human|User): |<message type=\"|={10,} \w{2,20} Message ={10,})")
_HEADING = re.compile(r"^={10,} (\w{2,20}) Message ={10,}[ \t]*$", re.M)
_ELEMENT = re.compile(r"<message type=\"(\w{1,20})\">([^<]*+(?:<(?!/message>)[^<]*+)*+)</message>")
_CALL_ELEMENT = re.compile(r"<(?:tool|function)_call(?: id=\"([^\"<>]*+)\")? name=\"([^\"<>]*+)\">([^<]*+)</")
_CONTENT_ELEMENT = re.compile(r"<content>([^<]*+)</content>")
_CALLS_BELOW = re.compile(r"^Tool Calls:[ \t]*$", re.M)
_CALL_BELOW = re.compile(r"^  (\S{1,200}) \(([^()\n]{0,200})\)\n Call ID: [^\n]*\n  Args:[ \t]*$", re.M)
_ARGUMENT_BELOW = re.compile(r"^    ([A-Za-z_]\w{0,80}): ?", re.M)
_NAME_ABOVE = re.compile(r"\s*Name: (\S{1,200})[ \t]*(?:\n|\Z)")
_AMBIGUOUS = "roles are read from labels in the text, which a page may hold as well, here and elsewhere"


class TextTranscript(NamedTuple):
    """The messages of a text."""

    field: str
    """Where it stood."""
    messages: list[dict[str, Any]]
    doubt: str
    strays: int
    """Returns that no call asked for."""


class _Turn(NamedTuple):
    kind: str
    text: str
    calls: tuple[dict[str, Any], ...] = ()
    name: str = ""


def text_transcript(record: Record) -> TextTranscript | None:
    """The transcript that a field keeps as text; None: none does."""
    for field, value in record.items():
        if field in _NOT_TRANSCRIPTS:
            continue
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            if (printed := _printed(value)) is not None:
                return TextTranscript(field, printed, "", 0)
        elif isinstance(value, str) and len(value) > _MIN_LENGTH:
            if "Message(" in value and value[0] in "[{" and (printed := _printed_list(value)) is not None:
                return TextTranscript(field, printed, "", 0)
            if _BEGINS.match(value) and (turns := _turns(value)):
                messages, strays = _paired(turns)
                doubt = _AMBIGUOUS if _LABEL.match(value.lstrip()) else ""
                return TextTranscript(field, messages, doubt, strays)
    return None


# ---- messages as Python prints them


def _printed_list(text: str) -> list[dict[str, Any]] | None:
    """``[HumanMessage(content=…), …]``, alone or in the state that holds it."""
    value = load_printed(text)
    if isinstance(value, Mapping):
        value = value.get("messages")
    return _typed(value) if isinstance(value, list) else None


def _printed(texts: list[str]) -> list[dict[str, Any]] | None:
    """A text a message: its fields, or the message with its class."""
    if not any("content=" in text[:60] for text in texts[:4]):
        return None
    return _typed([load_printed(text if "Message(" in text[:40] else f"Message({text})") for text in texts])


def _typed(values: list[Any]) -> list[dict[str, Any]] | None:
    """Fields of messages with their kinds; those of which none is said go by what only such messages have."""
    if not values or not all(isinstance(one, Mapping) and "content" in one for one in values):
        return None
    messages = [{**one, TYPE: _kind(one)} for one in values]
    asking = [index for index, one in enumerate(messages) if one[TYPE] == "human"]
    first = next((index for index, one in enumerate(messages) if one[TYPE] == "ai"), None)
    if first is None:
        return None
    for index in asking[:-1]:  # of several before the agent speaks, the last one asks
        if values[index].get(TYPE) == "Message" and index + 1 in asking and index + 1 < first:
            messages[index][TYPE] = "system"
    return messages


def _kind(fields: Mapping[str, Any]) -> str:
    name = str(fields.get(TYPE)).removesuffix("Chunk").removesuffix("Message").lower()
    if name in _KINDS:
        return _KINDS[name]
    if "tool_call_id" in fields:
        return "tool"
    return "ai" if any(key in fields for key in ("tool_calls", "invalid_tool_calls", "usage_metadata")) else "human"


# ---- turns of a text


def _turns(text: str) -> list[_Turn]:
    if text.lstrip().startswith("<message"):
        found = list(_of_elements(text))
    elif text.lstrip().startswith("="):
        found = list(_under_headings(text))
    else:
        found = list(_behind_labels(text))
    kinds = [turn.kind for turn in found]
    return found if "ai" in kinds and "human" in kinds and len(found) < _MAX_TURNS else []


def _of_elements(text: str) -> Iterator[_Turn]:
    for found in _ELEMENT.finditer(text):
        kind, inner = _KINDS.get(found[1].lower(), ""), found[2]
        calls = tuple(
            {"id": call[1] or None, "name": unescape(call[2]), "args": unescape(call[3])}
            for call in _CALL_ELEMENT.finditer(inner)
        )
        said = _CONTENT_ELEMENT.search(inner) if calls else None
        yield _Turn(kind, unescape(said[1] if said else "" if calls else inner), calls)


def _under_headings(text: str) -> Iterator[_Turn]:
    marks = list(_HEADING.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=True):
        kind, body = _KINDS.get(mark[1].lower(), ""), text[mark.end() : end].strip("\n")
        if kind == "ai" and (below := _CALLS_BELOW.search(body)):
            yield _Turn(kind, body[: below.start()].strip(), tuple(_calls_below(body[below.end() :])))
        elif kind == "tool" and (named := _NAME_ABOVE.match(body)):
            yield _Turn(kind, body[named.end() :].strip("\n"), name=named[1])
        else:
            yield _Turn(kind, body)


def _calls_below(text: str) -> Iterator[dict[str, Any]]:
    marks = list(_CALL_BELOW.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=True):
        body = text[mark.end() : end]
        keys = list(_ARGUMENT_BELOW.finditer(body))
        stops = [*(key.start() for key in keys[1:]), len(body)]
        given = {key[1]: body[key.end() : stop].strip() for key, stop in zip(keys, stops, strict=True)}
        yield {"id": mark[2] or None, "name": mark[1], "args": {key: _plain(value) for key, value in given.items()}}


def _plain(value: str) -> Any:
    found = load_literal(value) if value[:1] in ("[", "{") else value
    return found if isinstance(found, list | dict) else value


def _behind_labels(text: str) -> Iterator[_Turn]:
    """A turn a label; once calls were made, as many returns are awaited and nothing else is believed before."""
    kind, start, awaited, tries = "", 0, 0, 0
    calls: tuple[dict[str, Any], ...] = ()
    for mark in _LABEL.finditer(text):
        following = _KINDS[mark[1].lower()]
        body = text[start : mark.start()].rstrip("\n")
        if kind == "ai" and not calls and body.endswith("]") and tries < _MAX_LISTS:
            calls, tries = _printed_calls(body), tries + 1
        if kind and not _may_follow(kind, following, len(calls) if kind == "ai" else awaited):
            continue
        if kind:
            yield _turn(kind, body, calls)
        awaited = len(calls) if kind == "ai" else awaited
        awaited = max(awaited - 1, 0) if following == "tool" else 0
        kind, start, calls = following, mark.end(), ()
    if kind:
        body = text[start:].strip("\n")
        yield _turn(kind, body, _printed_calls(body) if kind == "ai" else ())


def _may_follow(kind: str, following: str, awaited: int) -> bool:
    """``awaited``: returns that are still to come."""
    if awaited:
        return following == "tool"
    # After the last return the agent goes on.
    return following != "tool" if kind == "tool" else True


def _turn(kind: str, body: str, calls: tuple[dict[str, Any], ...]) -> _Turn:
    if calls:
        body = body[: body.rindex(_opening(calls))] if _opening(calls) in body else body
    return _Turn(kind, body.strip(), calls)


def _opening(calls: tuple[dict[str, Any], ...]) -> str:
    return f"[{{'name': {calls[0].get('name')!r}"


def _printed_calls(body: str) -> tuple[dict[str, Any], ...]:
    """The calls that Python printed behind the words of a turn."""
    at = -1 if len(body) <= _MAX_TURN else len(body) - _MAX_TURN
    for _ in range(_MAX_TRIES):
        at = body.find("[{'", at + 1)
        if at < 0:
            return ()
        found = load_literal(body[at:])
        if isinstance(found, list) and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in found):
            return tuple(found)
    return ()


# ---- calls and their returns


def _paired(turns: list[_Turn]) -> tuple[list[dict[str, Any]], int]:
    """The turns as messages; a return belongs to the first open call, of its name where one is given."""
    messages: list[dict[str, Any]] = []
    waiting: deque[tuple[str, str]] = deque()
    strays = 0
    for number, turn in enumerate(turns):
        if turn.kind == "ai":
            calls = [
                {**call, "id": str(call.get("id") or f"{number}.{index}")} for index, call in enumerate(turn.calls)
            ]
            waiting = deque((call["id"], call["name"]) for call in calls)
            messages.append({"type": "ai", "content": turn.text, "tool_calls": calls})
        elif turn.kind == "tool":
            same = [one for one in waiting if not turn.name or one[1] == turn.name] or list(waiting)
            strays += not same
            if same:
                waiting.remove(same[0])
                messages.append({"type": "tool", "content": turn.text, "tool_call_id": same[0][0]})
        elif turn.kind:
            messages.append({"type": turn.kind, "content": turn.text})
    return messages, strays
