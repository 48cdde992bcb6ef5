"""Records to spans: OpenTelemetry with the attributes of all conventions, LangSmith, Langfuse, MLflow, the Agents SDK.

What a span is called, what it was given and what came out has other names in every dialect, which stand in tables here;
spans without any stay, since they tell which span stands below which. Scores and assessments become labels or
references at most. Of a model that speaks the Responses API the Agents SDK itself exports an id alone: question and
answer are read where a trace processor adds input and response, or the trace's metadata states the question.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.sources.loose_json import NOT_JSON, decoded_value, load_json, load_literal
from tracerank.readers.sources.record_fields import label_value, stated_references
from tracerank.readers.spans.attributes import Attributes, first_value, flat_attributes, nested_value
from tracerank.readers.spans.spans import Span, SpanKind, moment
from tracerank.readers.vocabulary import plain_fields

_KINDS: Mapping[str, SpanKind] = {
    **dict.fromkeys(("agent", "chain", "span", "workflow", "invoke_agent", "invoke_workflow"), "agent"),
    **dict.fromkeys(("llm", "chat_model", "generation", "response", "responses", "chat", "text_completion"), "model"),
    **dict.fromkeys(("tool", "function", "execute_tool"), "tool"),
    **dict.fromkeys(("retriever", "retrieval", "retrievals"), "search"),
    **dict.fromkeys(("evaluator", "guardrail", "evaluate", "evaluation"), "judge"),
    **dict.fromkeys(("embedding", "reranker", "prompt", "parser", "event", "task", "unknown"), "other"),
    "generate_content": "model",
}
"""What spans call themselves, in any dialect."""
_VERDICTS = frozenset(
    ("correct", "correctness", "is_correct", "accuracy", "exact_match", "em", "label", "reward", "pass", "passed")
)
"""Names of scores that say whether the answer is right; scores of other names measure other things."""


def spans_in(record: Record) -> list[Span]:
    """The spans of a record in the first dialect that finds any."""
    for dialect in (_otel_spans, _langsmith_spans, _agents_spans, _langfuse_spans, _mlflow_spans):
        if found := list(dialect(record)):
            return found
    return []


def _kind(name: object) -> SpanKind | None:
    return _KINDS.get(name.strip('"').lower()) if isinstance(name, str) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, also where a table keeps them as text."""
    for item in value if isinstance(value, list) else ():
        if isinstance(inner := _decoded(item), Mapping):
            yield inner


# ---- OpenTelemetry

_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
# Any record may name the trace that it was logged in; a span also says what was done or when.
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "start_timestamp")
_FIELDS = frozenset(("name", "span_name", "attributes", *_STARTS))
_PARENTS = ("parentSpanId", "parent_span_id", "parent_id")
_STATED = ("gen_ai.operation.name", "traceloop.span.kind", "langfuse.observation.type")
_NAMES = ("tool.name", "tool_call.function.name", "gen_ai.tool.name", "traceloop.entity.name")
# The first that is there; the conventions have moved, and relatives of theirs have names of their own.
_IN = ("mlflow.spanInputs", "traceloop.entity.input", "langfuse.trace.input", "langfuse.observation.input")
_OUT = ("mlflow.spanOutputs", "traceloop.entity.output", "langfuse.trace.output", "langfuse.observation.output")
_INPUTS: Mapping[str, tuple[str, ...]] = {
    "tool": (
        *("gen_ai.tool.call.arguments", "tool_arguments", "input.value", *_IN),
        *("tool_call.function.arguments", "tool.parameters"),  # often the schema of the tool
    ),
    "search": ("gen_ai.retrieval.query.text", "gen_ai.retrieval.query", "input.value", *_IN, "retrieval.query"),
    "": ("gen_ai.input.messages", "gen_ai.prompt", "pydantic_ai.all_messages", *_IN, "input.value"),
}
_OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "tool": ("gen_ai.tool.call.result", "tool_response", "output.value", *_OUT),
    "search": ("gen_ai.retrieval.documents", "output.value", *_OUT),
    "": ("gen_ai.output.messages", "gen_ai.completion", "final_result", *_OUT, "output.value"),
}


