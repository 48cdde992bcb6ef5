"""Any JSON to events: a walk that takes up calls, returns and words wherever they stand, by their shape alone.

What an object is, is settled in ``shapes.py``; which return answers which call, in ``assemble.py``. What a tool
returned is never walked into, so that a page cannot call, answer or return in the name of the agent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.readers import vocabulary as words
from tracerank.readers.assemble import Dialogue, dialogue_of, stated_answer
from tracerank.readers.calls.text_calls import CALL_TAGS, RETURN_TAG, spoken, tagged_returns, written_calls
from tracerank.readers.chat_roles import as_the_agent_saw
from tracerank.readers.events import Called, Event, Returned, Said, UserTurn
from tracerank.readers.hosted import cited_in, grounded_call
from tracerank.readers.reading import MAX_SHOWN, Reading
from tracerank.readers.results import Result
from tracerank.readers.shapes import (
    Fields,
    acted,
    call_of,
    chat_message,
    constructed,
    has_done,
    in_time_order,
    inline_return,
    is_aside,
    is_passing,
    is_result,
    keeps_both,
    kind_of_part,
    lists_returns,
    message_id,
    numbered_steps,
    return_of,
    role_of,
    side_by_side,
    unwrapped,
)
from tracerank.readers.sources.loose_json import decoded_value
from tracerank.readers.tools import parse_arguments
from tracerank.readers.values import part_text, plain_text, said_of, text_of
from tracerank.readers.vocabulary import plain_fields, plain_key

_MAX_DEPTH = 14
_CALLING = re.compile(r"\s*Calling tools:\s*(?=\[)")
_OBSERVED = re.compile(r"\s*+(?:Call id: (\S{1,200}+)\s*+)?+Observation:\s*+")
_NOT_ASKED = re.compile(r"\s*<(?:environment_context|user_instructions|system-reminder|permissions|tool_response)\b")
"""What a harness tells the agent in the user's name."""
_NEW_TASK = "New task:\n"
"""What smolagents writes before a question."""
_COMPONENT = '{"__is_'
"""How LlamaIndex begins what it keeps as text inside a context."""


def read_anything(value: object) -> Reading:
    """What a value says, wherever in it that stands."""
    walk = _Walk()
    walk.through(value)
    return Reading(dialogue_of(walk.events), walk.names, walk.unsigned)


def events_of(value: object) -> list[Event]:
    """The events of a transcript in the order in which they stand."""
    walk = _Walk()
    walk.through(value)
    return walk.events


def read_chat(messages: Sequence[object]) -> Dialogue:
    """Calls with their returns, the question and the final text of messages, or of what else a list may hold."""
    return dialogue_of(events_of(list(messages)))


def holds_calls(value: object) -> bool:
    """Whether anything in the value looks like a call; stops at the first."""
    walk = _Walk(stops=True)
    try:
        walk.through(value)
    except _Enough:
        return True
    except RecursionError:
        return False
    return False


class _Enough(Exception):
    """The first call was met."""


