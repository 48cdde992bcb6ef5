"""One traced run of an agent: what its spans say about the question, the tool calls and the answer.

Knows no telemetry format: ``otel.py`` and ``vendors.py`` give the spans, ``reader.py`` joins them by trace. What
evaluators did inside a trace, they did with the reference in hand: their spans and all below them are never read as
text.
"""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

from tracerank.readers.assemble import Dialogue, dialogue_of
from tracerank.readers.events import Event
from tracerank.readers.sources.loose_json import load_json
from tracerank.readers.spans.texts import asked_text, message_events, said_text, stated_text, structured
from tracerank.readers.tools import CallKind, ToolCall, kind_of_call, parse_arguments
from tracerank.readers.values import whole_number

SpanKind = Literal["agent", "model", "tool", "search", "judge", "other"]

_JUDGE_NAME = re.compile(r"\b(?:llm[-_ ]?)?(?:judge|grader|evaluators?|evaluation|scorer|autorater)\b", re.I)
_WRAPPERS = ("kwargs", "inputs", "input", "arguments", "args", "parameters", "tool_input")


@dataclass(frozen=True, slots=True)
class Span:
    """One operation of a traced run."""

    trace: str
    """Spans with the same trace belong to one rollout."""
    id: str
    parent: str | None = None
    """None: a root. The parent may be missing from the export; then the span is a root, too."""
    start: float = inf
    """Orders the spans of a trace; the unit does not matter. Infinite: unknown."""
    kind: SpanKind = "other"
    name: str = ""
    input: object = None
    """Text or JSON: the arguments of a tool, the messages of a model, the question of an agent."""
    output: object = None
    documents: object = None
    """What a retriever returned in structured form, where the format keeps it apart."""
    is_error: bool = False
    label: float | None = None
    """A verdict about the whole run that stands in this span; never read as anything else."""
    references: tuple[str, ...] = ()
    """Accepted answers that stand beside the run."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a trace comes down to."""

    dialogue: Dialogue
    label: float | None = None
    references: tuple[str, ...] = ()


def run_of(spans: Iterable[Span]) -> Run:
    """The spans of one trace as the run of an agent."""
    ordered = sorted(_distinct(spans), key=lambda span: span.start)
    label = next((span.label for span in ordered if span.label is not None), None)
    tree = _Tree(ordered)
    whole, asked = _question(tree)
    said = _chat(tree)
    calls = tuple(_calls(tree))
    if _returned(said.calls) > _returned(calls):
        calls = said.calls  # the tools were not traced, or without what they returned
    output = whole.output if whole is not None and whole.kind != "model" else None
    answer = said_text(output) or _last_words(tree) or said.final or stated_text(output)
    references = next((span.references for span in ordered if span.references), ())
    return Run(Dialogue(calls, asked or said.asked, answer), label, references)


def moment(value: object) -> float:
    """A time as a number that orders spans: an ISO date, or seconds to nanoseconds since 1970; infinite: unknown."""
    number = whole_number(value)
    if number is not None:
        return float(number)
    if isinstance(value, float):
        return value if value == value else inf  # not a number sorts nowhere
    try:
        return datetime.datetime.fromisoformat(value).timestamp() if isinstance(value, str) else inf
    except (ValueError, OverflowError, OSError):
        return inf


def _distinct(spans: Iterable[Span]) -> list[Span]:
    """Each span once: exporters write one when it begins and again when it ends."""
    found: dict[str, Span] = {}
    for span in spans:
        known = found.setdefault(span.id, span)
        if known.output is None and span.output is not None:
            found[span.id] = span
    return list(found.values())


class _Tree:
    """The spans of a run without its judges, and where each stands below the others."""

    def __init__(self, ordered: Sequence[Span]) -> None:
        self._by_id = {span.id: span for span in ordered}
        self._depth: dict[str, int] = {}
        self._tool: dict[str, Span | None] = {}
        judged: set[str] = set()
        for span in ordered:
            for each in self._unplaced(span):
                parent = self._parent(each)
                if parent is None or parent.id not in self._depth:  # a root, or a circle that must end somewhere
                    self._depth[each.id], self._tool[each.id] = 0, None
                else:
                    self._depth[each.id] = self._depth[parent.id] + 1
                    self._tool[each.id] = parent if _is_tool(parent) else self._tool[parent.id]
                if _is_judge(each) or (parent is not None and parent.id in judged):
                    judged.add(each.id)
        self.spans = [span for span in ordered if span.id not in judged]
        self.own = sorted(
            (span for span in self.spans if not _is_tool(span) and self._tool[span.id] is None), key=self.depth
        )
        """The spans of the agent itself, outermost first: not tools, nor what agents inside a tool did."""

    def depth(self, span: Span) -> int:
        """How many known spans stand above it."""
        return self._depth[span.id]

    def tool_above(self, span: Span) -> Span | None:
        """The nearest tool that the span is a part of."""
        return self._tool[span.id]

    def _parent(self, span: Span) -> Span | None:
        return None if span.parent is None else self._by_id.get(span.parent)

    def _unplaced(self, span: Span) -> list[Span]:
        """The span and those above it that have no place yet, outermost first."""
        line: dict[str, Span] = {}
        above: Span | None = span
        while above is not None and above.id not in self._depth and above.id not in line:
            line[above.id] = above
            above = self._parent(above)
        return list(line.values())[::-1]


