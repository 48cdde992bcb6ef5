"""Spans of decisions, seen by a stand-in for OpenTelemetry's tracer."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import tracerank as tr
from tests.served import served
from tests.serving.held import post

NAME = "tracerank"


class Tracer:
    """Keeps the attributes of finished spans."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, Any]]] = []

    @contextmanager
    def start_as_current_span(self, name: str) -> Iterator[Any]:
        attributes: dict[str, Any] = {}
        yield SimpleNamespace(set_attributes=attributes.update)
        self.spans.append((name, attributes))


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Tracer:
    api, own = pytest.importorskip("opentelemetry.trace"), Tracer()
    make = api.get_tracer
    # Other libraries make spans, too.
    monkeypatch.setattr(
        api, "get_tracer", lambda name, *rest, **more: own if name == NAME else make(name, *rest, **more)
    )
    return own


def test_a_decision_is_a_span_without_texts(tracer: Tracer) -> None:
    tr.decide("Capital of France?", ["Paris", "Rome", "Paris", None], method="majority")
    tr.run_best_of(lambda question: "Paris", "Capital of France?", k=2, method="majority")
    assert [name for name, _ in tracer.spans] == ["tracerank.decide"] * 2
    attributes = tracer.spans[0][1]
    assert 0 < attributes.pop("tracerank.rank_score") < 1
    assert attributes == {
        "tracerank.method": "majority",
        "tracerank.rollouts": 4,
        "tracerank.dropped": 1,
        "tracerank.agree": 2,
        "tracerank.sample_id": 0,
    }


def test_the_service_makes_a_span_for_each_decision(tracer: Tracer) -> None:
    pytest.importorskip("fastapi")
    from tracerank.serving.app import create_app

    with served(create_app(tr.load_method("majority"))) as url:
        post(url, "/v1/select", {"question": "Q?", "rollouts": ["Paris", "Rome", "Paris"]})
    assert [attributes["tracerank.agree"] for _, attributes in tracer.spans] == [2]