def _otel_spans(record: Record) -> Iterator[Span]:
    """The spans of an OTLP export, or one span as a line, the SDK or a data frame has it."""
    for resource in (one for key in _RESOURCES for one in _objects(record.get(key))):
        for scope in (one for key in _SCOPES for one in _objects(resource.get(key))):
            for raw in _objects(scope.get("spans")):
                yield from _otel_span(raw)
    yield from _otel_span(record)


def _otel_span(raw: Mapping[str, Any]) -> Iterator[Span]:
    ids = None if _FIELDS.isdisjoint(raw) else _ids(raw)
    if ids is None:
        return
    attributes = flat_attributes(raw.get("attributes", raw.get("tags")))
    if "context.trace_id" in raw:  # a data frame: attributes in columns of their own
        columns = {k.removeprefix("attributes."): v for k, v in raw.items() if str(k).startswith("attributes.")}
        attributes = flat_attributes({name: _cell(value) for name, value in columns.items() if value not in ("", None)})
    events = [(one.get("name"), flat_attributes(one.get("attributes"))) for one in _objects(raw.get("events"))]
    for _, said in events:
        attributes = {**said, **attributes}
    fields = _fields(attributes, raw.get("span_kind"))
    name = raw.get("name", raw.get("span_name"))
    fields = {
        "name": name.removeprefix("execute_tool ") if isinstance(name, str) else "",
        **_from_events(events, str(fields["kind"])),
        **{key: value for key, value in fields.items() if value is not None},
    }
    start = next((raw[key] for key in _STARTS if key in raw), None)
    yield Span(*ids, moment(start), is_error=_is_error(raw), **fields)


