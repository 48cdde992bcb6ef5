"""Rows of the official WebQA rollouts."""

from typing import Any

import pytest

from tracerank.errors import MalformedRollout
from tracerank.pools.types import Search
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.formats.webqa import WebQAReader, integer_of, references_of

RETURN = 'Doc 1(Title: "A") x\nDoc 2(Title: "B") y\nDoc 3(Title: "C") z'


def row(**changes: Any) -> dict[str, Any]:
    return {
        "question_index": 7,
        "question": "Who?",
        "golden_answers": ["Ada"],
        "sample_id": 3,
        "answer": " Ada\n",
        "steps": [search("first"), {"action": "answer", "content": "Ada"}],
        **changes,
    }


def search(query: Any, returned: Any = RETURN, action: str = "search") -> dict[str, Any]:
    return {"action": action, "content": query, "search_result": returned}


def parse(**changes: Any) -> Parsed:
    return WebQAReader().parse(row(**changes), "rows.jsonl:1")


def searches(*steps: Any) -> tuple[Search, ...]:
    return parse(steps=list(steps)).rollout.searches


def test_a_row_becomes_a_rollout_of_its_question() -> None:
    parsed = parse(dataset="nq")
    assert (parsed.question.id, parsed.question.text, parsed.question.dataset) == ("7", "Who?", "nq")
    assert parsed.question.references == ("Ada",)
    assert (parsed.rollout.sample_id, parsed.rollout.answer, parsed.rollout.source) == (3, "Ada", "rows.jsonl:1")
    assert parsed.rollout.label is None
    assert parsed.is_numbered
    (only,) = parsed.rollout.searches
    assert only.query == "first"
    assert [(evidence.rank, evidence.text) for evidence in only.evidence] == [
        (1, '(Title: "A") x'),
        (2, '(Title: "B") y'),
        (3, '(Title: "C") z'),
    ]


def test_the_question_id_wins_over_the_index() -> None:
    assert parse(question_id="wq-1").question.id == "wq-1"
    assert parse(question_id=None).question.id == "7"
    assert parse(question_index=None).question.id == "Who?"


def test_the_question_text_stays_as_given() -> None:
    assert parse(question=" Who?  ").question.text == " Who?  "


def test_references_may_be_a_list_a_string_or_missing() -> None:
    assert parse(golden_answers="Ada").question.references == ("Ada",)
    assert parse(golden_answers=None).question.references == ()
    assert references_of({"target": ["a", 1, None, ""]}) == ("a", "1")
    assert references_of({"ground_truth": {"target": "a"}}) == ("a",)


def test_an_answer_may_be_null_blank_or_a_number() -> None:
    assert parse(answer=None).rollout.answer is None
    assert parse(answer="  ").rollout.answer == ""
    assert parse(answer=1984).rollout.answer == "1984"


def test_blank_returns_create_no_search() -> None:
    assert searches(search("a", ""), search("b", " \n"), search("c", None), {"action": "search", "content": "d"}) == ()
    assert searches(search("a", "No results found.")) == ()


def test_a_search_without_text_keeps_its_evidence_under_an_empty_query() -> None:
    assert [found.query for found in searches(search(""), search(None), search("  "), search(["x"]))] == [""] * 4


def test_queries_are_normalised() -> None:
    assert searches(search("  cafe\u0301  x\n"))[0].query == "café x"


def test_a_step_with_a_return_is_a_search_whatever_its_action() -> None:
    assert [found.query for found in searches(search("q", action="lookup"))] == ["q"]


def test_malformed_steps_are_skipped_and_null_steps_are_none() -> None:
    assert [found.query for found in searches("text", None, 3, [], search("q"), search("r", {"no": "text"}))] == ["q"]
    assert parse(steps=None).rollout.searches == ()


def test_a_row_without_sample_id_is_numbered_by_its_place() -> None:
    assert not parse(sample_id=None).is_numbered
    assert not parse(sample_id="a3f").is_numbered
    assert parse(sample_id="12").rollout.sample_id == 12
    assert integer_of(2.0) == 2
    assert integer_of(True) is None


@pytest.mark.parametrize(("field", "value"), [("answer", ["x"]), ("answer", True), ("steps", "x"), ("question", 5)])
def test_a_wrong_type_names_the_field_and_keeps_the_place(field: str, value: Any) -> None:
    with pytest.raises(UnreadableRollout, match=rf"field '{field}': expected") as caught:
        parse(**{field: value})
    assert (caught.value.question.id, caught.value.sample_id) == ("7", 3)


def test_a_row_without_question_and_index_has_no_place() -> None:
    with pytest.raises(MalformedRollout, match="question") as caught:
        parse(question=None, question_index=None)
    assert not isinstance(caught.value, UnreadableRollout)


def test_rows_are_recognised_by_their_fields() -> None:
    reader = WebQAReader()
    assert reader.recognises(row())
    assert reader.recognises(row(steps=None))
    assert not reader.recognises({"steps": [], "schema_version": "ATIF-v1.7"})
    assert not reader.recognises({"question": "Who?", "messages": []})
