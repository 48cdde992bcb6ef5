"""What files hold, from Python: counts as plain values."""

import json

from tests.builders import pool_of, ranked, rollout
from tracerank.pools.types import WEBQA
from tracerank.readers.base import Problem
from tracerank.readers.inspection import Inspection


def test_a_problem_is_one_line() -> None:
    assert str(Problem("a.jsonl:3", "calls to web\n\n_search")) == "a.jsonl:3: calls to web  _search"


def test_the_record_is_plain_json_with_counts_examples_and_warnings() -> None:
    found = Inspection()
    found.add_format("canonical")
    found.add_problem(Problem("pools.jsonl:3", "not JSON"))
    found.add(pool_of(rollout("Paris", ranked("capital", "It is Paris."), label=1.0), rollout(None)), {1: "no answer"})
    record = json.loads(json.dumps(found.record()))
    assert record["formats"] == {"canonical": 1}
    assert record["settings"] == {WEBQA: 2}
    assert record["sizes"] == {"2": 1}
    assert (record["searches"], record["labels"], record["right"]) == (1, 1, 1.0)
    assert record["dropped"]["no answer"]["count"] == 1
    assert "pools.jsonl:3" in record["problems"]["not JSON"]["example"]
    assert record["warnings"] == found.warnings()
