"""Spans as real tracers write them: LangChain and smolagents by OpenInference, Strands by its own; three spellings."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import Rollout
from tracerank.readers import pools_of_records, read_pools

_SPANS = Path(__file__).parent / "spans"
_RUNS = Path(__file__).parents[1] / "sdk_logs" / "fixtures" / "openinference"


@pytest.mark.parametrize("tracer", ["langchain", "smolagents", "strands"])
@pytest.mark.parametrize("spelling", ["camel.json", "snake.json", "console.txt"])
def test_a_traced_agent_is_one_rollout_with_its_search(tracer: str, spelling: str) -> None:
    (pool,) = read_pools(_SPANS / f"{tracer}-{spelling}")
    assert pool.question.text == "Which city is the capital of Norway?"
    (rollout,) = pool.rollouts
    assert rollout.answer is not None
    assert "Oslo" in rollout.answer
    (search,) = rollout.searches
    assert search.query == "capital of Norway"
    shown = [(evidence.title, evidence.url) for evidence in search.evidence]
    assert shown == [("Oslo", "https://a.org/oslo"), ("Bergen", "https://b.org/bergen")]


@pytest.mark.parametrize("tracer", ["langchain", "smolagents", "smolagents_code"])
def test_traces_of_many_runs_in_one_file_are_read_like_files_of_one(tracer: str, tmp_path: Path) -> None:
    files = sorted((_RUNS / tracer).glob("*.gz"))
    (tmp_path / "all.jsonl.gz").write_bytes(b"".join(path.read_bytes() for path in files))
    found = read_pools(tmp_path / "all.jsonl.gz")
    assert [len(pool.rollouts) for pool in found] == [2, 2]
    assert [[_seen(one) for one in pool.rollouts] for pool in found] == [
        [_seen(one) for one in pool.rollouts] for pool in read_pools(_RUNS / tracer)
    ]


def _seen(rollout: Rollout) -> tuple[str | None, list[tuple[str | None, int]]]:
    return rollout.answer, [(search.query, len(search.evidence)) for search in rollout.searches]


@pytest.mark.parametrize(
    ("parameters", "query"),
    [
        ('{"top": {"type": "integer"}, "topic": {"type": "string"}}', "fjords"),
        ('{"type": "object", "properties": {"top": {}, "topic": {}}}', "fjords"),
        (None, "fjords"),
        ("{", "fjords"),
    ],
)
def test_arguments_given_by_place_are_named_by_the_tools_parameters(parameters: str | None, query: str) -> None:
    given: Any = {"args": [3], "kwargs": {"topic": "fjords"}, "sanitize_inputs_outputs": False}
    assert _query(given, parameters) == query
    given = {"args": [3, "fjords"], "kwargs": {}}
    assert _query(given, parameters) == (query if parameters and len(parameters) > 1 else "")
    assert _query({"args": ["fjords", 3], "kwargs": {}}, None) == "fjords"


def _query(given: Any, parameters: str | None) -> str | None:
    tool = {"tool.name": "web_search", "input.value": json.dumps(given), "output.value": "Deep."}
    tool |= {} if parameters is None else {"tool.parameters": parameters}
    asked = {"openinference.span.kind": "AGENT", "input.value": "How deep?", "output.value": "1,308 m"}
    spans = [
        {"context": {"trace_id": "t", "span_id": "a"}, "name": "agent", "attributes": asked},
        {
            "context": {"trace_id": "t", "span_id": "b"},
            "parent_id": "a",
            "name": "SimpleTool",
            "attributes": {"openinference.span.kind": "TOOL", **tool},
        },
    ]
    ((search,),) = (rollout.searches for pool in pools_of_records(spans) for rollout in pool.rollouts)
    query: str | None = search.query
    return query
