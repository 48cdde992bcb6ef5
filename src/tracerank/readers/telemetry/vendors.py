"""Spans of LangSmith's run exports, of the OpenAI Agents SDK's traces, and Langfuse's observations, traces and scores.

The Agents SDK exports neither question nor answer where it uses the Responses API; such traces are dropped for lack of
a question unless the trace's metadata states it. Scores become labels at most.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.sources.record_fields import label_value
from tracerank.readers.telemetry.spans import Span, SpanKind, moment

_RUN_TYPES: Mapping[str, SpanKind] = {
    **dict.fromkeys(("chain", "prompt", "parser"), "agent"),
    "llm": "model",
    "tool": "tool",
    "retriever": "search",
    "embedding": "other",
}
_SPAN_TYPES: Mapping[str, SpanKind] = {
    "agent": "agent",
    "generation": "model",
    "function": "tool",
    "guardrail": "judge",
}


def langsmith_spans(record: Record) -> Iterator[Span]:
    """The spans of a run and of the runs inside it; nothing for any other record."""
    todo: list[Mapping[str, Any]] = [record]
    while todo:
        run = todo.pop()
        span = _run(run)
        if span is None:
            continue
        yield span
        inside = run.get("child_runs")
        for child in inside if isinstance(inside, list) else ():
            if isinstance(child, Mapping):
                todo.append({**child, "trace_id": span.trace, "parent_run_id": span.id})


def _run(record: Record) -> Span | None:
    kind = record.get("run_type")
    known = _RUN_TYPES.get(kind) if isinstance(kind, str) else None
    span_id = record.get("id")
    if known is None or not isinstance(span_id, str):
        return None
    trace = record.get("trace_id")
    parents = record.get("parent_run_ids")
    parent = record.get("parent_run_id") or (parents[-1] if isinstance(parents, list) and parents else None)
    inputs, outputs = record.get("inputs"), record.get("outputs")
    documents = outputs.get("documents", outputs.get("output")) if isinstance(outputs, Mapping) else None
    return Span(
        trace if isinstance(trace, str) and trace else span_id,
        span_id,
        parent if isinstance(parent, str) else None,
        moment(record.get("start_time")),
        known,
        _text(record.get("name")),
        inputs,
        outputs,
        documents if known == "search" else None,
        is_error=bool(record.get("error")),
    )


def agents_spans(record: Record) -> Iterator[Span]:
    """The spans of the Agents SDK's traces; nothing for any other record."""
    kind, span_id = record.get("object"), record.get("id")
    if kind == "trace" and isinstance(span_id, str):
        metadata = record.get("metadata")
        yield Span(span_id, span_id, None, -1.0, "agent", _text(record.get("workflow_name")), _asked(metadata))
    data = record.get("span_data")
    trace = record.get("trace_id")
    if kind != "trace.span" or not isinstance(data, Mapping) or not isinstance(trace, str):
        return
    parent = record.get("parent_id")
    yield Span(
        trace,
        span_id if isinstance(span_id, str) else "",
        parent if isinstance(parent, str) else trace,
        moment(record.get("started_at")),
        _SPAN_TYPES.get(_text(data.get("type")), "other"),
        _text(data.get("name")),
        data.get("input"),
        data.get("output"),
        is_error=bool(record.get("error")),
    )


def _asked(metadata: object) -> Any:
    """What a trace's metadata says about the question, and nothing else of it."""
    names = ("question", "query", "input", "task", "prompt")
    return {name: metadata[name] for name in names if name in metadata} if isinstance(metadata, Mapping) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


OBSERVATION_KINDS: Mapping[str, SpanKind] = {
    **dict.fromkeys(("AGENT", "CHAIN", "SPAN"), "agent"),
    "GENERATION": "model",
    "TOOL": "tool",
    "RETRIEVER": "search",
    **dict.fromkeys(("EVALUATOR", "GUARDRAIL"), "judge"),
    **dict.fromkeys(("EVENT", "EMBEDDING"), "other"),
}
VERDICTS = frozenset(
    ("correct", "correctness", "is_correct", "accuracy", "exact_match", "em", "label", "reward", "pass", "passed")
)
"""Names of scores that say whether the answer is right."""


def langfuse_spans(record: Record) -> Iterator[Span]:
    """The spans of an observation, a trace or a score; nothing for any other record."""
    if _are_observations(record.get("observations")) and isinstance(record.get("id"), str):
        trace = record["id"]
        yield _trace(record)
        for name, read in (("observations", _observation), ("scores", _score)):
            inner = record.get(name)
            for item in inner if isinstance(inner, list) else ():
                if isinstance(item, Mapping):
                    yield from read({"trace_id": trace, **item})
    elif "bookmarked" in record and isinstance(record.get("id"), str):
        yield _trace(record)
    elif "value" in record and _first(record, "data_type", "dataType") is not None:
        yield from _score(record)
    else:
        yield from _observation(record)


def _are_observations(value: object) -> bool:
    """Whether a list holds observations of Langfuse, not what some agent observed."""
    return isinstance(value, list) and any(
        isinstance(item, Mapping) and "type" in item and _first(item, "start_time", "startTime") is not None
        for item in value
    )


def _trace(record: Record) -> Span:
    start = moment(record.get("timestamp"))
    name = _text(record.get("name"))
    # Observations without a parent are not below it: it is first among the roots.
    return Span(record["id"], "", None, start, "agent", name, record.get("input"), record.get("output"))


def _observation(record: Record) -> Iterator[Span]:
    trace = _first(record, "trace_id", "traceId")
    span_id = record.get("id")
    kind = record.get("type")
    start = _first(record, "start_time", "startTime")
    known = OBSERVATION_KINDS.get(kind.upper()) if isinstance(kind, str) else None
    if known is None or not isinstance(trace, str) or not isinstance(span_id, str) or start is None:
        return
    parent = _first(record, "parent_observation_id", "parentObservationId")
    yield Span(
        trace,
        span_id,
        parent if isinstance(parent, str) and parent else None,
        moment(start),
        known,
        _text(record.get("name")),
        record.get("input"),
        record.get("output"),
        is_error=record.get("level") == "ERROR",
    )


def _score(record: Record) -> Iterator[Span]:
    """A verdict about a whole trace; scores of other names measure other things."""
    trace = _first(record, "trace_id", "traceId")
    value = _first(record, "string_value", "stringValue") or record.get("value")
    name = _text(record.get("name")).strip().lower().replace(" ", "_")
    if isinstance(trace, str) and isinstance(record.get("id"), str):
        label = label_value(value) if name in VERDICTS else None
        yield Span(trace, f"score:{record['id']}", kind="judge", label=label)


def _first(record: Mapping[str, Any], *names: str) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
