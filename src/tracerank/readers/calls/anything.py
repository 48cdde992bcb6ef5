"""Any record to a dialogue: a walk that takes up calls, returns and words wherever they stand, by their shape alone.

Where shape leaves a doubt it is counted, so that a reader can say how sure it is. A call or a return that stands twice
under one id counts once. What an object is, is settled in ``shapes.py``.
"""

import re
from collections.abc import Mapping
from typing import Any

from tracerank.readers.calls.dialogues import DialogueBuilder, stated_answer
from tracerank.readers.calls.grounding import grounded_call
from tracerank.readers.calls.readings import MOST_SHOWN, Reading, Seen
from tracerank.readers.calls.shapes import (
    Call,
    Fields,
    Return,
    Role,
    call_of,
    decoded_value,
    fields_of,
    inline_return,
    is_aside,
    is_passing,
    is_result,
    kind_of_part,
    message_id,
    plain_key,
    return_of,
    role_of,
    speaker_of,
    unwrapped,
)
from tracerank.readers.calls.text_calls import CALL_TAGS, spoken, tagged_returns, written_calls
from tracerank.readers.calls.tool_calls import ToolCall, clean_name, is_underway, parse_arguments
from tracerank.readers.values import plain_text, said_of, text_of

_DEEPEST = 14
_WORDS = ("content", "text", "message", "value", "parts", "blocks")
_ASIDE = frozenset(
    (
        *("usage", "metadata", "meta", "tools", "tooldefinitions", "reasoning", "thinking", "thought", "thoughts"),
        *("reasoningcontent", "config", "settings", "modelsettings", "annotations", "citations", "tokenusage"),
        *("logprobs", "providermetadata", "responseformat", "instructions", "auto_judge", "autojudge", "judge"),
        *("scores", "gold", "toolfailures", "systemprompt", "tooluseresult", "availabletools", "toolspecs"),
        *("warnings", "request", "sources", "labels", "groundingmetadata"),
    )
)
"""What stands beside the transcript or is not said aloud."""
_FIRST = ("prompt", "input", "inputs", "question", "task", "userprompt")
_LAST = ("output", "response", "finaloutput", "result")
_ENDS_OF_PIECES = ("textend", "runcontentcompleted", "runcompleted")
_TEXT_KINDS = ("text", "outputtext", "inputtext", "message")
_CALLING = re.compile(r"\s*Calling tools:\s*(?=\[)")
_OBSERVED = re.compile(r"\s*(?:Call id: (\S{1,200})\s*\n)?\s*Observation:\s*")
_SURROUNDINGS = re.compile(r"\s*<(?:environment_context|user_instructions|system-reminder|permissions)\b")
"""What a harness tells the agent in the user's name."""
_NEW_TASK = "New task:\n"
"""What smolagents writes before a question."""
_NUMBERED = re.compile(r"(.+?)_(\d{1,3})")
_ENCODED = ("toolcalls", "toolcall", "functioncall", "messages", "events", "steps", "payload", "trajectory", "history")
_CALL_LISTS = ("toolcalls", "calls", "functioncalls", "toolinvocations", "actions")
_RETURN_LISTS = ("tooloutputs", "toolresults", "toolresponses", "observations", "outputs", "results", "returns")
_STRUCTURED = ("structuredresponse", "structuredoutput")
"""Where a run keeps its answer as an object."""
_STATED = ("answer", "final_answer", "finalAnswer", "exact_answer", "short_answer")
_OVER = frozenset(("TERMINATE", "APPROVE", "APPROVED"))
"""What agents say to each other when all is said."""
_COMPONENT = '{"__is_'
"""How LlamaIndex begins what it keeps as text inside a context."""


def read_anything(value: object) -> Reading:
    """What a value says, wherever in it that stands."""
    walk = _Walk()
    walk.enter(value, None, _DEEPEST)
    return walk.reading()


def holds_calls(value: object) -> bool:
    """Whether anything in the value looks like a call; stops at the first."""
    walk = _Walk(stops=True)
    try:
        walk.enter(value, None, _DEEPEST)
    except _Enough:
        return True
    except RecursionError:
        return False
    return False


class _Enough(Exception):
    """The first call was met."""