class _Walk:
    def __init__(self, *, stops: bool = False) -> None:
        self.events: list[Event] = []
        self.names: dict[str, list[str]] = {}
        self.unsigned = 0
        self._stops = stops
        self._is_aside = False
        self._open = 0  # calls without an id that have not returned
        self._turn = 0
        self._objects = 0
        self._message: str | None = None  # id of the message that the words inside an object belong to
        self._is_final = True  # that message may be the answer
        self._parts: list[tuple[str, tuple[Result, ...]]] = []  # words of that message, since its last call
        self._said = ""  # the last words, if nothing was called since
        self._tagged_texts: list[str] = []  # messages of returns in tags, since the last calls
        self._pieces: dict[str, str] = {}  # words that a stream passes on, by the id of their part

    def through(self, value: object) -> None:
        """All of a value."""
        self.enter(value, None, _MAX_DEPTH)
        self._end_tagged()
        self._flush()

    # ---- where things stand

    def enter(self, value: object, role: words.Role | None, depth: int) -> None:
        if depth == 0:
            return
        if isinstance(value, list | tuple):
            if len(value) == 2 and (call := acted(value)) is not None:
                self._inline(call, Returned(unwrapped(value[1])))
                return
            for item in as_the_agent_saw(in_time_order(value)):
                item = decoded_value(item) if isinstance(item, str) and item[:1] == "{" else item
                self.enter(item, role, depth - 1)
        elif isinstance(value, Mapping):
            self._object(value, role, depth)

    def _object(self, value: Mapping[Any, Any], role: words.Role | None, depth: int) -> None:
        if "role" in value and self._chat_message(value):
            return
        value = constructed(value)
        fields = plain_fields(value)
        if "event" in fields and isinstance(fields.get("data"), Mapping) and self._stream_event(fields, depth):
            return
        role = role_of(fields) or role
        if self._piece(fields):
            return
        if role == "hidden" or (role == "system" and "content" in fields) or is_passing(fields):
            return
        if self._is_result(fields):
            return
        if (grounded := grounded_call(fields.get("groundingmetadata"))) is not None:
            self._inline(grounded, Returned(None))
        returned = return_of(fields)
        call = None if returned is not None and not keeps_both(fields) else call_of(fields, role)
        if call is not None:
            kept = inline_return(fields, call)
            if kept is None:
                self._call(call)
            else:
                self._inline(call, kept)
            return
        if returned is not None and not lists_returns(fields):
            self._return(returned)
            return
        self._begin(fields, role)
        if not is_aside(fields):
            self._inside(value, fields, role, depth)
            return
        before, self._is_aside = self._is_aside, True
        self._inside(value, fields, role, depth)
        self._is_aside = before

    def _chat_message(self, value: Mapping[Any, Any]) -> bool:
        """A chat message in its usual spelling, which needs no search for its parts; False: it is another."""
        message = chat_message(value)
        if message is None:
            return False
        if isinstance(message, Returned):
            self._return(message)
            return True
        speaker, text, calls = message
        self._turn += 1
        self._opens(None)
        self._is_final = True
        if text:
            self._say(text, speaker)
        for call in calls:
            self._call(call)
        return True

    def _inline(self, call: Called, kept: Returned) -> None:
        """A call that keeps its own return."""
        name = call.id or f"#{len(self.events)}"
        self._call(replace(call, id=name))
        self._return(replace(kept, id=name))

    def _begin(self, fields: Fields, role: words.Role | None) -> None:
        """Notes which message the words inside an object belong to: what follows in the same one is its next part."""
        self._objects += 1
        message = message_id(fields)
        if message is None and ("parts" in fields or (role == "agent" and isinstance(fields.get("content"), list))):
            message = f"#{self._objects}"
        if message is not None or (role_of(fields) is not None and "content" in fields):
            self._turn += message is None or message != self._message
            self._opens(message)
            self._is_final = fields.get("phase") != "commentary" and fields.get("channel") not in words.UNSPOKEN

    def _piece(self, fields: Fields) -> bool:
        """Words that a stream passes on piece by piece; they are said when it closes the part."""
        kind, name = kind_of_part(fields) or plain_key(fields.get("event")), str(fields.get("id", fields.get("runid")))
        if kind in ("textdelta", "runcontent"):
            text = next((text for key in ("text", "delta", "content") if isinstance(text := fields.get(key), str)), "")
            self._pieces[name] = self._pieces.get(name, "") + text
        elif kind in words.ENDS_OF_PIECES and name in self._pieces:
            self._say(self._pieces.pop(name), "agent")
        return kind in ("textdelta", "runcontent", *words.ENDS_OF_PIECES)

    def _is_result(self, fields: Fields) -> bool:
        """The line with which a command ends its run: its words are those of the agent, unless it failed."""
        if not is_result(fields):
            return False
        stated = stated_answer(fields.get("structuredoutput")) or fields.get("result")
        # It repeats the last part of what was said, if that came in several.
        if isinstance(stated, str) and fields.get("iserror") is not True and stated != self._said:
            self._opens(None)
            self._say(stated, "agent")
        return True

    def _inside(self, value: Mapping[Any, Any], fields: Fields, role: words.Role | None, depth: int) -> None:
        steps = numbered_steps(value)
        if steps:
            self.enter(steps, "agent", depth - 1)
            return
        self._turn += bool(fields.get("toolcalls"))
        paired = side_by_side(fields)
        for call, output in paired:
            self._call(replace(call, id=None))  # their order pairs them, not an id
            self._return(Returned(output, None, call.name))
        kept = fields.get("additionalkwargs")
        if isinstance(kept, Mapping):  # where LangChain kept hosted calls beside the words
            self.enter(kept.get("tool_outputs"), role, depth - 1)
        is_late = has_done(fields)
        is_said = not is_late and self._words(fields, role)  # before the calls beside them: a plan is no answer
        for key in _in_order(fields):
            inner = fields[key]
            if isinstance(inner, str) and (key in words.ENCODED_KEYS or inner.startswith(_COMPONENT)):
                inner = decoded_value(inner)
            if paired and key in (*words.CALL_LISTS, *words.RETURN_LISTS):
                continue
            if isinstance(inner, Mapping | list | tuple) and not (
                is_said and key in words.WORD_KEYS and _is_text(inner)
            ):
                self.enter(inner, "agent" if key == "toolcalls" else role, depth - 1)
        if is_late and "parts" not in fields:  # which say it already
            self._words(fields, role)
        for key in words.STRUCTURED_KEYS:
            if isinstance(given := fields.get(key), Mapping) and (stated := stated_answer(given)) is not None:
                self._opens(None)
                self._say(stated, "agent")

    def _words(self, fields: Fields, role: words.Role | None) -> bool:
        """Says what an object says in words; whether it does."""
        kind = kind_of_part(fields)
        for key in words.WORD_KEYS if kind != "outputtext" else (*words.WORD_KEYS, "output"):
            content = fields.get(key)
            text = content if isinstance(content, str) else _joined(content, role) if _is_text(content) else ""
            if text.strip() and (role is not None or kind in words.TEXT_KINDS):
                self._say(text, role, tuple(_cited(content, fields)))
                return True
        if role == "agent" and (stated := _stated(fields.get("content"))) is not None:
            self._say(stated, role)
            return True
        return False

    def _stream_event(self, fields: Fields, depth: int) -> bool:
        """One of a stream of events that repeat each other: what began and what was only passed on says nothing."""
        event, data = fields["event"], plain_fields(fields["data"])
        if not isinstance(event, str) or not event.startswith("on_"):
            return False
        if event == "on_tool_end":
            output = data.get("output")
            if isinstance(output, Mapping) and return_of(plain_fields(constructed(output))) is not None:
                self.enter(output, "tool", depth - 1)
            elif isinstance(name := fields.get("name"), str):
                run = fields.get("runid")
                call = Called(name, data.get("input"), run if isinstance(run, str) else None)
                self._inline(call, Returned(output))
        elif event == "on_chat_model_end":
            self.enter(data.get("output"), "agent", depth - 1)
        elif event == "on_chain_start":
            self.enter(data.get("input"), None, depth - 1)
        return True

    # ---- what was met

    def _call(self, call: Called) -> None:
        if self._stops:
            raise _Enough
        arguments = parse_arguments(decoded_value(call.arguments))
        if arguments or call.name not in self.names:
            self.names.setdefault(call.name, [])
            self.names[call.name] = self.names[call.name] or list(arguments)[:MAX_SHOWN]
        self._pieces.clear()  # words before a call
        self._end_tagged()
        self._flush()
        self._said = ""
        self._open += call.id is None
        self.events.append(Called(call.name, arguments, call.id, self._turn, call.kind, call.results))

    def _return(self, found: Returned) -> None:
        self._end_tagged()
        self._flush()
        self._open -= found.id is None and self._open > 0
        self.events.append(found)

    def _say(self, text: str, role: words.Role | None, cited: tuple[Result, ...] = ()) -> None:
        if self._is_aside and role in ("user", "agent"):
            self._tagged(text)
            return
        if role == "user":
            if not self._tagged(text) and not _NOT_ASKED.match(text):
                self._end_tagged()
                self._flush()
                self.events.append(UserTurn(text.removeprefix(_NEW_TASK)))
            return
        if role == "tool":
            self._tagged(text)
            return
        self._end_tagged()
        self.unsigned += role is None
        if calling := _CALLING.match(text):
            self.enter(decoded_value(text[calling.end() :].strip()), "agent", 3)
            return
        if self._tagged(text):
            return
        if any(tag in text for tag in CALL_TAGS):
            made = [Called(call.name, call.arguments) for call in written_calls(text)]
            text = spoken(text)
            if made and "<answer>" not in text:  # a plan
                self._parts.append((text, cited))
                text, cited = "", ()
            for call in made:
                self._call(call)
        self._said = text
        if text == "".join(part for part, _ in self._parts):  # a stream says again what it said in parts
            cited = (*(one for _, found in self._parts for one in found), *cited)
            self._parts.clear()
        self._parts.append((text, cited))
        if self._message is None:
            self._flush()

    def _opens(self, message: str | None) -> None:
        """A message begins."""
        self._flush()
        self._message = message

    def _flush(self) -> None:
        """Says what one message said in parts."""
        if self._parts:
            text = "".join(part for part, _ in self._parts)
            cited = tuple(one for _, found in self._parts for one in found)
            self.events.append(Said(text, cited, self._is_final, self._message))
            self._parts.clear()

    def _tagged(self, text: str) -> bool:
        """A message that is what tools returned, written as words; whether it is one."""
        if observed := _OBSERVED.match(text):
            self._return(Returned(text[observed.end() :], observed[1]))
            return True
        if not self._open or RETURN_TAG not in text:
            return False
        self._tagged_texts.append(text)
        return True

    def _end_tagged(self) -> None:
        """Takes up what came back in tags since the last calls, when all of it is there."""
        if not self._tagged_texts:
            return
        texts, self._tagged_texts = self._tagged_texts, []
        for part in tagged_returns(texts, self._open):
            self._return(Returned(part))


