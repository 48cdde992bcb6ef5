"""What a model calls that was offered tools, however it writes that: one parser for every loop that talks to models.

First what stands between a family's marks; then, by the names of the tools that were offered, ReAct lines, JSON, tags
and lines of Python. Only a model's own words may be given: a page may hold such texts, too. Calls that a server has
parsed itself need none of this.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from tracerank.readers.calls.call_bodies import (
    ARGUMENT_KEYS,
    NAME_KEYS,
    body_calls,
    json_values,
    made,
    name_before,
    python_call,
    python_calls,
    value_calls,
)
from tracerank.readers.calls.text_calls import Site, said_in, sites
from tracerank.readers.tools import ToolCall, clean_name

_MAX_REPLY = 100_000
"""Characters of a reply in which calls are looked for."""
_MAX_CALLS = 16
"""Of one reply; a model that repeats itself writes hundreds."""
# Only the environment writes these; behind them a model goes on with what it made up.
_RETURN = re.compile(r"<tool_response>|<tool_result>|<information>|^[ \t*]*Observation[ \t*]*:", re.M | re.I)
_OPENED = re.compile(r"(?<![{\[\s])(?:```\w{0,12}|[{\[\s])++\Z")
"""What stands before a call and belongs to it."""


@dataclass(frozen=True, slots=True)
class Written:
    """A reply, taken apart."""

    calls: tuple[ToolCall, ...]
    """In order; a tool under the name that it was offered by, one that was not offered under the name as written.
    What was given without a name, as in ``search("…")``, is the argument ``input``."""
    words: str
    """What is said before the first call, without thinking; the whole reply where nothing is called."""
    is_malformed: bool
    """Something looks like a call and cannot be read, and there is no other."""


def calls_in(text: str, tool_names: Collection[str]) -> Written:
    """What a model calls in its text, having been offered these tools."""
    said = said_in(text)[:_MAX_REPLY]
    marked = list(sites(said))
    for found in (_marked(marked, tool_names), *(way(said, tool_names) for way in _WAYS)):
        placed = list(islice(found, _MAX_CALLS))
        if placed:
            first = placed[0][0]
            made_up = _RETURN.search(said, first)
            end = made_up.start() if made_up else len(said)
            calls = tuple(_as_offered(call, tool_names) for start, call in placed if start < end)
            return Written(calls, _OPENED.sub("", said[:first]).strip(), is_malformed=False)
    return Written((), said.strip(), is_malformed=bool(marked) or _resembles_a_call(said, tool_names))


def tool_meant(name: str, tool_names: Collection[str]) -> str | None:
    """The offered tool that a written name stands for: ``functions.search``, ``browser.search`` or ``Search``."""
    if name in tool_names:
        return name
    bare = _plain(name)
    by_name = {_plain(tool): tool for tool in tool_names}
    if bare in by_name:
        return by_name[bare]
    last = bare.rpartition("_")[2] if "." in name or ":" in name or "/" in name else bare
    ends = [tool for plain, tool in by_name.items() if last and (plain == last or plain.endswith(f"_{last}"))]
    return ends[0] if len(ends) == 1 else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", clean_name(name).removeprefix("default_api.")).strip("_")


def _as_offered(call: ToolCall, tool_names: Collection[str]) -> ToolCall:
    return replace(call, name=tool_meant(call.name, tool_names) or call.name)


# ---- the ways to call; each gives calls with their places, those of one place in order

Placed = Iterator[tuple[int, ToolCall]]

_ACTION = re.compile(r"^[ \t>*#]{0,6}(?:Next )?Action(?: \d{1,3})?[ \t*]{0,4}:[ \t*]{0,4}", re.M | re.I)
_ACTION_INPUT = re.compile(
    r"^[ \t>*#]{0,6}(?:Action Input|Input|Arguments|Parameters)(?: \d{1,3})?[ \t*]{0,4}:[ \t*]{0,4}", re.M | re.I
)
_AFTER_ACTION = re.compile(
    r"^[ \t>*#]{0,6}(?:Observation|Thought|(?:Next )?Action|Final Answer|Result)(?: \d{1,3})?[ \t*]{0,4}:", re.M | re.I
)
_BRACKETED = re.compile(r"([A-Za-z_][\w.-]{0,60})[ \t]*+[\[(](.*?)[\])]?\Z")
_DONE = frozenset(("none", "finish", "final_answer", "answer", "submit", "n/a", "no_action", "stop"))
"""Actions with which agents say that they need no tool."""
_BEFORE_PYTHON = r"^[ \t>*+\-`]{0,8}(\[)?(?:\w{1,40}[ \t]?=[ \t]?)?(?:await )?(?:print\()?"


def _marked(found: list[Site], tool_names: Collection[str]) -> Placed:
    for site in found:
        calls = [call for call in body_calls(site.inner, site.name) if call.name]
        if not calls and len(tool_names) == 1:  # only one can be meant
            calls = body_calls(site.inner, next(iter(tool_names)), plain=False)
        yield from ((site.start, call) for call in calls)


def _react(text: str, tool_names: Collection[str]) -> Placed:
    """``Action: search`` with its input on the next line, or ``Action: search[…]``."""
    for action in _ACTION.finditer(text):
        end = _AFTER_ACTION.search(text, action.end())
        body = text[action.end() : end.start() if end else len(text)]
        given = _ACTION_INPUT.search(body)
        name = (body[: given.start()] if given else body).strip().partition("\n")[0].strip("*`\"' .:")
        inside = None if given else _BRACKETED.match(name)
        if inside is not None:
            if tool_meant(inside[1], tool_names):
                yield action.start(), made(inside[1], _unquoted(inside[2]))
        elif given and clean_name(name) not in _DONE - set(tool_names) and re.fullmatch(r"[\w .:/-]{1,64}", name):
            yield action.start(), made(name, _unquoted(body[given.end() :]))
        elif given is None and tool_meant(name, tool_names):
            rest = body.strip().partition("\n")[2]
            yield action.start(), made(name, _unquoted(rest))


def _objects(text: str, tool_names: Collection[str]) -> Placed:
    """JSON, fenced or bare, that names a tool, or that follows a tool's name."""
    before = 0
    for found in json_values(text):
        hint = name_before(text[before : found.start])
        before = found.end
        hint = hint if tool_meant(hint, tool_names) else ""
        if isinstance(found.value, dict) and len(found.value) == 1 and not hint:
            [(only, given)] = found.value.items()
            if isinstance(given, str) and tool_meant(only, tool_names):
                yield found.start, made(only, {"input": given})
                continue
        for call in value_calls(found.value, hint=hint):
            if tool_meant(call.name, tool_names) or _is_whole_call(found.value):
                yield found.start, call


