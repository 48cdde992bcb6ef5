"""The messages that smolagents makes of its memory, as ``write_memory_to_messages`` gives them, back to its steps.

Calls are printed into a message, ``Calling tools: [{'id': …}]``, and what came of them into the next, ``Observation:``
or ``Error:``, several returns in one. A tool that raised leaves no call but in the words of its error. The steps are
read in ``smolagents_memory.py``.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.sources.loose_json import load_literal
from tracerank.readers.values import cleaned, said_of

_FIELDS = ("messages", "intermediate_steps", "events", "memory", "steps", "history")
_TASK = "New task:\n"
_CALLING = re.compile(r"\s*Calling tools:\s*(?=\[)")
_RETURNED = re.compile(r"\s*+(?:Call id: \S{1,200}+\s*+)?+(Observation|Error):[ \t]*\n?")
_RAISED = re.compile(r"Error executing tool '([\w.-]{1,100})' with arguments (?=\{)")
_CALLERS, _HEARERS = ("tool-call", "tool_call", "assistant"), ("tool-response", "tool_response", "user")
_MAX_ERROR = 2000
_LAST_OUTPUT = "Last output from code snippet:\n"
_HANDS_IN = re.compile(r"(?:^|[^\w.])final_answer\(")


def steps_of_messages(record: Record) -> list[dict[str, Any]] | None:
    """The steps that messages in the record tell of; None: there are no such messages."""
    for name in _FIELDS:
        listed = record.get(name)
        if isinstance(listed, list) and any(map(_calls_tools, listed)):
            return list(_steps(listed))
    return None


def _calls_tools(message: object) -> bool:
    role = _role(message)
    if role in _CALLERS:
        return _CALLING.match(_words(message)) is not None
    return role in _HEARERS[:2] and _RAISED.search(_words(message)[:_MAX_ERROR]) is not None


def _role(message: object) -> str:
    return cleaned(message.get("role")) if isinstance(message, Mapping) else ""


def _words(message: object) -> str:
    return said_of(message.get("content")) if isinstance(message, Mapping) else ""


def _steps(messages: list[Any]) -> Iterator[dict[str, Any]]:
    step: dict[str, Any] | None = None
    number = 0
    for index, message in enumerate(messages):
        role, text = _role(message), _words(message)
        if role == "user" and text.startswith(_TASK):
            yield {"task": text.removeprefix(_TASK)}
        elif role in _CALLERS and (calling := _CALLING.match(text)):
            if step is not None:
                yield step  # nothing came back
            number += 1
            step = {"step_number": number, "tool_calls": load_literal(text[calling.end() :])}
        elif role in _HEARERS and (returned := _RETURNED.match(text)):
            step = step if step is not None else _raised(text, number + 1)
            if step is not None:
                number = step["step_number"]
                yield _ended(step, text[returned.end() :], is_error=returned[1] == "Error")
            step = None
        elif role == "assistant" and index == len(messages) - 1 and text.strip():
            # An agent that reached its limit is asked for an answer once more.
            yield {"step_number": number + 1, "model_output": text, "is_final_answer": True, "action_output": text}
    if step is not None:
        yield _ended(step, "", is_error=False)


def _raised(text: str, number: int) -> dict[str, Any] | None:
    """The step of a call that is told only by its error."""
    found = _RAISED.search(text)
    if found is None:
        return None
    printed, colon, _ = text[found.end() :].partition("}: ")
    arguments = load_literal(f"{printed}}}") if colon else None
    return {
        "step_number": number,
        "tool_calls": [{"name": found[1], "arguments": arguments if isinstance(arguments, dict) else {}}],
    }


def _ended(step: dict[str, Any], returned: str, *, is_error: bool) -> dict[str, Any]:
    """A step with what it returned; whether it hands in the answer, its calls say."""
    if is_error:
        return step  # a call that returned nothing
    calls = step["tool_calls"] if isinstance(step["tool_calls"], list) else []
    functions = [call.get("function", call) for call in calls if isinstance(call, Mapping)]
    given = [function.get("arguments") for function in functions if isinstance(function, Mapping)]
    names = [function.get("name") for function in functions if isinstance(function, Mapping)]
    by_code = any(isinstance(code, str) and _HANDS_IN.search(code) for code in given)
    _, label, output = returned.rpartition(_LAST_OUTPUT)
    return {
        **step,
        "observations": returned,
        "is_final_answer": by_code or "final_answer" in names,
        "action_output": output if by_code and label else None,
    }
