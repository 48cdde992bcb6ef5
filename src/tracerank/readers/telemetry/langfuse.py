"""Langfuse exports: observations one a row in either spelling, traces with their observations inside, scores.

Inputs and outputs are texts that may hold JSON; they are read in ``span_texts.py``. Scores become labels at most.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.calls.record_fields import label_value
from tracerank.readers.telemetry.spans import Span, SpanKind, moment

OBSERVATION_KINDS: Mapping[str, SpanKind] = {
    **dict.fromkeys(("AGENT", "CHAIN", "SPAN"), "agent"),
    "GENERATION": "model",
    "TOOL": "tool",
    "RETRIEVER": "search",
    **dict.fromkeys(("EVALUATOR", "GUARDRAIL"), "judge"),
    **dict.fromkeys(("EVENT", "EMBEDDING"), "other"),
}
_VERDICTS = frozenset(
    ("correct", "correctness", "is_correct", "accuracy", "exact_match", "em", "label", "reward", "pass", "passed")
)


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
        label = label_value(value) if name in _VERDICTS else None
        yield Span(trace, f"score:{record['id']}", kind="judge", label=label)


def _first(record: Mapping[str, Any], *names: str) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