class _Walk:
    def __init__(self, *, stops: bool = False) -> None:
        self.seen = Seen()
        self._stops = stops
        self._builder = DialogueBuilder()
        self._known: set[str] = set()
        self._waiting: dict[str, str] = {}  # id -> clean name, of calls that have not returned
        self._unnamed: list[str] = []  # ids made up for calls without one, in order
        self._last = ""
        self._is_aside = False
        self._bare: set[str] = set()  # ids of calls whose arguments are still to come
        self._objects = 0
        self._message = ""  # the message whose words came last
        self._said = ""  # those words, if nothing was called since
        self._pieces: dict[str, str] = {}  # words that a stream passes on, by the id of their part

    def reading(self) -> Reading:
        self.seen.unreturned = sum(is_underway(name, {}) for name in self._waiting.values())
        is_ended = self._last in ("finish", "final_answer", "submit")
        return Reading(self._builder.dialogue(), self.seen, is_ended, self._builder.plans)

    # ---- where things stand

    def enter(self, value: object, role: Role | None, depth: int) -> None:
        if depth == 0:
            return
        if isinstance(value, list | tuple):
            for item in value:
                item = decoded_value(item) if isinstance(item, str) and item[:1] == "{" else item
                self.enter(item, role, depth - 1)
        elif isinstance(value, Mapping):
            self._object(value, role, depth)

    def _object(self, value: Mapping[Any, Any], role: Role | None, depth: int) -> None:
        if len(value) == 2 and (speaker := speaker_of(value)) is not None:
            self._say(value["content"], speaker)
            return
        fields = fields_of(value)
        if "event" in fields and isinstance(fields.get("data"), Mapping) and self._stream_event(fields, depth):
            return
        role = role_of(fields) or role
        if self._piece(fields):
            return
        if role == "hidden" or (role == "system" and "content" in fields) or is_passing(fields):
            return
        self._begin(fields)
        if self._is_result(fields):
            return
        if (grounded := grounded_call(fields.get("groundingmetadata"))) is not None:
            self._call(Call(None, grounded.name, grounded.arguments), grounded)
        returned = return_of(fields)
        call = None if returned is not None and not _keeps_both(fields) else call_of(fields, role)
        if call is not None:
            self._call(call)
            if (kept := inline_return(fields, call)) is not None:
                self._return(kept)
            return
        if returned is not None and not _lists_returns(fields):
            self._return(returned)
            return
        if not is_aside(fields):
            self._inside(value, fields, role, depth)
            return
        before, self._is_aside = self._is_aside, True
        self._inside(value, fields, role, depth)
        self._is_aside = before

    def _begin(self, fields: Fields) -> None:
        """Notes which message the words inside an object belong to: what follows in the same one is its next part."""
        self._objects += 1
        message = f"#{self._objects}" if "parts" in fields else message_id(fields)
        if message is not None or (role_of(fields) is not None and "content" in fields):
            self._said = self._said if message is not None and message == self._message else ""
            self._message = message or ""

    def _piece(self, fields: Fields) -> bool:
        """Words that a stream passes on piece by piece; they are said when it closes the part."""
        kind, name = kind_of_part(fields) or plain_key(fields.get("event")), str(fields.get("id", fields.get("runid")))
        if kind in ("textdelta", "runcontent"):
            text = next((text for key in ("text", "delta", "content") if isinstance(text := fields.get(key), str)), "")
            self._pieces[name] = self._pieces.get(name, "") + text
        elif kind in _ENDS_OF_PIECES and name in self._pieces:
            self._say(self._pieces.pop(name), "agent")
        return kind in ("textdelta", "runcontent", *_ENDS_OF_PIECES)

    def _is_result(self, fields: Fields) -> bool:
        """The line with which a command ends its run: its words are those of the agent, unless it failed."""
        if not is_result(fields):
            return False
        stated = stated_answer(fields.get("structuredoutput")) or fields.get("result")
        # It repeats the last part of what was said, if that came in several.
        if isinstance(stated, str) and fields.get("iserror") is not True and not self._said.endswith(stated):
            self._said = ""
            self._say(stated, "agent")
        return True

    def _inside(self, value: Mapping[Any, Any], fields: Fields, role: Role | None, depth: int) -> None:
        steps = _numbered_steps(value)
        if steps:
            self.enter(steps, "agent", depth - 1)
            return
        paired = _side_by_side(fields)
        for call, output in paired:
            self._call(call)
            self._return(Return(call.id, call.name, output, is_error=False), is_sure=False)
        words = self._words(fields, role)
        # What somebody says is taken in before his calls: a plan is no answer.
        for text, speaker in words:
            self._say(text, speaker)
        for key in _in_order(fields):
            inner = fields[key]
            if isinstance(inner, str) and (key in _ENCODED or inner.startswith(_COMPONENT)):
                inner = decoded_value(inner)
            if paired and key in (*_CALL_LISTS, *_RETURN_LISTS):
                continue
            if isinstance(inner, Mapping | list | tuple) and not (words and key in _WORDS and _is_text(inner)):
                self.enter(inner, role, depth - 1)
        for key in _STRUCTURED:
            if (stated := _stated(fields.get(key))) is not None:
                self._say(stated, "agent")

    def _words(self, fields: Fields, role: Role | None) -> list[tuple[str, Role | None]]:
        for key in _WORDS:
            content = fields.get(key)
            text = content if isinstance(content, str) else _joined(content, role) if _is_text(content) else ""
            if text.strip() and (role is not None or kind_of_part(fields) in _TEXT_KINDS):
                return [(text, role)]
        if role == "agent" and (stated := _stated(fields.get("content"))) is not None:
            return [(stated, role)]
        return []

    def _stream_event(self, fields: Fields, depth: int) -> bool:
        """One of a stream of events that repeat each other: what began and what was only passed on says nothing."""
        event, data = fields["event"], fields_of(fields["data"])
        if not isinstance(event, str) or not event.startswith("on_"):
            return False
        if event == "on_tool_end":
            output = data.get("output")
            if isinstance(output, Mapping) and return_of(fields_of(output)) is not None:
                self.enter(output, "tool", depth - 1)
            elif isinstance(name := fields.get("name"), str):
                run = fields.get("runid")
                call = Call(run if isinstance(run, str) else None, name, data.get("input"))
                self._call(call)
                self._return(Return(call.id, name, output, is_error=False))
        elif event == "on_chat_model_end":
            self.enter(data.get("output"), "agent", depth - 1)
        elif event == "on_chain_start":
            self.enter(data.get("input"), None, depth - 1)
        return True

    # ---- what was met

    def _call(self, call: Call, made: ToolCall | None = None) -> None:
        if self._stops:
            raise _Enough
        arguments = parse_arguments(decoded_value(call.arguments))
        if call.id is not None and call.id in self._known:
            if arguments and call.id in self._bare:
                self._bare.discard(call.id)
                self.seen.names[call.name] = list(arguments)[:MOST_SHOWN]
                self._builder.give(call.id, arguments)
            self._builder.recall(call.id)
            self._said = ""
            return
        self._pieces.clear()  # words before a call
        self.seen.calls += 1
        name = call.id if call.id is not None else f"#{self.seen.calls}"
        self._known.add(name)
        if made is None:
            self._waiting[name] = clean_name(call.name)
            if call.id is None:
                self._unnamed.append(name)
        else:
            self.seen.by_id += 1  # it keeps what it found
        if call.id is not None and not arguments:
            self._bare.add(call.id)
        self.seen.names.setdefault(call.name, list(arguments)[:MOST_SHOWN])
        self._last = clean_name(call.name)
        self._said = ""
        self._builder.call(made or ToolCall(call.name, arguments), name)

    def _return(self, found: Return, *, is_sure: bool = True) -> None:
        place = found.id
        if place is None or place not in self._waiting:
            if place is not None and place in self._known:
                return  # told twice
            place, is_sure = self._next(found), False
        if place is None:
            self.seen.strays += 1
            return
        is_inline = found.id is None and place == self._unnamed[-1:][0] if self._unnamed else False
        del self._waiting[place]
        if place in self._unnamed:
            self._unnamed.remove(place)
        self.seen.by_id += is_sure or is_inline
        self.seen.by_order += not (is_sure or is_inline)
        self._builder.returned(place, found.output, is_error=found.is_error)

    def _next(self, found: Return) -> str | None:
        """The first waiting call without an id, of the same name where one is given."""
        wanted = clean_name(found.name)
        waiting = self._unnamed if found.id is None or self._unnamed else []
        same = [one for one in waiting if not wanted or self._waiting[one] == wanted]
        if found.id is None and not waiting and len(self._waiting) == 1:
            return next(iter(self._waiting))
        return same[0] if same else None

    def _say(self, text: str, role: Role | None) -> None:
        if self._is_aside and role in ("user", "agent"):
            self._tagged(text)
            return
        if role == "user":
            if not self._tagged(text) and not _SURROUNDINGS.match(text):
                self._builder.ask(text.removeprefix(_NEW_TASK))
            return
        if role == "tool":
            self._tagged(text)
            return
        if text.strip(" .!*\n").upper() in _OVER and self._builder.has_answer:
            return
        self.seen.unsigned += role is None
        if calling := _CALLING.match(text):
            self.enter(decoded_value(text[calling.end() :].strip()), "agent", 3)
            return
        if self._tagged(text):
            return
        if any(tag in text for tag in CALL_TAGS):
            for made in written_calls(text):
                self._call(Call(None, made.name, made.arguments))
            text = spoken(text)
        if self._said and self._message and not text.startswith(self._said):
            text = self._said + text  # the next part of the same message
        self._said = text
        self._builder.say(text)

    def _tagged(self, text: str) -> bool:
        """A message that is what tools returned, written as words; whether it is one."""
        if observed := _OBSERVED.match(text):
            self._return(Return(observed[1], "", text[observed.end() :], is_error=False))
            return True
        if not self._unnamed or "<tool_response>" not in text:
            return False
        for part in tagged_returns(text, len(self._unnamed)):
            self._return(Return(None, "", part, is_error=False))
        return True


