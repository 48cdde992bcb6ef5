"""Pools written as ATIF trajectories: the shape that other programs expect, and nothing lost on the way back."""

import json
from typing import Any

import pytest
from hypothesis import given

from tests.pools.test_canonical import questions, rollouts
from tracerank.errors import MalformedRollout
from tracerank.pools.atif_export import rollout_of_trajectory, rollout_to_trajectory, was_exported
from tracerank.pools.types import BROWSING, Document, Evidence, Question, Rollout, Search, View

A = "https://a.org/x"
QUESTION = Question("q/1", "Which city?", ("Paris",), "demo")
PAGE = Document(f"url:{A}", url=A)
ROLLOUT = Rollout(
    4,
    "<answer>Paris</answer>\nConfidence: 3%",
    (
        Search(None, (Evidence("orphan", tool="open"),)),
        Search("first query", (
            Evidence('(Title: "T") text', "T", A, 1, document=PAGE, event=1),
            Evidence("page one", None, A, tool="open", document=PAGE),
            Evidence("T cited words", "T", "https://b.org", 2, status="url_only"),
            Evidence("one\n\ntwo", tool="find", event=3),
        ), 7),
        Search("", ()),
        Search(None, ()),
    ),
    label=0.5,
    confidence=0.25,
    setting=BROWSING,
    views=(View(1, "search", None, 0, True),),
    source="log.jsonl:3",
)  # fmt: skip


def back(trajectory: dict[str, Any]) -> tuple[Question, Rollout]:
    row = rollout_of_trajectory(json.loads(json.dumps(trajectory)))
    return row.question, row.rollout


def test_a_rollout_comes_back_as_it_was() -> None:
    assert back(rollout_to_trajectory(QUESTION, ROLLOUT)) == (QUESTION, ROLLOUT)
    for one in (Rollout(0, None), Rollout(1, ""), Rollout(2, None, problem="broken"), Rollout(3, "\ud800")):
        assert back(rollout_to_trajectory(QUESTION, one)) == (QUESTION, one)


@given(questions, rollouts)
def test_any_rollout_comes_back_as_it_was(question: Question, rollout: Rollout) -> None:
    assert back(rollout_to_trajectory(question, rollout)) == (question, rollout)


def test_a_trajectory_has_the_shape_that_others_expect() -> None:
    row = rollout_to_trajectory(QUESTION, ROLLOUT)
    assert row["schema_version"].startswith("ATIF-v1.")
    assert set(row["agent"]) >= {"name", "version"}
    assert [step["step_id"] for step in row["steps"]] == list(range(1, len(row["steps"]) + 1))
    assert [step["source"] for step in row["steps"]][:2] == ["user", "agent"]
    assert (row["steps"][0]["message"], row["steps"][-1]["message"]) == (QUESTION.text, ROLLOUT.answer)
    made = [call for step in row["steps"] for call in step.get("tool_calls", ())]
    assert [(call["function_name"], call["arguments"]) for call in made] == [
        ("open", {}), ("search", {"query": "first query"}), ("open", {"url": A}), ("find", {}),
        ("search", {"query": ""}), ("search", {}),
    ]  # fmt: skip
    ids = [call["tool_call_id"] for call in made]
    assert len(set(ids)) == len(ids)
    for step in row["steps"]:
        assert isinstance(step["message"], str)
        for result in step.get("observation", {}).get("results", ()):
            assert result["source_call_id"] in [call["tool_call_id"] for call in step["tool_calls"]]
            assert isinstance(result["content"], str)
    assert (row["extra"]["question_id"], row["extra"]["sample_id"]) == ("q/1", 4)


def test_a_trajectory_that_was_changed_is_refused_with_a_reason() -> None:
    row = rollout_to_trajectory(QUESTION, ROLLOUT)
    assert was_exported(row)
    assert not was_exported({**row, "extra": {"schema": "other/1"}})
    with pytest.raises(MalformedRollout, match="'searches'"):
        rollout_of_trajectory({**row, "extra": {**row["extra"], "searches": 3}})
