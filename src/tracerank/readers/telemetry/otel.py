"""OpenTelemetry spans: OTLP JSON, one span a line, the SDK's own JSON; GenAI attributes and those of its relatives.

Knows where a span keeps its ids and what the attributes of GenAI, Traceloop, MLflow and OpenInference mean. Spans
without any of them stay, since they tell which span stands below which. Attributes become one flat mapping, whether
they are logged as ``llm.input_messages.0.message.role``, as nested objects, or half and half. Bounded in depth and
number; never raises.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.sources.loose_json import NOT_JSON, load_json
from tracerank.readers.telemetry.spans import Span, SpanKind, moment
from tracerank.readers.telemetry.vendors import OBSERVATION_KINDS
from tracerank.readers.values import whole_number

_DEEPEST = 24
_MOST = 200_000

Attributes = Mapping[str, Any]


def flat_attributes(raw: object) -> dict[str, Any]:
    """Attributes under their dotted names; lists of plain values stay lists."""
    if isinstance(raw, list):
        raw = _pairs(raw, _DEEPEST)
    found: dict[str, Any] = {}
    if isinstance(raw, Mapping):
        for name, value in _flat("", raw, _DEEPEST):
            found[name] = value
            if len(found) >= _MOST:
                break
    return found


def nested_value(attributes: Attributes, name: str) -> Any:
    """The value of a name, put together again where it was flattened; None: there is none."""
    if name in attributes:
        return attributes[name]
    start = name + "."
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            path = key[len(start) :].split(".", _DEEPEST)
            place = tree
            for part in path[:-1]:
                inner = place.setdefault(part, {})
                if not isinstance(inner, dict):
                    break
                place = inner
            else:
                place.setdefault(path[-1], value)
    return _with_lists(tree) if tree else None


def _flat(prefix: str, value: object, depth: int) -> Iterator[tuple[str, Any]]:
    is_list = isinstance(value, list) and any(isinstance(item, Mapping) for item in value)
    if depth and isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), item, depth - 1)
    elif depth and is_list and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _flat(f"{prefix}.{index}", item, depth - 1)
    elif prefix:
        yield prefix, value


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    plain = {key: _with_lists(item) for key, item in value.items()}
    if plain and all(key.isdecimal() and len(key) < 10 for key in plain):
        return [plain[key] for key in sorted(plain, key=int)]
    return plain


# ---- OTLP


def _pairs(pairs: list[Any], depth: int) -> dict[str, Any]:
    """OTLP's ``[{key, value}]``."""
    return {
        pair["key"]: _value(pair.get("value"), depth)
        for pair in pairs
        if isinstance(pair, Mapping) and isinstance(pair.get("key"), str)
    }


def _value(value: object, depth: int) -> Any:
    if not isinstance(value, Mapping) or not depth:
        return value if isinstance(value, str | int | float) else None
    for key, inner in value.items():
        kind = key.replace("_", "").lower() if isinstance(key, str) else ""
        if kind in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue"):
            return inner
        if kind == "intvalue":
            return whole_number(inner)
        items = inner.get("values") if isinstance(inner, Mapping) else None
        if kind == "arrayvalue":
            return [_value(item, depth - 1) for item in items] if isinstance(items, list) else []
        if kind == "kvlistvalue":
            return _pairs(items, depth - 1) if isinstance(items, list) else {}
    return None


_KIND = "openinference.span.kind"
_KINDS: Mapping[str, SpanKind] = {
    **dict.fromkeys(("AGENT", "CHAIN"), "agent"),
    "LLM": "model",
    "TOOL": "tool",
    "RETRIEVER": "search",
    **dict.fromkeys(("EVALUATOR", "GUARDRAIL"), "judge"),
    **dict.fromkeys(("EMBEDDING", "RERANKER", "PROMPT", "UNKNOWN"), "other"),
}


def openinference_fields(attributes: Attributes, stated: str | None = None) -> dict[str, Any] | None:
    """The fields of a span; ``stated`` is a kind that stands beside the attributes. None: another convention."""
    named = attributes.get(_KIND, stated)
    kind = _KINDS.get(named.upper()) if isinstance(named, str) else None
    if kind is None:
        return None
    given = nested_value(attributes, "input.value")
    returned = nested_value(attributes, "output.value")
    fields: dict[str, Any] = {"kind": kind, "input": given, "output": returned}
    if kind == "model":
        fields["input"] = _messages(attributes, "llm.input_messages") or given
        fields["output"] = _messages(attributes, "llm.output_messages") or returned
    elif kind == "tool":
        name = attributes.get("tool.name", attributes.get("tool_call.function.name"))
        if isinstance(name, str):
            fields["name"] = name
        if given is None:
            # Often the schema of the tool, so what it was given comes first.
            arguments = nested_value(attributes, "tool_call.function.arguments")
            fields["input"] = arguments if arguments is not None else nested_value(attributes, "tool.parameters")
        else:
            fields["input"] = _named_arguments(given, nested_value(attributes, "tool.parameters"))
    elif kind == "search":
        if given is None:
            fields["input"] = attributes.get("retrieval.query")
        documents = nested_value(attributes, "retrieval.documents")
        if isinstance(documents, list):
            fields["documents"] = [_document(item) for item in documents]
    return fields