def _is_judge(span: Span) -> bool:
    return span.kind == "judge" or (span.kind != "tool" and _JUDGE_NAME.search(span.name.replace("_", " ")) is not None)


def _is_tool(span: Span) -> bool:
    return span.kind in ("tool", "search")


def _question(tree: _Tree) -> tuple[Span | None, str | None]:
    """The outermost span that was given a question, and the question."""
    for span in tree.own:
        text = asked_text(span.input)
        if text:
            return span, text
    return None, None


def _last_words(tree: _Tree) -> str | None:
    """What the agent's model said last without calling a tool."""
    models = [span for span in tree.own if span.kind == "model"]
    for span in sorted(models, key=lambda span: span.start, reverse=True):
        text = said_text(span.output)
        if text:
            return text
    return None


def _chat(tree: _Tree) -> Dialogue:
    """The longest conversation that a model span of the agent itself shows, with its reply."""
    longest: list[Event] = []
    for span in tree.own:
        if span.kind == "model":
            events = [*message_events(span.input), *message_events(span.output, "assistant")]
            longest = events if len(events) >= len(longest) else longest
    return dialogue_of(longest)


def _returned(calls: Sequence[ToolCall]) -> int:
    """How many of the calls are research that brought something back."""
    seen = (call for call in calls if (call.output, call.artifact, call.results) != (None, None, None))
    return sum(_kind(call) != "other" for call in seen)


def _kind(call: ToolCall) -> CallKind:
    return call.kind or kind_of_call(call.name, call.arguments)


# ---- tool calls


def _calls(tree: _Tree) -> Iterator[ToolCall]:
    """The tool and retriever spans as calls; what a search tool did inside itself is part of that one call."""
    calls: dict[str, ToolCall] = {}
    owners: dict[str, str] = {}
    shown: dict[str, list[object]] = {}
    for span in sorted(filter(_is_tool, tree.spans), key=tree.depth):
        outer = tree.tool_above(span)
        owner = None if outer is None else owners.get(outer.id)
        if owner is None or _kind(calls[owner]) == "other":
            owners[span.id] = span.id
            calls[span.id] = _call(span)
        else:
            owners[span.id] = owner
            if span.kind == "search" and (documents := _documents(span)) is not None:
                shown.setdefault(owner, []).append(documents)
    for span in tree.spans:
        call = calls.get(span.id)
        if call is not None:
            # Where one retriever inside a tool says what was found, it says so better than the tool's text.
            inside = shown.get(span.id, ())
            yield replace(call, artifact=inside[0]) if len(inside) == 1 and call.artifact is None else call


def _call(span: Span) -> ToolCall:
    output = structured(span.output)
    if span.kind == "search":
        query = asked_text(span.input)
        arguments: dict[str, Any] = {"query": query} if query else {}
        return ToolCall(span.name, arguments, output, span.is_error, _documents(span), kind="search")
    arguments = _unwrapped(parse_arguments(span.input))
    artifact = span.output.get("artifact") if isinstance(span.output, Mapping) else None
    return ToolCall(span.name, arguments, output, span.is_error, artifact)


def _documents(span: Span) -> object:
    """A retriever's return where it is structured."""
    value = span.output if span.documents is None else span.documents
    if isinstance(value, str):
        value = load_json(value) if value.lstrip()[:1] in ("[", "{") else None
    return value if isinstance(value, list | Mapping) and value else None


def _unwrapped(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments inside the names that tracers put around them."""
    placed, named = arguments.get("args"), arguments.get("kwargs")
    if isinstance(placed, list) and placed and (_is_words(placed[0]) or named):
        # Given by place: the first says what the call is about.
        first = {"input": placed[0]} if _is_words(placed[0]) else {}
        return {**first, **(named if isinstance(named, Mapping) else {})}
    for _ in range(3):
        # A switch beside the wrapper is the tracer's, not an argument: smolagents logs one.
        if any(key in _WRAPPERS for key in arguments):
            arguments = {key: value for key, value in arguments.items() if not isinstance(value, bool)}
        filled = [key for key, value in arguments.items() if value not in (None, "", [], {})]
        if len(filled) != 1 or filled[0] not in _WRAPPERS:
            break
        inner = arguments[filled[0]]
        if isinstance(inner, list) and len(inner) == 1:
            (inner,) = inner
        if not isinstance(inner, Mapping) and not (isinstance(inner, str) and not _is_words(inner)):
            break
        arguments = parse_arguments(inner)
    return arguments


def _is_words(value: object) -> bool:
    """Whether a value is a text rather than an object that was logged as one."""
    return isinstance(value, str) and value.lstrip()[:1] != "{"