def _stated(value: object) -> str | None:
    """The answer of a structured output, where a field says so; of one with a single field, that."""
    if not isinstance(value, Mapping):
        return None
    if len(value) == 1 and isinstance(only := next(iter(value.values())), str) and only.strip():
        return only
    return next(
        (text for name in words.STATED_KEYS if (text := plain_text(value.get(name))) is not None and text.strip()), None
    )


def _cited(content: object, fields: Fields) -> Iterator[Result]:
    """What the words of an object cite, part by part."""
    if isinstance(content, str):
        yield from cited_in(content, fields)
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping):
            yield from cited_in(part_text(dict(part)), part)


def _is_text(content: object) -> bool:
    """Whether content is all text: a part, or a list of parts of which none does anything else."""
    if isinstance(content, Mapping):
        return isinstance(content.get("text"), str) and call_of(plain_fields(content)) is None
    return isinstance(content, list) and bool(content) and all(_is_text_part(part) for part in content)


def _is_text_part(part: object) -> bool:
    if isinstance(part, str):
        return True
    if not isinstance(part, Mapping):
        return False
    return isinstance(part.get("text"), str) and kind_of_part(plain_fields(part)) in (*words.TEXT_KINDS, "")


def _joined(content: object, role: words.Role | None) -> str:
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, Mapping) and part.get("thought") is True)]
    # What an agent says in parts is one text; what a user sends in parts are several.
    return text_of(content) if role == "user" else said_of(content)


def _in_order(fields: Fields) -> list[str]:
    """The keys as they are to be read: what was asked first, what came out last."""
    keys = [key for key in fields if key not in words.ASIDE_KEYS or (key == "tools" and _were_used(fields[key]))]
    if fields.get("toolcalls") and "additionalkwargs" in fields:
        keys.remove("additionalkwargs")  # the same calls as the vendor sent them
    return [
        *(key for key in keys if key in words.FIRST_KEYS),
        *(key for key in keys if key not in words.FIRST_KEYS and key not in words.LAST_KEYS),
        *(key for key in keys if key in words.LAST_KEYS),
    ]


def _were_used(tools: object) -> bool:
    """Whether tools are listed with what they returned, and not as they are offered."""
    return isinstance(tools, list) and any(isinstance(one, Mapping) and keeps_both(plain_fields(one)) for one in tools)