def _named_arguments(given: object, schema: object) -> object:
    """The arguments of a call by name, where it gave them by place and the tool's parameters are told."""
    made, known = _json_value(given), _json_value(schema)
    placed = made.get("args") if isinstance(made, Mapping) else None
    if not isinstance(made, Mapping) or not isinstance(placed, list) or not placed or not isinstance(known, Mapping):
        return given
    inner, named = known.get("properties"), made.get("kwargs")
    names = list(inner if isinstance(inner, Mapping) else known)
    by_name = dict(named) if isinstance(named, Mapping) else {}
    return {**dict(zip(names, placed, strict=False)), **by_name} if len(placed) <= len(names) else given


def _messages(attributes: Attributes, name: str) -> list[dict[str, Any]]:
    found = nested_value(attributes, name)
    return [_message(item) for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    inner = item.get("message")
    message = dict(inner) if isinstance(inner, Mapping) else dict(item)
    parts = message.pop("contents", None)
    if isinstance(parts, list):
        contents = [part.get("message_content") for part in parts if isinstance(part, Mapping)]
        message.setdefault("content", [dict(part) for part in contents if isinstance(part, Mapping)])
    message.setdefault("content", "")
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [call.get("tool_call", call) if isinstance(call, Mapping) else call for call in calls]
    return message


def _document(item: object) -> dict[str, Any]:
    inner = item.get("document") if isinstance(item, Mapping) else None
    fields = inner if isinstance(inner, Mapping) else {}
    metadata = fields.get("metadata")
    if isinstance(metadata, str):
        metadata = load_json(metadata)
    document = {"text": fields.get("content"), "id": fields.get("id")}
    return {**document, "metadata": metadata} if isinstance(metadata, Mapping) else document


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
    fields = openinference_fields(attributes, stated if isinstance(stated, str) else None)
    fields = fields or _mlflow_fields(attributes) or _genai_fields(attributes)
    fields = {
        **_told(raw, str(fields.get("kind"))),
        **{key: value for key, value in fields.items() if value is not None},
    }
    fields = {"name": name.removeprefix("execute_tool ") if isinstance(name, str) else "", **fields}
    yield Span(trace, span_id, parent, moment(start), is_error=_is_error(raw), **fields)


def _told(raw: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Input and output that a span logs as events of messages, such as ``gen_ai.user.message``."""
    found: dict[str, Any] = {}
    given = "gen_ai.tool.message" if kind == "tool" else "gen_ai.user.message"
    for event in _mappings(raw.get("events")):
        name, said = event.get("name"), flat_attributes(event.get("attributes"))
        if name == given:
            found.setdefault("input", said.get("content"))
        elif name == "gen_ai.choice":
            found["output"] = said.get("message", said.get("content"))
    return found


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


_MLFLOW_TYPES: Mapping[str, SpanKind] = {
    **dict.fromkeys(("AGENT", "CHAIN", "WORKFLOW"), "agent"),
    **dict.fromkeys(("LLM", "CHAT_MODEL"), "model"),
    "TOOL": "tool",
    "RETRIEVER": "search",
    **dict.fromkeys(("EVALUATOR", "GUARDRAIL"), "judge"),
}


def _mlflow_fields(attributes: Attributes) -> dict[str, Any] | None:
    """The fields of a span of MLflow's, whose attributes are all JSON; None: it is none."""
    if not isinstance(attributes.get("mlflow.spanType"), str):
        return None
    names = ("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs")
    kind, given, returned = (_json_value(nested_value(attributes, name)) for name in names)
    fields: dict[str, Any] = {"kind": _MLFLOW_TYPES.get(str(kind), "other"), "input": given, "output": returned}
    return {**fields, "documents": returned} if fields["kind"] == "search" else fields


def _json_value(value: Any) -> Any:
    found = load_json(value) if isinstance(value, str) else value
    return value if found is NOT_JSON else found


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
