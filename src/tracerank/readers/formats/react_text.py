"""The grammar of ReAct transcripts: Thought, Action and Observation marks at the beginnings of lines.

A page may hold such marks, too. Inside an observation only the agent's next thought is believed, with the next number
where turns are numbered; an answer counts only when nothing was researched after it. Messages with roles leave no such
doubt. Every step is linear in the length of the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.readers.calls.record_fields import Dialogue
from tracerank.readers.calls.tool_calls import ToolCall, kind_of_call, parse_arguments, submitted_answer
from tracerank.readers.calls.tool_names import TOOL_NAMES
from tracerank.readers.files.loose_json import load_loosely
from tracerank.readers.values import cleaned, text_of

REACT_NAMES = TOOL_NAMES.extended(search=("search", "retrieve"), find=("lookup",))
"""The tools of the question-answering agents that write ReAct text."""

_MARK = re.compile(
    r"^[ \t>]{0,4}\*{0,2}(Thought|ActionPath|Action Input|Action|Observation|Final Answer)(?:[ \t](\d{1,3}))?"
    r"\*{0,2}[ \t]*:\*{0,2}[ \t]*",
    re.M,
)
_BRACKETS = re.compile(r"([A-Za-z][\w.-]{0,40}(?: \w{1,20})?)[ \t]*\[")
_PARENTHESES = re.compile(r"([A-Za-z][\w.-]{0,40})\(([^\n]*)\)[ \t]*(?:\n|\Z)")
_NAME_KEYS = ("action", "name", "tool", "tool_name", "function")
_INPUT_KEYS = ("action_input", "arguments", "tool_input", "args", "input", "parameters")


def is_react(text: str) -> bool:
    """Whether a text holds at least one action and what came of it."""
    if "Action" not in text:
        return False
    kinds = {mark[1] for mark in _MARK.finditer(text)}
    ended = "Observation" in kinds or "Final Answer" in kinds or "inish[" in text
    return "Action" in kinds and ended


class _Turns:
    """What the agent has done so far, one action a turn: environments carry out the first and stop there."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.final: str | None = None
        self.is_waiting = False  # an action was taken whose observation is to come

    def act(self, call: ToolCall) -> None:
        if self.is_waiting:
            return
        self.is_waiting = True
        answer = submitted_answer(call)
        if answer is not None:
            self.final = answer
        elif kind_of_call(call.name, call.arguments, REACT_NAMES) != "other":
            self.final = None
        self.calls.append(call)

    def observe(self, text: str) -> None:
        if self.is_waiting:
            self.calls[-1] = replace(self.calls[-1], output=text.strip())
        self.is_waiting = False

    def answer(self, text: str) -> None:
        if not self.is_waiting and text.strip():
            self.final = text.strip()

    def dialogue(self, asked: str | None) -> Dialogue:
        return Dialogue(tuple(self.calls), asked, self.final)


def read_text(text: str, asked: str | None) -> Dialogue:
    """The turns of one text from which the prompt has been cut."""
    turns = _Turns()
    marks = list(_believed(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    bodies = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=False)]
    number: str | None = None
    for place, (mark, body) in enumerate(zip(marks, bodies, strict=False)):
        if mark[1] == "Action":
            if mark[2] != number:  # the environment said nothing to the turn before
                turns.is_waiting = False
            number = mark[2]
            has_input = place + 1 < len(marks) and marks[place + 1][1] == "Action Input"
            turns.act(_call(body, bodies[place + 1] if has_input else None))
        elif mark[1] == "Observation":
            turns.observe(body)
        elif mark[1] == "Final Answer":
            turns.answer(body)
    return turns.dialogue(asked)


def read_messages(messages: Sequence[object], asked: str | None) -> Dialogue:
    """The turns of chat messages: actions in the assistant's, observations in the others."""
    turns = _Turns()
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        text = text_of(message.get("content", message.get("value")))
        if cleaned(message.get("role", message.get("from"))) not in ("assistant", "gpt", "ai"):
            turns.observe(_without_mark(text))
            continue
        turns.is_waiting = False
        said = read_text(text, None)
        for call in said.calls[:1]:
            turns.act(replace(call, output=None))
        if not said.calls and said.final is not None:
            turns.answer(said.final)
    return turns.dialogue(asked)


def _without_mark(text: str) -> str:
    mark = _MARK.match(text.lstrip())
    return text.lstrip()[mark.end() :] if mark and mark[1] == "Observation" else text


def _believed(text: str) -> Iterator[re.Match[str]]:
    """The marks that the agent and its environment wrote, as far as the text tells."""
    marks = list(_MARK.finditer(text))
    first = next((mark for mark in marks if mark[1] == "Action"), None)
    is_numbered = first is not None and first[2] is not None
    agent_begins = {"Thought", "ActionPath"} if marks and marks[0] is not first else {"Action"}
    in_page, has_acted, number = False, False, 0
    for mark in marks:
        kind = mark[1]
        if kind != "Final Answer" and (mark[2] is not None) != is_numbered:
            continue
        if in_page and (kind not in agent_begins or (is_numbered and int(mark[2]) != number + 1)):
            continue
        if kind == "Observation" and not has_acted:
            continue
        in_page = kind == "Observation"
        has_acted = kind in ("Action", "Action Input") or (has_acted and not in_page)
        if kind == "Action" and is_numbered:
            number = int(mark[2])
        yield mark


def _call(body: str, given: str | None) -> ToolCall:
    """An action as a call: ``search[query]``, ``search(query)``, JSON, or a name with its input on another line."""
    bare = body.strip().removeprefix("```json").removeprefix("```").strip()
    if bare.startswith("{"):
        fields = load_loosely(bare)
        name = next((value for key in _NAME_KEYS if isinstance(value := fields.get(key), str)), "")
        value = next((fields[key] for key in _INPUT_KEYS if key in fields), None)
        return ToolCall(name, parse_arguments(value))
    line, _, rest = bare.partition("\n")
    if given is None and (found := _BRACKETS.match(line)):
        # The last bracket of the line closes: titles hold brackets of their own.
        inner = line[found.end() :]
        argument, closed, _ = inner.rpartition("]")
        if not closed:
            argument = inner if "]" not in rest else f"{inner}\n{rest.partition(']')[0]}"
        return ToolCall(found[1], _input(argument))
    if given is None and (found := _PARENTHESES.match(line)):
        return ToolCall(found[1], parse_arguments(found[2].strip().strip("\"'")))
    return ToolCall(line.strip().strip("*`"), parse_arguments(_unquoted(given or "")))


def _input(argument: str) -> dict[str, Any]:
    return {"input": argument.strip()} if argument.strip() else {}


def _unquoted(text: str) -> str:
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'`" else bare
