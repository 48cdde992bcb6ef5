"""The fields around a transcript: questions, references, labels and numbers under the names that people give them."""

from typing import Any

import pytest

from tracerank.readers.sources.record_fields import (
    explicit_answer,
    label_of,
    question_of,
    references_of,
    sample_id_of,
)


@pytest.mark.parametrize(
    ("fields", "identity", "text"),
    [
        ({"question": "Who?", "qid": 7}, "7", "Who?"),
        ({"query": " Who  is? "}, "Who is?", "Who  is?"),
        ({"task": "agent/multiturn_search", "prompt": "Who is it?"}, "Who is it?", "Who is it?"),
        ({"instance": {"question": "Who?"}, "task_id": "t1"}, "t1", "Who?"),
        ({"prompt": [{"role": "user", "content": "Who is it?"}]}, "Who is it?", "Who is it?"),
        ({"question": "Who?", "id": "q1"}, "q1", "Who?"),
        ({"question": "Who?", "id": "0f8fad5b-d9cb-469f-a165-70867728950e"}, "Who?", "Who?"),
        ({"question": "Who?", "id": "chatcmpl-abc"}, "Who?", "Who?"),
        ({"question": ["Who?"], "qid": True}, "Asked?", "Asked?"),
        ({}, "Asked?", "Asked?"),
    ],
)
def test_the_question_is_found_in_any_of_its_fields(fields: dict[str, Any], identity: str, text: str) -> None:
    question = question_of(fields, "Asked?")
    assert question is not None
    assert (question.id, question.text) == (identity, text)


@pytest.mark.parametrize(
    "name", ["expected", "target", "gold", "ground_truth", "references", "golden_answers", "expected_answer", "ideal"]
)
def test_beside_references_the_answer_is_the_agents(name: str) -> None:
    assert explicit_answer({"answer": "Rome", name: ["Paris"]}) == "Rome"
    assert references_of({"answer": "Rome", name: ["Paris"]}) == ("Paris",)
    assert explicit_answer({"answer": "Paris", name: "Paris"}) is None  # the reference twice, as some sets have it


def test_a_final_answer_is_explicit_unless_it_is_empty() -> None:
    assert explicit_answer({"final_answer": "Rome"}) == "Rome"
    assert explicit_answer({"final_answer": " "}) is None


@pytest.mark.parametrize(
    ("fields", "references"),
    [
        ({"answer": "Paris"}, ("Paris",)),
        ({"answer": [["Paris"], "Paris", None, ""]}, ("Paris",)),
        ({"answer": '["Paris", "City of Light"]'}, ("Paris", "City of Light")),
        ({"instance": {"answer": 42}}, ("42",)),
        ({"reward_model": {"ground_truth": {"target": ["Paris"]}}}, ("Paris",)),
        ({"answer": None}, ()),
    ],
)
def test_the_answer_beside_a_transcript_is_the_reference(fields: dict[str, Any], references: tuple[str, ...]) -> None:
    assert references_of(fields) == references
    assert explicit_answer(fields) is None


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"correct": True}, 1.0),
        ({"is_correct": "False"}, 0.0),
        ({"label": "Correct"}, 1.0),
        ({"score": 0.5}, 0.5),
        ({"reward": -1}, None),
        ({"score": 7}, None),
        ({"score": float("nan")}, None),
        ({"label": "Paris"}, None),
        ({"final_judge_result": "CORRECT"}, 1.0),
        ({"correct": None, "evaluation": {"is_correct": 0}}, 0.0),
    ],
)
def test_labels_are_read_in_any_spelling(fields: dict[str, Any], label: float | None) -> None:
    assert label_of(fields) == label


def test_sample_ids_are_numbers() -> None:
    assert sample_id_of({"traj_idx": "3"}) == 3
    assert sample_id_of({"sample_id": None, "attempt": 2}) == 2
    assert sample_id_of({"sample_id": "a", "seed": True}) is None
