"""Tool calls that agents write into their text, and the returns that stand in tags: the dialects of open models.

``<tool_call>`` around JSON, ``<function=…><parameter=…>`` or ``<arg_key>`` pairs, the bare ``<function=…>``, and
``<use_mcp_tool>``. Only the agent's own messages may be given to ``written_calls``: a page may hold such tags, too.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.calls.tool_calls import ToolCall, parse_arguments
from tracerank.readers.files.loose_json import NOT_JSON, load_json, load_loosely

CALL_TAGS = ("<tool_call>", "<function=", "<use_mcp_tool>")
RETURN_TAG = "<tool_response>"

_CALL = re.compile(r"<(tool_call|use_mcp_tool)>|<function=([^<>\n]{1,200})>")
_ENDS = {"tool_call": "</tool_call>", "use_mcp_tool": "</use_mcp_tool>", None: "</function>"}
_FUNCTION = re.compile(r"\s*<function=([^<>\n]{1,200})>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]{1,100})>")
_ARGUMENT_KEY = re.compile(r"<arg_key>([^<>\n]{1,100})</arg_key>\s*<arg_value>")
_NAME_KEYS = ("name", "tool_name", "tool", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_BETWEEN_RETURNS = re.compile(r"</tool_response>\s*<tool_response>")


def written_calls(text: str) -> tuple[ToolCall, ...]:
    """The calls of an agent's message in order; those that it only thinks about are not made."""
    thought, _, said = text.rpartition("</think>")
    return tuple(_calls(said if said.strip() or not thought else text))


def spoken(text: str) -> str:
    """An agent's message without its thinking and without its calls."""
    said = text.rpartition("</think>")[2]
    first = _CALL.search(said)
    return said if first is None else said[: first.start()]


def tagged_returns(text: str, count: int) -> list[str]:
    """What a message returns to so many waiting calls; empty when it cannot be told which text is whose."""
    start = text.find(RETURN_TAG)
    if start < 0:
        return [text.strip()]
    body = text[start + len(RETURN_TAG) :]
    # Tags inside a return belong to a page: the last one closes.
    whole, closed, rest = body.rpartition("</tool_response>")
    if not closed or rest.lstrip().startswith(RETURN_TAG):
        whole = body
    if count == 1:
        return [whole.strip()]
    parts = [part.strip() for part in _BETWEEN_RETURNS.split(whole)]
    return parts if len(parts) <= count else []


def _calls(text: str) -> Iterator[ToolCall]:
    at = 0
    missing: set[str] = set()  # looked for once, so that many open tags stay linear
    while found := _CALL.search(text, at):
        mark = _ENDS[found[1]]
        end = -1 if mark in missing else text.find(mark, found.end())
        if end < 0:  # serving stacks cut the mark at which they stop
            missing.add(mark)
            following = _CALL.search(text, found.end()) if found[1] != "tool_call" else None
            end = at = following.start() if following else len(text)
        else:
            at = end + len(mark)
        inner = text[found.end() : end]
        if found[1] == "use_mcp_tool":
            yield _mcp_call(inner)
        else:
            yield _function(found[2], inner) if found[1] is None else _tool_call(inner)


def _tool_call(inner: str) -> ToolCall:
    if function := _FUNCTION.match(inner):
        return _function(function[1], inner[function.end() :])
    if first := _ARGUMENT_KEY.search(inner):
        return _made(inner[: first.start()], _pairs(inner, _ARGUMENT_KEY, "</arg_value>"))
    value = load_json(inner.strip())
    fields: Mapping[str, Any] = value if value is not NOT_JSON and isinstance(value, Mapping) else load_loosely(inner)
    inside = fields.get("function")
    if isinstance(inside, Mapping):
        fields = inside
    name = next((name for key in _NAME_KEYS if isinstance(name := fields.get(key), str)), "")
    return _made(name, next((fields[key] for key in _ARGUMENT_KEYS if key in fields), None))


def _function(name: str, inner: str) -> ToolCall:
    return _made(name, _pairs(inner, _PARAMETER, "</parameter>"))


def _mcp_call(inner: str) -> ToolCall:
    at = inner.find("<arguments>")
    head, raw = (inner, "") if at < 0 else (inner[:at], inner[at + len("<arguments>") :])
    name = head.partition("<tool_name>")[2].partition("</tool_name>")[0]
    return _made(name, raw.rpartition("</arguments>")[0] or raw)


def _made(name: str, arguments: object) -> ToolCall:
    # Some tools spell their parameters with capitals; the keys that tell what a call does are lower case.
    given = {key.lower(): value for key, value in parse_arguments(arguments).items()} if arguments else {}
    return ToolCall(name.strip(), given)


def _pairs(text: str, key: re.Pattern[str], mark: str) -> dict[str, str]:
    """The values behind the keys, each up to its mark or to the next key."""
    keys = list(key.finditer(text))
    ends = [*(found.start() for found in keys[1:]), len(text)]
    values = (text[found.end() : end].partition(mark)[0] for found, end in zip(keys, ends, strict=False))
    return {found[1].strip(): value.strip() for found, value in zip(keys, values, strict=True)}
