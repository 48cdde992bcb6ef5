"""Messages that a real smolagents agent makes of its memory: calls and observations printed into them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import Rollout
from tracerank.readers import read_pools

TASK = "Who wrote the first program?"
ADA = "[1] Ada\nhttps://a.org/ada\nShe wrote it."


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def calling(*calls: tuple[str, object]) -> dict[str, Any]:
    listed = [{"id": "c", "type": "function", "function": {"name": name, "arguments": given}} for name, given in calls]
    return said("tool-call", f"Calling tools:\n{listed}")


def observed(text: str) -> dict[str, Any]:
    return said("tool-response", f"Observation:\n{text}")


STARTED = (said("system", "Calling tools:\n[]"), said("user", f"New task:\n{TASK}"))
HANDED_IN = (calling(("final_answer", {"answer": "Ada"})), observed("Ada"))


def read(folder: Path, record: Any) -> tuple[str, Rollout]:
    path = folder / "log.jsonl"
    path.write_text(json.dumps(record) + "\n")
    (pool,) = read_pools(path)
    (rollout,) = pool.rollouts
    return pool.question.text, rollout


@pytest.mark.parametrize("field", ["messages", "intermediate_steps", None])
def test_calls_and_observations_become_searches(field: str | None, tmp_path: Path) -> None:
    run = [
        *STARTED,
        said("assistant", "I look."),
        calling(("web_search", {"query": "it's"})),
        observed(ADA),
        *HANDED_IN,
    ]
    asked, rollout = read(tmp_path, run if field is None else {field: run, "model": "m"})
    assert (asked, rollout.answer) == (TASK, "Ada")
    assert [(search.query, len(search.evidence)) for search in rollout.searches] == [("it's", 1)]


def test_two_calls_whose_returns_are_joined_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    calls = calling(("web_search", {"query": "one"}), ("web_search", {"query": "two"}))
    _, rollout = read(tmp_path, [*STARTED, calls, observed(f"{ADA}\n{ADA}"), *HANDED_IN])
    assert [(search.query, len(search.evidence)) for search in rollout.searches] == [("one", 1), ("two", 1)]


def test_a_tool_that_raised_is_a_search_without_evidence_told_by_its_error(tmp_path: Path) -> None:
    error = "Error:\nError executing tool 'web_search' with arguments {'query': 'one'}: RuntimeError: 503\nNow retry"
    _, rollout = read(tmp_path, [*STARTED, said("tool-response", error), *HANDED_IN])
    assert [(search.query, search.evidence) for search in rollout.searches] == [("one", ())]
    assert rollout.answer == "Ada"
    _, failed = read(tmp_path, [*STARTED, said("tool-response", error), said("tool-response", "Error:\nMax steps.")])
    assert (len(failed.searches), failed.answer) == (1, None)


def test_code_is_read_for_its_calls_and_its_last_output(tmp_path: Path) -> None:
    run = [
        *STARTED,
        calling(("python_interpreter", "print(web_search('one'))")),
        observed(f"Execution logs:\n{ADA}\nLast output from code snippet:\nNone"),
        calling(("python_interpreter", "final_answer(name)")),
        observed("Execution logs:\nLast output from code snippet:\nAda Lovelace"),
    ]
    _, rollout = read(tmp_path, run)
    assert [(search.query, len(search.evidence)) for search in rollout.searches] == [("one", 1)]
    assert rollout.answer == "Ada Lovelace"


def test_words_at_the_end_of_a_run_that_reached_its_limit_are_its_answer(tmp_path: Path) -> None:
    run = [*STARTED, calling(("web_search", {"query": "one"})), observed(ADA), said("assistant", "Ada, I think.")]
    assert read(tmp_path, run)[1].answer == "Ada, I think."
