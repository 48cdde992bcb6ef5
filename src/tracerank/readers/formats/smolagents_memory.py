"""The memory of smolagents: ``agent.memory.get_full_steps()``, a ``RunResult``, messages.

A tool-calling agent logs its calls; a code agent logs code, from which the calls are read with their literal arguments,
and what the code printed. What several calls of one step printed is told apart where the text itself says so (JSON,
headings, numbers that begin again, a line a call) or not at all.
"""

import ast
import builtins
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.formats.smolagents_messages import steps_of_messages
from tracerank.readers.results import Result
from tracerank.readers.returns import is_failure_text
from tracerank.readers.sources.loose_json import json_texts
from tracerank.readers.sources.record_fields import decoded, question_of, sample_id_of
from tracerank.readers.tools import (
    CallKind,
    ToolCall,
    is_underway,
    kind_by_words,
    kind_of_call,
    names_in_use,
    parse_arguments,
    queries_of,
    submitted_answer,
)
from tracerank.readers.values import plain_text

Bindings = dict[str, tuple[str, ...]]
"""What plain names stand for: one text, or those of a list."""

_MAX_CODE = 50_000
_MAX_CALLS = 200
_WRITTEN = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\(\s*(?:\w{1,20}\s*=\s*)?(?:\"([^\"\n]*)\"|'([^'\n]*)')")
_PARAMETERS: dict[CallKind, str] = {"search": "query", "open": "url", "find": "pattern", "other": "input"}


def calls_in_code(code: str, bindings: Bindings) -> tuple[ToolCall, ...]:
    """The calls in a piece of code that may be research, in its order; ``bindings`` learns what the code assigns."""
    tree = _parsed(code)
    if tree is None:
        written = _WRITTEN.finditer(code[:_MAX_CODE])
        listed = [call for found in written for call in _named_calls(found[1], (found[2] or found[3] or "",))]
        return tuple(listed[:_MAX_CALLS])
    calls: list[ToolCall] = []
    for node in _in_order(tree):
        if isinstance(node, ast.Assign) and (texts := _texts(node.value, bindings)):
            bindings.update((target.id, texts) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            if texts := _texts(node.iter, bindings):
                bindings[node.target.id] = texts
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(calls) < _MAX_CALLS:
            calls += _named_calls(node.func.id, _argument(node, bindings))
    return tuple(calls[:_MAX_CALLS])


def _parsed(code: str) -> ast.Module | None:
    if len(code) > _MAX_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the agent's code
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _in_order(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes in source order, a loop or generator before what stands inside; without recursion."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            children.sort(key=lambda child: not isinstance(child, ast.comprehension))
        todo += reversed(children)


def _argument(call: ast.Call, bindings: Bindings) -> tuple[str, ...]:
    """The texts that the call's first argument may stand for; empty: computed."""
    first = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
    return () if first is None else _texts(first, bindings)


def _texts(node: ast.expr, bindings: Bindings) -> tuple[str, ...]:
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) else ()
    if isinstance(node, ast.Name):
        return bindings.get(node.id, ())
    if isinstance(node, ast.JoinedStr):
        parts = [_part(value, bindings) for value in node.values]
        return () if None in parts else ("".join(part for part in parts if part),)
    if isinstance(node, ast.List | ast.Tuple):
        listed = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        return tuple(listed) if len(listed) == len(node.elts) else ()
    return ()


def _part(node: ast.expr, bindings: Bindings) -> str | None:
    """One part of a formatted text; None: computed, or one of many."""
    texts = _texts(node.value if isinstance(node, ast.FormattedValue) else node, bindings)
    return texts[0] if len(texts) == 1 else None


def _named_calls(name: str, texts: tuple[str, ...]) -> list[ToolCall]:
    """The calls of a tool, one for each text that a loop goes through."""
    if hasattr(builtins, name):
        return []
    kind = names_in_use().kind(name)
    if kind is None and texts:
        kind = kind_by_words(name, {"input": texts[0]})
        if kind == "other":  # what it returns may show that it searches
            return [ToolCall(name, {"input": text}) for text in texts]
    if kind is None or kind == "other":
        return []
    return [ToolCall(name, {_PARAMETERS[kind]: text}, kind=kind) for text in texts] or [ToolCall(name, kind=kind)]


_STEP_FIELDS = ("steps", "full_steps", "memory", "memory_steps")
_CODE_FIELDS = ("code_action", "tool_calls", "action_output", "model_output")
_LOGS, _LAST_OUTPUT = "Execution logs:\n", "Last output from code snippet:\n"
_HEADING = re.compile(r"^## Search Results[ \t]*$", re.M)
_FIRST_MARK = re.compile(r"[ \t#>*-]{0,8}(?:\[[01]\]|[01][.)] |(?:document|doc|result|passage|source) ?#?[01]\b)", re.I)
"""How the first of several results is numbered; behind it, the next return begins the same way."""
_LINE_BREAK = re.compile(r"\n")
_INTERPRETERS = ("python_interpreter", "python")


class SmolagentsReader:
    """One rollout a record: the steps of one run."""

    name = "smolagents"

    def recognises(self, record: Record) -> bool:
        """By numbered steps that say what the agent did."""
        if not isinstance(record, Mapping):
            return False
        steps = _steps(record)
        is_memory = steps is not None and any(_is_action(step) for step in steps)
        return is_memory or steps_of_messages(record) is not None

    def parse(self, record: Record, source: str) -> Parsed:
        """The run as a rollout; the answer is the output of the step that ended it."""
        plain = decoded(record)
        from_messages = steps_of_messages(plain)
        steps = from_messages or _steps(plain)
        if steps is None:
            reason = f"no steps that can be read: expected a list in one of {', '.join(_STEP_FIELDS)}"
            reject(reason, question_of(plain), sample_id_of(plain))
        tasks = [step["task"] for step in steps if isinstance(step, Mapping) and isinstance(step.get("task"), str)]
        asked = tasks[-1] if tasks else None
        actions = [_with_code(step) for step in steps if isinstance(step, Mapping) and "step_number" in step]
        # Beside messages, the prediction is the answer as the agent put it last.
        noted = plain_text(plain.get("prediction")) if from_messages else None
        dialogue = Dialogue(tuple(_calls(actions)), asked, noted or _final(plain, actions))
        # The run's 'output' is the agent's; everything else is in the steps.
        aside = {*_STEP_FIELDS, "intermediate_steps", "output", "prompt", "input", "task"}
        aside |= {"messages"} if from_messages else set()
        fields = {key: value for key, value in plain.items() if key not in aside}
        return parsed_dialogue(fields, source, dialogue)


def _steps(record: Record) -> list[Any] | None:
    for name in _STEP_FIELDS:
        value = record.get(name)
        if isinstance(value, Mapping):
            value = value.get("steps")
        if isinstance(value, list) and any(isinstance(step, Mapping) for step in value):
            return value
    return None


def _with_code(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """A step with the code that it ran, which older versions keep as what the interpreter was given."""
    calls = step.get("tool_calls")
    if step.get("code_action") is not None or not isinstance(calls, list):
        return step
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if isinstance(function, Mapping) and function.get("name") in _INTERPRETERS:
            code = function.get("arguments")
            return {**step, "code_action": code} if isinstance(code, str) else step
    return step


def _is_action(step: object) -> bool:
    return isinstance(step, Mapping) and "step_number" in step and any(name in step for name in _CODE_FIELDS)


def _final(record: Record, actions: Sequence[Mapping[str, Any]]) -> str | None:
    """The output of the last step that gave one; a run that reached its limit is asked for an answer once more."""
    for step in reversed(actions):
        error = step.get("error")
        is_forced = isinstance(error, Mapping) and error.get("type") == "AgentMaxStepsError"
        if step.get("is_final_answer") is True or is_forced:
            # Tool-calling agents leave the output of this step empty.
            handed_in = (answer for call in _tool_calls(step) if (answer := submitted_answer(call)) is not None)
            return _said(step.get("action_output")) or _said(record.get("output")) or next(handed_in, None)
    return _said(record.get("output"))


def _said(output: object) -> str | None:
    if isinstance(output, Mapping):
        output = next((output[key] for key in ("answer", "final_answer", "content") if key in output), None)
    if isinstance(output, list):
        return ", ".join(text for item in output if (text := _said(item))) or None
    return str(output).lower() if isinstance(output, bool) else plain_text(output)


# ---- calls and what they printed


def _calls(actions: Sequence[Mapping[str, Any]]) -> Iterator[ToolCall]:
    bindings: Bindings = {}
    for step in actions:
        code = step.get("code_action")
        made = calls_in_code(code, bindings) if isinstance(code, str) else tuple(_tool_calls(step))
        research = [call for call in made if _kind(call) != "other"]
        research = research or [call for call in made if is_underway(call.name, call.arguments)]
        seen = _seen(step)
        yield from _with_returns(research, seen, are_lines=code is None) if seen else research


def _kind(call: ToolCall) -> str:
    return call.kind or kind_of_call(call.name, call.arguments)


def _tool_calls(step: Mapping[str, Any]) -> Iterator[ToolCall]:
    listed = step.get("tool_calls")
    message = step.get("model_output_message")
    if not listed and isinstance(message, Mapping):  # a tool that raised leaves only what the model said
        listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        fields = function if isinstance(function, Mapping) else call
        if isinstance(fields, Mapping) and isinstance(name := fields.get("name"), str) and name not in _INTERPRETERS:
            yield ToolCall(name, parse_arguments(fields.get("arguments")))


def _seen(step: Mapping[str, Any]) -> str:
    """What a step showed the agent; the value of its last line only where that is not its answer."""
    text = step.get("observations")
    if not isinstance(text, str):
        return ""
    if isinstance(step.get("code_action"), str):
        printed, label, value = text.removeprefix(_LOGS).rpartition(_LAST_OUTPUT)
        if label:
            is_result = step.get("is_final_answer") is not True and value.strip() not in ("None", printed.strip())
            text = f"{printed}{value}" if is_result else printed
    return text.strip()


def _with_returns(calls: Sequence[ToolCall], seen: str, *, are_lines: bool) -> Iterator[ToolCall]:
    """The calls of one step with their returns, as far as the joined text can be divided."""
    if len(calls) <= 1:
        yield from (replace(call, output=seen) for call in calls)
        return
    are_searches = all(_kind(call) == "search" for call in calls)
    are_unknown = all(_kind(call) == "other" for call in calls)
    parts = _divided(seen, len(calls), are_lines) if are_searches or are_unknown else None
    if parts is not None:
        yield from (replace(call, output=part) for call, part in zip(calls, parts, strict=True))
    elif are_unknown:  # what it lists says whether they are searches
        yield replace(calls[0], output=seen)
        yield from calls[1:]
    elif are_searches:
        queries = [query for call in calls for query in queries_of(call.arguments)]
        yield ToolCall(calls[0].name, {"queries": queries}, seen, kind="search")
    else:
        # The text may be any of theirs: it keeps no address, so that no page speaks for another.
        shown = () if is_failure_text(seen) else (Result(seen, rank=1),)
        first = next((index for index, call in enumerate(calls) if _kind(call) == "search"), 0)
        yield from (replace(call, results=shown if index == first else ()) for index, call in enumerate(calls))


def _divided(seen: str, count: int, are_lines: bool) -> list[str] | None:
    """What each of several calls returned, where the joined text lets it be told; None: it does not.

    The library joins returns of calls by line breaks, so that as many lines as calls are a return each; code prints
    what it likes.
    """
    lines = seen.split("\n")
    if are_lines and len(lines) == count:
        return lines
    values = json_texts(seen)
    if values is not None:
        return values if len(values) == count else None
    first = _HEADING.match(seen) or _FIRST_MARK.match(seen)
    if first is None:
        return None
    starts = [at for at in _line_starts(seen) if seen.startswith(first[0], at)]
    if len(starts) != count:
        return None
    return [seen[start:end].strip() for start, end in zip(starts, [*starts[1:], len(seen)], strict=True)]


def _line_starts(text: str) -> Iterator[int]:
    yield 0
    yield from (found.end() for found in _LINE_BREAK.finditer(text))