def _stated(value: object) -> str | None:
    """The answer of a structured output, where a field says so; of one with a single field, that."""
    if not isinstance(value, Mapping):
        return None
    if len(value) == 1 and isinstance(only := next(iter(value.values())), str) and only.strip():
        return only
    return next((text for name in _STATED if (text := plain_text(value.get(name))) is not None and text.strip()), None)


def _keeps_both(fields: Fields) -> bool:
    """Whether an object is a call together with its return."""
    call = call_of(fields)
    return call is not None and call.arguments is not None and inline_return(fields, call) is not None


def _lists_returns(fields: Fields) -> bool:
    """Whether the message of a tool holds several returns, each under its own id."""
    for key in ("content", "parts", "toolresponses"):
        listed = fields.get(key)
        if isinstance(listed, list) and any(
            isinstance(one, Mapping) and (found := return_of(fields_of(one))) is not None and found.id is not None
            for one in listed
        ):
            return True
    return False


def _side_by_side(fields: Fields) -> list[tuple[Call, object]]:
    """Calls in one list with their returns in another, of the same length and without ids of their own."""
    listed = next((value for key in _CALL_LISTS if isinstance(value := fields.get(key), list) and value), None)
    returned = next((value for key in _RETURN_LISTS if isinstance(value := fields.get(key), list) and value), None)
    if listed is None or returned is None or len(listed) != len(returned):
        return []
    calls = [call_of(fields_of(one), "agent") if isinstance(one, Mapping) else None for one in listed]
    are_bare = all(isinstance(one, str) or (isinstance(one, Mapping) and _is_bare(one)) for one in returned)
    if not are_bare or None in calls or any(isinstance(one, Mapping) and _keeps_both(fields_of(one)) for one in listed):
        return []
    return [(call, unwrapped(output)) for call, output in zip(calls, returned, strict=True) if call is not None]


