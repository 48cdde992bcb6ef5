"""Spans as real tracers write them; ``make_spans.py`` beside this made the files."""

from pathlib import Path

import pytest

from tracerank.readers import read_pools

_SPANS = Path(__file__).parent / "spans"


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
