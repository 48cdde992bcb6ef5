"""Telemetry of agents: spans of OpenTelemetry, OpenInference, Langfuse, LangSmith, MLflow and the Agents SDK.

``dialects.py`` reads the dialects, ``spans.py`` says what spans mean. A trace is a rollout, and traces with the same
input are rollouts of one question.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.runs.transcripts import Piece

if TYPE_CHECKING:
    from tracerank.readers.spans.spans import Span

# A record without any of these is no span; most records of other formats are settled here.
_MARKS = frozenset(
    (
        *("traceId", "trace_id", "context", "context.trace_id", "resourceSpans", "resource_spans", "batches"),
        *("run_type", "object", "observations", "bookmarked", "data", "spans", "runs", "trace"),
    )
)
_LISTS = ("data", "spans", "runs")
_SPANS = "telemetry_spans"


class TelemetryReader:
    """One rollout a trace, joined from its spans."""

    name = "telemetry"

    def recognises(self, record: Record) -> bool:
        """By spans, joined or not."""
        return isinstance(record, Mapping) and (_SPANS in record or bool(self.pieces(record)))

    def pieces(self, record: Record) -> Sequence[Piece]:
        """The spans of a record by their trace."""
        if not isinstance(record, Mapping) or _MARKS.isdisjoint(record):
            return ()
        return [Piece(span.trace, span) for span in _spans(record)]

    def join(self, values: Sequence[Any]) -> Record:
        """The spans of a trace as one record."""
        return {_SPANS: tuple(values)}

    def parse(self, record: Record, source: str) -> Parsed:
        """The trace as a rollout; the root's input is the question, its output the answer."""
        from tracerank.readers.assemble import parsed_dialogue
        from tracerank.readers.spans.spans import run_of

        held = record.get(_SPANS)
        spans = held if isinstance(held, tuple) else tuple(piece.value for piece in self.pieces(record))
        if not spans:
            reject("no spans: expected a trace id and a span id, or an export that holds spans")
        if len({span.trace for span in spans}) > 1:
            reject("spans of several traces in one record; read the file as a whole")
        run = run_of(spans)
        if not run.dialogue.asked:
            models = [span for span in spans if span.kind == "model"]
            is_bare = bool(models) and not any(span.input or span.output for span in models)
            why = "its model spans keep neither input nor output" if is_bare else "expected it in its root span's input"
            reject(f"trace {spans[0].trace!r} has no question: {why}")
        fields = {"references": list(run.references)} if run.references else {}
        return parsed_dialogue(fields, source, run.dialogue, label=run.label)


def _spans(record: Record) -> Iterator["Span"]:
    """Every file is asked for spans, few have any, and only those import what reads them."""
    from tracerank.readers.spans.dialects import spans_in

    found = spans_in(record)
    for key in () if found else _LISTS:  # a page of an API's answer
        items = record.get(key)
        found += (
            chain.from_iterable(spans_in(item) for item in items if isinstance(item, Mapping))
            if isinstance(items, list)
            else ()
        )
    yield from found
