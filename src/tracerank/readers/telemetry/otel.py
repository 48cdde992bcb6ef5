"""OpenTelemetry spans: OTLP JSON, one span a line, the SDK's own JSON; GenAI attributes and those of its relatives.

Knows where a span keeps its ids and what ``gen_ai.*`` and ``traceloop.*`` attributes mean; OpenInference's are read in
``openinference.py``. Spans without any of them stay, since they tell which span stands below which.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.telemetry.attributes import Attributes, flat_attributes, nested_value
from tracerank.readers.telemetry.langfuse import OBSERVATION_KINDS
from tracerank.readers.telemetry.openinference import openinference_fields
from tracerank.readers.telemetry.spans import Span, SpanKind, moment

_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_OPERATIONS: Mapping[str, SpanKind] = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "responses"), "model"),
    **dict.fromkeys(("invoke_agent", "invoke_workflow"), "agent"),
    **dict.fromkeys(("retrieval", "retrievals"), "search"),
    **dict.fromkeys(("evaluate", "evaluation"), "judge"),
    "execute_tool": "tool",
}
_TRACELOOP: Mapping[str, SpanKind] = {"workflow": "agent", "agent": "agent", "tool": "tool", "task": "other"}
_LANGFUSE_INPUT, _LANGFUSE_OUTPUT = "langfuse.observation.input", "langfuse.observation.output"
# The first that is there; the conventions have moved, and relatives of theirs have names of their own.
_INPUTS: Mapping[SpanKind, tuple[str, ...]] = {
    "tool": ("gen_ai.tool.call.arguments", "tool_arguments", "traceloop.entity.input", _LANGFUSE_INPUT),
    "search": ("gen_ai.retrieval.query.text", "gen_ai.retrieval.query", "traceloop.entity.input", _LANGFUSE_INPUT),
}
_OUTPUTS: Mapping[SpanKind, tuple[str, ...]] = {
    "tool": ("gen_ai.tool.call.result", "tool_response", "traceloop.entity.output", _LANGFUSE_OUTPUT),
    "search": ("gen_ai.retrieval.documents", "traceloop.entity.output", _LANGFUSE_OUTPUT),
}
_SAID_TO = (
    *("gen_ai.input.messages", "gen_ai.prompt", "pydantic_ai.all_messages", "traceloop.entity.input"),
    *("langfuse.trace.input", _LANGFUSE_INPUT, "input.value"),
)
_SAID_BY = (
    *("gen_ai.output.messages", "gen_ai.completion", "final_result", "traceloop.entity.output"),
    *("langfuse.trace.output", _LANGFUSE_OUTPUT, "output.value"),
)
# Any record may name the trace that it was logged in; a span also says what was done or when.
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "start_timestamp")
_FIELDS = frozenset(("name", "span_name", "attributes", *_STARTS))
_EVALUATION_SCORE = "gen_ai.evaluation.score.value"


def otel_spans(record: Record) -> Iterator[Span]:
    """The spans of an OTLP export or of one span's record; nothing for any other record."""
    for key in _RESOURCES:
        for resource in _mappings(record.get(key)):
            for scope in (inner for name in _SCOPES for inner in _mappings(resource.get(name))):
                for raw in _mappings(scope.get("spans")):
                    yield from _span(raw)
    yield from _span(record)


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, Mapping):
            yield item


def _span(raw: Mapping[str, Any]) -> Iterator[Span]:
    ids = None if _FIELDS.isdisjoint(raw) else _ids(raw)
    if ids is None:
        return
    trace, span_id, parent = ids
    attributes = flat_attributes(raw.get("attributes", raw.get("tags")))
    if "context.trace_id" in raw:  # a data frame: attributes in columns of their own
        columns = {k.removeprefix("attributes."): v for k, v in raw.items() if str(k).startswith("attributes.")}
        attributes = flat_attributes(columns)
    for event in _mappings(raw.get("events")):
        attributes = {**flat_attributes(event.get("attributes")), **attributes}
    name = raw.get("name", raw.get("span_name"))
    start = next((raw[key] for key in _STARTS if key in raw), None)
    stated = raw.get("span_kind")
    fields = openinference_fields(attributes, stated if isinstance(stated, str) else None) or _genai_fields(attributes)
    fields = {"name": name.removeprefix("execute_tool ") if isinstance(name, str) else "", **fields}
    yield Span(trace, span_id, parent, moment(start), is_error=_is_error(raw), **fields)


def _ids(raw: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    """Trace, span and parent, as OTLP, the SDK or a data frame call them."""
    context = raw.get("context")
    if isinstance(context, Mapping):
        trace, span_id = context.get("trace_id"), context.get("span_id")
    elif "context.trace_id" in raw:
        trace, span_id = raw["context.trace_id"], raw.get("context.span_id")
    else:
        trace, span_id = raw.get("traceId", raw.get("trace_id")), raw.get("spanId", raw.get("span_id"))
    names = ("parentSpanId", "parent_span_id", "parent_id")
    parent = next((raw[key] for key in names if isinstance(raw.get(key), str) and raw[key]), None)
    if isinstance(trace, str) and isinstance(span_id, str) and trace and span_id:
        return trace, span_id, parent
    return None


def _genai_fields(attributes: Attributes) -> dict[str, Any]:
    kind = _OPERATIONS.get(str(attributes.get("gen_ai.operation.name")))
    kind = kind or _TRACELOOP.get(str(attributes.get("traceloop.span.kind")))
    kind = kind or OBSERVATION_KINDS.get(str(attributes.get("langfuse.observation.type")).upper()) or "other"
    if "gen_ai.tool.name" in attributes and kind == "other":
        kind = "tool"
    fields: dict[str, Any] = {"kind": kind}
    name = attributes.get("gen_ai.tool.name", attributes.get("traceloop.entity.name"))
    if isinstance(name, str) and kind == "tool":
        fields["name"] = name
    fields["input"] = _first(attributes, _INPUTS.get(kind, _SAID_TO))
    fields["output"] = _first(attributes, _OUTPUTS.get(kind, _SAID_BY))
    if kind == "search":
        fields["documents"] = fields["output"]
    score = attributes.get(_EVALUATION_SCORE)
    if isinstance(score, int | float) and 0 <= score <= 1:
        fields["label"] = float(score)
    return fields


def _first(attributes: Attributes, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := nested_value(attributes, name)) is not None), None)


def _is_error(raw: Mapping[str, Any]) -> bool:
    status = next((raw[key] for key in ("status", "status_code", "otel_status_code") if key in raw), None)
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else status
    return code in (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")
