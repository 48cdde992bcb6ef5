"""Telemetry of agents: spans of OpenTelemetry, OpenInference, Langfuse, LangSmith, MLflow and the Agents SDK.

Each dialect is a function from a record to spans, listed below; what spans mean is read in ``spans.py``. A trace is a
rollout, and traces with the same input are rollouts of one question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.sources.joining import Piece

if TYPE_CHECKING:
    from tracerank.readers.telemetry.spans import Span

Dialect = Callable[[Record], Iterator["Span"]]

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
        from tracerank.readers.telemetry.spans import run_of

        held = record.get(_SPANS)
        spans = held if isinstance(held, tuple) else tuple(piece.value for piece in self.pieces(record))
        if not spans:
            reject("no spans: expected a trace id and a span id, or an export that holds spans")
        if len({span.trace for span in spans}) > 1:
            reject("spans of several traces in one record; read the file as a whole")
        run = run_of(spans)
        if not run.dialogue.asked:
            reject(f"trace {spans[0].trace!r} has no question: expected it in the input of its root span")
        fields = {"references": list(run.references)} if run.references else {}
        return parsed_dialogue(fields, source, run.dialogue, label=run.label)


@cache
def _dialects() -> tuple[Dialect, ...]:
    """All that is known; every file is asked for spans, few have any, and only those import what reads them."""
    from tracerank.readers.telemetry.mlflow import mlflow_spans
    from tracerank.readers.telemetry.otel import otel_spans
    from tracerank.readers.telemetry.vendors import agents_spans, langfuse_spans, langsmith_spans

    return (otel_spans, langsmith_spans, agents_spans, langfuse_spans, mlflow_spans)


def _spans(record: Record) -> Iterator["Span"]:
    found = _own_spans(record)
    if found:
        yield from found
        return
    for key in _LISTS:  # a page of an API's answer
        items = record.get(key)
        if isinstance(items, list):
            yield from chain.from_iterable(_own_spans(item) for item in items if isinstance(item, Mapping))


def _own_spans(record: Record) -> list["Span"]:
    return next(filter(None, (list(dialect(record)) for dialect in _dialects())), [])
