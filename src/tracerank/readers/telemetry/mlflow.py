"""MLflow's traces: ``Trace.to_dict`` and ``to_json``, and the rows of ``search_traces`` in JSON, CSV or Parquet.

Finds the spans, which ``otel.py`` reads, in whatever a table made of them. Assessments are a label or references at
most; those of other names measure other things.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.sources.loose_json import NOT_JSON, load_json, load_literal
from tracerank.readers.sources.record_fields import label_value, stated_references
from tracerank.readers.telemetry.otel import otel_spans
from tracerank.readers.telemetry.spans import Span
from tracerank.readers.telemetry.vendors import VERDICTS

_MARK = "mlflow."
"""Begins the names of all attributes and notes; a text without it is no trace of MLflow's."""


def mlflow_spans(record: Record) -> Iterator[Span]:
    """The spans of a trace, and what was said about it; nothing for any other record."""
    whole = _decoded(record.get("trace"))
    if isinstance(whole, Mapping):  # a row of a data frame, which has all of it once more in this column
        record = whole
    info, data = _decoded(record.get("info")), _decoded(record.get("data"))
    listed = data.get("spans") if isinstance(data, Mapping) else record.get("spans")
    about = info if isinstance(info, Mapping) else record
    trace = about.get("trace_id", about.get("request_id"))
    spans = [span for raw in _listed(listed) for span in otel_spans(raw) if _is_ours(raw)]
    if not spans:
        return
    yield from spans
    name = trace if isinstance(trace, str) else spans[0].trace
    for place, raw in enumerate(_listed(about.get("assessments"))):
        yield from _assessment(raw, spans[0].trace, f"{name}:{place}")


def _assessment(raw: Mapping[str, Any], trace: str, name: str) -> Iterator[Span]:
    """What a judge or a person wrote beside the trace, as a span that is never read as text."""
    called = raw.get("assessment_name", raw.get("name"))
    called = called.strip().lower().replace(" ", "_") if isinstance(called, str) else ""
    feedback, expectation = raw.get("feedback"), raw.get("expectation")
    label = label_value(feedback.get("value")) if isinstance(feedback, Mapping) and called in VERDICTS else None
    wanted = expectation.get("value") if isinstance(expectation, Mapping) else None
    references = stated_references({called: wanted}) if wanted is not None else ()
    if (label is not None or references) and raw.get("valid") is not False:
        yield Span(trace, f"assessment:{name}", kind="judge", label=label, references=references)


def _is_ours(raw: Mapping[str, Any]) -> bool:
    attributes = raw.get("attributes")
    return isinstance(attributes, Mapping) and any(isinstance(key, str) and key.startswith(_MARK) for key in attributes)


def _listed(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, also where a table keeps it, or each of them, as text."""
    value = _decoded(value)
    for item in value if isinstance(value, list) else ():
        if isinstance(inner := _decoded(item), Mapping):
            yield inner


def _decoded(value: object) -> object:
    """JSON, or what Python printed into a cell, as what it says; only where it may be a trace."""
    if not isinstance(value, str) or value[:1] not in ("{", "[") or (_MARK not in value and "assessment" not in value):
        return value
    found = load_json(value)
    return load_literal(value) if found is NOT_JSON else found
