"""What stands between the marks of a written tool call: JSON, parameters in tags, pairs of keys, a line of Python.

Knows neither marks nor tools: a text goes in, names and arguments come out, and a name that is missing is "". Nothing
is evaluated, nothing raises, and work is bounded: texts of models are hostile input.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tracerank.readers.sources.loose_json import load_loosely
from tracerank.readers.tools import ToolCall, parse_arguments

NAME_KEYS = ("name", "tool_name", "tool", "function", "function_name", "action", "recipient_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs")
_AROUND = ("function", "tool_call", "function_call", "call")
_LISTS = ("tool_calls", "calls", "tool_uses", "actions")
_BESIDE = frozenset(("type", "id", "tool_call_id", "description", "reason", "reasoning", "thought", *NAME_KEYS))
"""Keys of a call that are none of its arguments."""

_SCHEMA = frozenset(("properties", "required", "type", "description", "additionalproperties"))

_DECODER = json.JSONDecoder(strict=False)  # line ends inside strings are what models write
_MAX_VALUES = 32
"""JSON values that are looked for in one text."""
_MAX_DEPTH = 4
_MAX_PYTHON = 20_000
_OPENING = re.compile(r"[{\[]")
_PARAMETER = re.compile(r"<(?:[\w|｜]{1,20}[:|｜])?parameter(?:=| name=\\?\"?)([^<>\n\"\\]{1,100})\\?\"?[^<>\n]{0,60}>")
_ARGUMENT_KEY = re.compile(r"<arg_key>([^<>\n]{1,100})</arg_key>\s*<arg_value>")
_END_OF_PARAMETER = re.compile(r"</(?:[\w|｜]{1,20}[:|｜])?parameter>")
_END_OF_VALUE = re.compile("</arg_value>")
_NAME_TAG = re.compile(r"<((?:tool_|function_)?name)>\s*+([^<>\n]{1,200}?)\s*</\1>")
_ARGUMENTS_TAG = re.compile(r"<(arguments|parameters|args|input)>")
_CHILD = re.compile(r"<([A-Za-z_]\w{0,60})>")
_CALLED = re.compile(r"([A-Za-z_][\w.]{0,80})\(")
_QUOTE_MARK = re.compile(r"<\|\\?\"\|>|<escape>")
_NO_NAME = re.compile(r"<[|｜][^|｜<>\n]{1,60}[|｜]>|\[(?:ARGS|CALL_ID)\]|```\w{0,12}|[\s>*\"']+|`")
_CALL_ID = re.compile(r"\[CALL_ID\]\w{0,64}")
_COUNTED = re.compile(r":\d{1,6}\Z")
_IS_NAME = re.compile(r"[A-Za-z_][\w./:-]{0,100}")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def body_calls(inner: str, name: str = "", *, plain: bool = True) -> list[ToolCall]:
    """The calls of a text between marks; ``name`` where a mark tells it, ``plain``: words alone may be arguments."""
    if first := _ARGUMENT_KEY.search(inner):
        return [made(name or inner[: first.start()], _pairs(inner, _ARGUMENT_KEY, _END_OF_VALUE))]
    if _PARAMETER.search(inner):
        return [made(name, _pairs(inner, _PARAMETER, _END_OF_PARAMETER))]
    inner = _QUOTE_MARK.sub('"', inner)
    if named := _NAME_TAG.search(inner):
        call = made(named[2], _tagged_arguments(inner[named.end() :]))
        return [] if "properties" in call.arguments else [call]  # a tool's own description, said again
    if found := list(json_calls(inner, name)):
        return found
    if not name and (called := list(python_calls(inner))):
        return called
    if name and (children := _children(inner)):
        return [made(name, children)]
    return [made(name, inner.partition("<|")[0].strip())] if name and plain else []


def made(name: str, arguments: object) -> ToolCall:
    """A call of a name and of what stands for its arguments."""
    # Some tools spell their parameters with capitals; the keys that tell what a call does are lower case.
    given = {key.lower(): value for key, value in parse_arguments(arguments).items()} if arguments else {}
    return ToolCall(name.strip(), given)


# ---- JSON


class Value(NamedTuple):
    """A JSON value in a text."""

    value: Any
    start: int
    end: int


def json_values(text: str) -> Iterator[Value]:
    """Objects and lists in order, the outermost only; one that is damaged is read loosely and is the last."""
    at = 0
    for _ in range(_MAX_VALUES):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        start = opening.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            if text[start] == "{" and (loose := load_loosely(text[start:])):
                yield Value(loose, start, len(text))
                return
            continue
        yield Value(value, start, at)


def json_calls(text: str, name: str = "") -> Iterator[ToolCall]:
    """The calls that the JSON in a text says; a name before a value is the name of one that has none."""
    before = 0
    for found in json_values(text):
        hint = "" if name else name_before(text[before : found.start])
        before = found.end
        yield from value_calls(found.value, name, hint)


def value_calls(value: object, name: str = "", hint: str = "", depth: int = 0) -> Iterator[ToolCall]:
    """The calls that a JSON value says: an object, a list of them, or such a list under a key.

    ``name`` is what a mark says, ``hint`` what stood before the value and counts only where the value has no name.
    """
    if isinstance(value, list) and depth < _MAX_DEPTH:
        for item in value:
            yield from value_calls(item, name, hint, depth + 1)
    if not isinstance(value, Mapping):
        return
    fields: Mapping[str, Any] = value
    for key in _LISTS:
        if isinstance(fields.get(key), list):
            yield from value_calls(fields[key], name, hint, depth + 1)
            return
    for key in _AROUND:
        if isinstance(inside := fields.get(key), Mapping):
            fields = inside
    said = next((said for key in NAME_KEYS if isinstance(said := fields.get(key), str) and said.strip()), "")
    key_of_arguments = next((key for key in ARGUMENT_KEYS if key in fields), None)
    if not said or (name and key_of_arguments is None):
        yield from _unnamed(fields, name or hint)
        return
    given: object = fields[key_of_arguments] if key_of_arguments else None
    if key_of_arguments is None:
        given = {key: part for key, part in fields.items() if key not in _BESIDE}
    if isinstance(given, Mapping) and isinstance(given.get("properties"), Mapping):
        given = _without_schema(given)
        if not given:
            return
    yield made(said, given)


def _without_schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in a tool's own description that was said again: beside it, or where its descriptions were."""
    beside = {key: part for key, part in given.items() if key not in _SCHEMA}
    return beside or {key: part for key, part in given["properties"].items() if not isinstance(part, Mapping)}