def _is_bare(value: Mapping[Any, Any]) -> bool:
    """Whether an object does not say of which call it is the return."""
    found = return_of(fields_of(value))
    return found is None or found.id is None


def _is_text(content: object) -> bool:
    """Whether content is all text: a part, or a list of parts of which none does anything else."""
    if isinstance(content, Mapping):
        return isinstance(content.get("text"), str) and call_of(fields_of(content)) is None
    return isinstance(content, list) and bool(content) and all(_is_text_part(part) for part in content)


def _is_text_part(part: object) -> bool:
    if isinstance(part, str):
        return True
    if not isinstance(part, Mapping):
        return False
    return isinstance(part.get("text"), str) and kind_of_part(fields_of(part)) in (*_TEXT_KINDS, "")


def _joined(content: object, role: Role | None) -> str:
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, Mapping) and part.get("thought") is True)]
    # What an agent says in parts is one text; what a user sends in parts are several.
    return text_of(content) if role == "user" else said_of(content)


def _in_order(fields: Fields) -> list[str]:
    """The keys as they are to be read: what was asked first, what came out last."""
    keys = [key for key in fields if key not in _ASIDE or (key == "tools" and _were_used(fields[key]))]
    return [
        *(key for key in keys if key in _FIRST),
        *(key for key in keys if key not in _FIRST and key not in _LAST),
        *(key for key in keys if key in _LAST),
    ]


def _were_used(tools: object) -> bool:
    """Whether tools are listed with what they returned, and not as they are offered."""
    return isinstance(tools, list) and any(isinstance(one, Mapping) and _keeps_both(fields_of(one)) for one in tools)


def _numbered_steps(value: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """The steps of an object that numbers its keys: ``tool_name_0``, ``tool_args_0``, ``observation_0``."""
    if not any(isinstance(key, str) and key.endswith("_0") for key in value):
        return []
    steps: dict[int, dict[str, Any]] = {}
    for key, inner in value.items():
        if isinstance(key, str) and (found := _NUMBERED.fullmatch(key)):
            steps.setdefault(int(found[2]), {})[found[1]] = inner
    return [steps[number] for number in sorted(steps)]
