"""DSPy: a call of a language model in its history, the inputs and outputs in text between ``[[ ## name ## ]]`` marks.

The last call of a ReAct agent repeats all steps, so it is the whole run; ``runs/model_calls.py`` leaves out those
that it goes on with. Marks count only where they stand alone in a line, and steps only in their order.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.runs.model_calls import NEXT_TOOL, inputs_text, marked, output_text
from tracerank.readers.sources.loose_json import NOT_JSON, load_json, load_literal
from tracerank.readers.sources.record_fields import question_of, sample_id_of
from tracerank.readers.tools import ToolCall, parse_arguments

_MARK = re.compile(r"^\[\[ ## (\w{1,80}) ## \]\][ \t]*$", re.M)
_STEP = re.compile(r"(thought|tool_name|tool_args|observation)_(\d{1,4})")
_ITEM = re.compile(r"^\[(\d{1,4})\] «(?:««)?", re.M)
_TRAJECTORY = "trajectory"
_NOT_ASKED = (_TRAJECTORY, "history", "context", "tools")
_NOT_SAID = ("reasoning", "rationale", "completed", "thought", "next_thought")
_ANSWERS = ("answer", "final_answer", "response", "output")
_DROPPED = ("messages", "outputs", "prompt", "response", "kwargs", "model", "uuid", "usage")


class DSPyReader:
    """One rollout a call of the model that ends a run."""

    name = "dspy"

    def recognises(self, record: Record) -> bool:
        """By inputs between marks, beside outputs."""
        if not isinstance(record, Mapping) or not isinstance(record.get("outputs"), list):
            return False
        return isinstance(record.get("messages"), list) and _MARK.search(inputs_text(record)) is not None

    def parse(self, record: Record, source: str) -> Parsed:
        """The question, the steps and the answer."""
        inputs = _fields(inputs_text(record))
        fields = {name: value for name, value in record.items() if name not in _DROPPED}
        question = question_of(fields, _asked(inputs))
        said = output_text(record)
        if NEXT_TOOL in said:
            reject("the run breaks off: its last call of the model goes on with a tool", question, sample_id_of(fields))
        calls = tuple(_calls(inputs))
        return parsed_dialogue(fields, source, Dialogue(calls, final=_answer(said)), question=question)


def _fields(text: str) -> dict[str, str]:
    """What stands below each mark; the steps of a trajectory only in their order."""
    believed: list[re.Match[str]] = []
    expected = [("thought", 0), ("tool_name", 0)]
    for mark in _MARK.finditer(text):
        step = _STEP.fullmatch(mark[1])
        if step is not None:
            kind, number = step[1], int(step[2])
            if (kind, number) not in expected:
                continue
            expected = _after(kind, number)
        elif believed and _STEP.fullmatch(believed[-1][1]):
            continue  # inside a step: the page's own
        believed.append(mark)
    ends = [*(mark.start() for mark in believed[1:]), len(text)]
    return {mark[1]: text[mark.end() : end] for mark, end in zip(believed, ends, strict=False)}


def _after(kind: str, number: int) -> list[tuple[str, int]]:
    following = {"thought": "tool_name", "tool_name": "tool_args", "tool_args": "observation"}.get(kind)
    return [(following, number)] if following else [("thought", number + 1), ("tool_name", number + 1)]


def _asked(inputs: Mapping[str, str]) -> str | None:
    stated = next(
        (inputs[name] for name in ("question", "query", "problem", "task") if inputs.get(name, "").strip()), None
    )
    own = (text for name, text in inputs.items() if name not in _NOT_ASKED and not _STEP.fullmatch(name))
    return stated or next((text for text in own if text.strip()), None)


def _calls(inputs: Mapping[str, str]) -> Iterator[ToolCall]:
    number = 0
    while (name := inputs.get(f"tool_name_{number}")) is not None:
        if name.strip() != "finish":
            arguments = parse_arguments(inputs.get(f"tool_args_{number}", "").strip())
            yield ToolCall(name.strip(), arguments, _observed(inputs.get(f"observation_{number}", "").strip()))
        number += 1


def _observed(text: str) -> object:
    """What a tool returned; a list is written as ``[1] «item»`` lines."""
    marks = list(_ITEM.finditer(text))
    if not marks or marks[0].start() or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return text
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [_value(text[mark.end() : end].strip().rstrip("»")) for mark, end in zip(marks, ends, strict=True)]


def _value(text: str) -> Any:
    bare = text.strip()
    for load in (load_json, load_literal):
        if bare[:1] in ("{", "[") and (found := load(bare)) is not NOT_JSON:
            return found
    return bare


def _answer(said: str) -> str | None:
    """The last field that is no reasoning; outputs may be JSON instead of marks."""
    found: Mapping[str, Any] = _fields(marked(said))
    if not found:
        whole = load_json(said) if said.lstrip()[:1] == "{" else None
        found = whole if isinstance(whole, Mapping) else {}
    told = {name: value for name, value in found.items() if name not in _NOT_SAID and str(value or "").strip()}
    if not told:
        return said or None if not found else None
    value = next((told[name] for name in _ANSWERS if name in told), None) or list(told.values())[-1]
    return value if isinstance(value, str) else str(value)