def _ids(raw: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    """Trace, span and parent, as OTLP, the SDK or a data frame call them."""
    context = raw.get("context")
    if isinstance(context, Mapping):
        trace, span_id = context.get("trace_id"), context.get("span_id")
    elif "context.trace_id" in raw:
        trace, span_id = raw["context.trace_id"], raw.get("context.span_id")
    else:
        trace, span_id = raw.get("traceId", raw.get("trace_id")), raw.get("spanId", raw.get("span_id"))
    parent = next((raw[key] for key in _PARENTS if _text(raw.get(key))), None)
    return (_text(trace), _text(span_id), parent) if _text(trace) and _text(span_id) else None


def _fields(attributes: Attributes, stated: object) -> dict[str, Any]:
    """What the attributes say; ``stated`` is a kind that stands beside them. None: nothing."""
    named = (attributes.get("openinference.span.kind", stated), nested_value(attributes, "mlflow.spanType"))
    kinds = filter(None, map(_kind, (*named, *map(attributes.get, _STATED))))
    kind = next(kinds, "tool" if "gen_ai.tool.name" in attributes else "other")
    group = kind if kind in _INPUTS else ""
    fields: dict[str, Any] = {"kind": kind}
    fields["input"] = _messages(attributes, "llm.input_messages") or first_value(attributes, _INPUTS[group])
    fields["output"] = _messages(attributes, "llm.output_messages") or first_value(attributes, _OUTPUTS[group])
    if kind == "tool":
        fields["name"] = next((one for one in map(attributes.get, _NAMES) if isinstance(one, str)), None)
        fields["input"] = _named_arguments(fields["input"], nested_value(attributes, "tool.parameters"))
    if kind == "search":
        found = nested_value(attributes, "retrieval.documents")
        fields["documents"] = list(map(_document, found)) if isinstance(found, list) else fields["output"]
    score = attributes.get("gen_ai.evaluation.score.value")
    return {**fields, "label": label_value(score) if isinstance(score, int | float) else None}


def _named_arguments(given: object, schema: object) -> object:
    """The arguments of a call by name, where it gave them by place and the tool's parameters are told."""
    made, known = decoded_value(given), decoded_value(schema)
    placed = made.get("args") if isinstance(made, Mapping) else None
    if not isinstance(made, Mapping) or not isinstance(placed, list) or not placed or not isinstance(known, Mapping):
        return given
    inner, named = known.get("properties"), made.get("kwargs")
    names = list(inner if isinstance(inner, Mapping) else known)
    by_name = dict(named) if isinstance(named, Mapping) else {}
    return {**dict(zip(names, placed, strict=False)), **by_name} if len(placed) <= len(names) else given


def _messages(attributes: Attributes, name: str) -> list[dict[str, Any]]:
    """OpenInference's messages, whose parts and calls stand in boxes of their own."""
    found = nested_value(attributes, name)
    messages: list[dict[str, Any]] = []
    for item in _objects(found):
        inner = item.get("message")
        message = {"content": "", **(inner if isinstance(inner, Mapping) else item)}
        if isinstance(message.get("contents"), list) and not message["content"]:
            message["content"] = [one.get("message_content") for one in _objects(message.pop("contents"))]
        if isinstance(message.get("tool_calls"), list):
            message["tool_calls"] = [one.get("tool_call", one) for one in _objects(message["tool_calls"])]
        messages.append(message)
    return messages


def _document(item: object) -> dict[str, Any]:
    inner = item.get("document") if isinstance(item, Mapping) else None
    fields = inner if isinstance(inner, Mapping) else {}
    document = {"text": fields.get("content"), "id": fields.get("id")}
    metadata = decoded_value(fields.get("metadata"))
    return {**document, "metadata": metadata} if isinstance(metadata, Mapping) else document


def _from_events(events: list[tuple[Any, dict[str, Any]]], kind: str) -> dict[str, Any]:
    """Input and output that a span logs as events of messages, such as ``gen_ai.user.message``."""
    found: dict[str, Any] = {}
    given = "gen_ai.tool.message" if kind == "tool" else "gen_ai.user.message"
    for name, said in events:
        if name == given:
            found.setdefault("input", said.get("content"))
        elif name == "gen_ai.choice":
            found["output"] = said.get("message", said.get("content"))
    return found


def _cell(value: Any) -> Any:
    """What a cell of a table says; CSV keeps lists and objects as Python prints them."""
    found = load_literal(value) if isinstance(value, str) and value[:2] in ("[{", "{'", "['") else NOT_JSON
    return value if found is NOT_JSON else found


def _is_error(raw: Mapping[str, Any]) -> bool:
    status = next((raw[key] for key in ("status", "status_code", "otel_status_code") if key in raw), None)
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else status
    return code in (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")


# ---- vendors, whose spans keep input and output in fields of their own


def _vendor_span(record: Record, trace: str, kind: SpanKind, parent: str | None = None, **more: Any) -> Span:
    fields = plain_fields(record)
    listed = fields.get("parentrunids")
    stated = (_text(fields.get(key)) for key in ("parentrunid", "parentobservationid", "parentid"))
    above = next(filter(None, stated), None) or (listed[-1] if isinstance(listed, list) and listed else None)
    start = next((fields[key] for key in ("starttime", "startedat", "timestamp") if fields.get(key) is not None), None)
    return Span(
        **{
            "trace": trace,
            "id": _text(fields.get("id")),
            "parent": _text(above) or parent,
            "start": moment(start),
            "kind": kind,
            "name": _text(fields.get("name")),
            "input": fields.get("inputs", fields.get("input")),
            "output": fields.get("outputs", fields.get("output")),
            "is_error": bool(fields.get("error")) or fields.get("level") == "ERROR",
            **more,
        }
    )


def _langsmith_spans(record: Record) -> Iterator[Span]:
    """The spans of a run and of the runs inside it."""
    todo: list[Mapping[str, Any]] = [record]
    while todo:
        run = todo.pop()
        kind = _kind(run.get("run_type"))
        if kind is None or not isinstance(run.get("id"), str):
            continue
        found = run.get("outputs")
        documents = found.get("documents", found.get("output")) if isinstance(found, Mapping) else None
        span = _vendor_span(run, _text(run.get("trace_id")) or run["id"], kind)
        yield span if kind != "search" else _vendor_span(run, span.trace, kind, documents=documents)
        todo += (
            {**child, "trace_id": span.trace, "parent_run_id": span.id} for child in _objects(run.get("child_runs"))
        )


def _agents_spans(record: Record) -> Iterator[Span]:
    """The spans of the Agents SDK's traces."""
    kind, data, trace = record.get("object"), record.get("span_data"), record.get("trace_id")
    if kind == "trace" and isinstance(span_id := record.get("id"), str):
        metadata = record.get("metadata")
        told = metadata if isinstance(metadata, Mapping) else {}
        # What a trace's metadata says about the question, and nothing else of it.
        asked = {name: told[name] for name in ("question", "query", "input", "task", "prompt") if name in told}
        yield Span(span_id, span_id, None, -1.0, "agent", _text(record.get("workflow_name")), asked or None)
    if kind != "trace.span" or not isinstance(data, Mapping) or not isinstance(trace, str):
        return
    response = data.get("response")
    output = response.get("output") if isinstance(response, Mapping) else data.get("output")
    own = {"name": _text(data.get("name")), "input": data.get("input"), "output": output}
    yield _vendor_span(record, trace, _kind(data.get("type")) or "other", trace, **own)


def _langfuse_spans(record: Record) -> Iterator[Span]:
    """The spans of an observation, a trace or a score."""
    fields = plain_fields(record)
    trace, span_id = fields.get("traceid"), fields.get("id")
    listed = fields.get("observations")
    is_trace = any(_is_observation(one) for one in listed) if isinstance(listed, list) else "bookmarked" in fields
    if is_trace and isinstance(span_id, str):
        # Observations without a parent are not below it: it is first among the roots.
        yield _vendor_span(record, span_id, "agent", id="", parent=None)
        for item in (*_objects(listed), *_objects(fields.get("scores"))):
            yield from _langfuse_spans({"trace_id": span_id, **item})
    elif not isinstance(trace, str) or not isinstance(span_id, str):
        return
    elif "value" in fields and fields.get("datatype") is not None:
        called = _text(fields.get("name")).strip().lower().replace(" ", "_")
        verdict = label_value(fields.get("stringvalue") or fields["value"]) if called in _VERDICTS else None
        yield Span(trace, f"score:{span_id}", kind="judge", label=verdict)
    elif (kind := _kind(fields.get("type"))) is not None and fields.get("starttime") is not None:
        yield _vendor_span(record, trace, kind)


def _is_observation(item: object) -> bool:
    """Whether an object is an observation of Langfuse, not what some agent observed."""
    return isinstance(item, Mapping) and "type" in item and plain_fields(item).get("starttime") is not None


# ---- MLflow

_MLFLOW = "mlflow."
"""Begins the names of all attributes and notes; a text without it is no trace of MLflow's."""


def _mlflow_spans(record: Record) -> Iterator[Span]:
    """The spans of a trace or of a row that a table made of it, and what was said about it."""
    whole = _decoded(record.get("trace"))
    if isinstance(whole, Mapping):  # a row of a data frame, which has all of it once more in this column
        record = whole
    info, data = _decoded(record.get("info")), _decoded(record.get("data"))
    listed = _decoded(data.get("spans") if isinstance(data, Mapping) else record.get("spans"))
    spans = [span for raw in _objects(listed) if _is_mlflow(raw) for span in _otel_span(raw)]
    yield from spans
    about = info if isinstance(info, Mapping) else record
    for index, raw in enumerate(_objects(_decoded(about.get("assessments"))) if spans else ()):
        yield from _assessment(raw, spans[0].trace, str(index))


def _assessment(raw: Mapping[str, Any], trace: str, name: str) -> Iterator[Span]:
    """What a judge or a person wrote beside the trace, as a span that is never read as text."""
    called = _text(raw.get("assessment_name", raw.get("name"))).strip().lower().replace(" ", "_")
    feedback, expectation = raw.get("feedback"), raw.get("expectation")
    label = label_value(feedback.get("value")) if isinstance(feedback, Mapping) and called in _VERDICTS else None
    wanted = expectation.get("value") if isinstance(expectation, Mapping) else None
    references = stated_references({called: wanted}) if wanted is not None else ()
    if (label is not None or references) and raw.get("valid") is not False:
        yield Span(trace, f"assessment:{name}", kind="judge", label=label, references=references)


def _is_mlflow(raw: Mapping[str, Any]) -> bool:
    attributes = raw.get("attributes")
    return isinstance(attributes, Mapping) and any(_text(key).startswith(_MLFLOW) for key in attributes)


def _decoded(value: object) -> object:
    """JSON, or what Python printed into a cell, as what it says; only where it may be a trace."""
    if not isinstance(value, str) or value[:1] not in ("{", "[") or not (_MLFLOW in value or "assessment" in value):
        return value
    found = load_json(value)
    return load_literal(value) if found is NOT_JSON else found