def _unnamed(fields: Mapping[str, Any], name: str) -> Iterator[ToolCall]:
    """An object that does not name its tool: arguments of the tool named elsewhere, or ``{"search": {…}}``."""
    only = next(iter(fields.items())) if len(fields) == 1 else None
    if name:
        is_wrapped = only is not None and only[0] in ARGUMENT_KEYS and isinstance(only[1], Mapping)
        yield made(name, only[1] if only is not None and is_wrapped else dict(fields))
    elif only is not None and isinstance(only[1], Mapping):
        yield made(str(only[0]), only[1])


def name_before(head: str) -> str:
    """The name right before the arguments: ``search``, ``functions.search:0``, ``function<sep>search``."""
    parts = [part for part in _NO_NAME.split(_CALL_ID.sub("", head)[-300:]) if part]
    last = _COUNTED.sub("", parts[-1].removeprefix("call:")).rstrip(":") if parts else ""
    return last if _IS_NAME.fullmatch(last) else ""


# ---- Python


def python_calls(text: str) -> Iterator[ToolCall]:
    """``search(query="…")``, alone, in a list or printed."""
    at = 0
    for _ in range(_MAX_VALUES):
        if (found := _CALLED.search(text, at)) is None:
            return
        at = found.end()
        if found[1] != "print":
            yield python_call(text, found[1], at)
            at = _closing(text, at)


def python_call(text: str, name: str, start: int) -> ToolCall:
    """The call of this name whose arguments begin at ``start``, right behind the bracket."""
    inner = text[start : _closing(text, start)].strip()
    return made(name.removesuffix(".call"), _python_arguments(inner))


def _python_arguments(inner: str) -> object:
    if not inner or inner[0] in "{[":
        return inner
    try:
        call = ast.parse(f"_({inner[:_MAX_PYTHON]})", mode="eval").body  # parsed, never run
        if isinstance(call, ast.Call):
            given = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
            if call.args:
                given = {"input": ast.literal_eval(call.args[0]), **given}
            return given
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        pass
    return load_loosely(inner) or {"input": inner.strip("\"'")}


def _closing(text: str, start: int) -> int:
    """Where the bracket that was opened before ``start`` closes; the end of the line without that."""
    waiting = [")"]
    quote = ""
    at = start
    while at < min(len(text), start + _MAX_PYTHON):
        sign = text[at]
        if quote:
            if sign == "\\":
                at += 1
            elif sign == quote:
                quote = ""
        elif sign in "\"'":
            quote = sign
        elif sign in _BRACKETS:
            waiting.append(_BRACKETS[sign])
        elif sign == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at
        at += 1
    line = text.find("\n", start)
    return line if line >= 0 else len(text)


# ---- tags


def _pairs(text: str, key: re.Pattern[str], end: re.Pattern[str]) -> dict[str, str]:
    """The values behind the keys, each up to its end or to the next key."""
    keys = list(key.finditer(text))
    stops = [*(found.start() for found in keys[1:]), len(text)]
    values = (end.split(text[found.end() : stop], 1)[0] for found, stop in zip(keys, stops, strict=True))
    return {found[1].strip(): value.strip() for found, value in zip(keys, values, strict=True)}


def _tagged_arguments(text: str) -> object:
    found = _ARGUMENTS_TAG.search(text)
    inner = text if found is None else text[found.end() :].partition(f"</{found[1]}>")[0]
    return inner if "{" in inner else _children(inner)


def _children(text: str) -> dict[str, str]:
    """``<query>…</query>`` and its like, side by side."""
    found: dict[str, str] = {}
    at = 0
    for _ in range(_MAX_VALUES):
        if (tag := _CHILD.search(text, at)) is None:
            break
        end = text.find(f"</{tag[1]}>", tag.end())
        at = tag.end() if end < 0 else end
        if end >= 0:
            found.setdefault(tag[1], text[tag.end() : end].strip())
    return found