def _is_whole_call(value: object) -> bool:
    """An object with a name and with arguments: a call even of a tool that was not offered."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_whole_call, value))
    named = isinstance(value, dict) and any(isinstance(value.get(key), str) for key in NAME_KEYS)
    return named and isinstance(value, dict) and any(isinstance(value.get(key), dict) for key in ARGUMENT_KEYS)


def _tags(text: str, tool_names: Collection[str]) -> Placed:
    """``<search>…</search>``: the tool's name as a tag."""
    names = "|".join(map(re.escape, tool_names))
    marks = list(re.finditer(rf"<({names})>", text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        inner = text[mark.end() : end].partition(f"</{mark[1]}>")[0].partition("\n\n")[0]
        yield from ((mark.start(), call) for call in body_calls(inner, mark[1]) if call.arguments)


def _python(text: str, tool_names: Collection[str]) -> Placed:
    """``search("…")`` at the beginning of a line."""
    names = "|".join(sorted(map(re.escape, tool_names), key=len, reverse=True))
    for line in re.finditer(rf"{_BEFORE_PYTHON}((?:\w{{1,40}}\.){{0,2}}(?:{names}))\(", text, re.M):
        calls = python_calls(text[line.start(2) :]) if line[1] else [python_call(text, line[2], line.end())]
        yield from ((line.start(2), call) for call in calls if tool_meant(call.name, tool_names))


_WAYS: tuple[Callable[[str, Collection[str]], Placed], ...] = (_react, _objects, _tags, _python)


def _unquoted(text: str) -> str:
    bare = text.strip().removeprefix("```json").strip("` \n")
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare


# ---- what only resembles a call

_NAME_FIELD = re.compile(rf"[\"'](?:{'|'.join(NAME_KEYS)})[\"']\s*:")
_ARGUMENT_FIELD = re.compile(rf"[\"'](?:{'|'.join(ARGUMENT_KEYS)})[\"']\s*:")
_JSON_ALONE = re.compile(r"\s*(?:```\w{0,12}\s*)?[{\[]\s*(?:[{\"']|\Z)")


def _resembles_a_call(said: str, tool_names: Collection[str]) -> bool:
    if _NAME_FIELD.search(said) and _ARGUMENT_FIELD.search(said):
        return True
    if _JSON_ALONE.match(said) and "answer" not in said[:200]:
        return True
    actions = (said[action.end() :].strip().partition("\n")[0] for action in _ACTION.finditer(said))
    return any(tool_meant(action.split("[")[0].split("(")[0].strip("*`\"' .:"), tool_names) for action in actions)
