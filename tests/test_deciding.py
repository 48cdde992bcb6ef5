"""One question and its answers, decided in one call."""

import pytest

import tracerank as tr
from tests.builders import ranked, rollout
from tests.readers.sample_records import SAMPLES
from tracerank.errors import ReadError, UsageError
from tracerank.evidence.selector import NO_EVIDENCE

QUESTION = "What is the capital of France?"


def test_an_answer_of_the_list_comes_back_as_it_stands() -> None:
    answers = ["Rome", "**Paris**", "Answer: Paris ", "Rome?", "It is Paris."]
    decision = tr.decide(QUESTION, answers)
    assert decision.sample_id is not None
    assert decision.answer == answers[decision.sample_id]
    assert decision.group == (1, 2, 4)
    assert decision.note == NO_EVIDENCE


def test_rollouts_may_be_records_of_any_format_rollouts_or_texts() -> None:
    searched = {
        "messages": [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "Paris is the capital."},
            {"role": "assistant", "content": "Paris"},
        ]
    }
    talked = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "Paris"}]}
    given = [{"answer": "Rome"}, searched, talked, {"response": "Final answer: Rome"}, rollout("Rome"), "Rome", None]
    decision = tr.decide(QUESTION, rollouts=given, method="majority")
    assert (decision.answer, decision.scores) == ("Rome", {0: 4.0, 1: 2.0, 2: 2.0, 3: 4.0, 4: 4.0, 5: 4.0})
    assert decision.dropped == {6: "no answer"}
    assert decision.note is None  # one of them shows what it saw


def test_fields_may_have_other_names() -> None:
    given = [{"data": {"said": answer}} for answer in ("Rome", "Paris", "Paris")]
    assert tr.decide(QUESTION, given, fields={"answer": "data.said"}).answer == "Paris"


def test_a_method_is_named_or_given() -> None:
    answers = ["Rome", "Paris", "paris"]
    assert tr.decide(QUESTION, answers, method="single").answer == "Rome"
    assert tr.decide(QUESTION, answers, method=tr.load_method("majority")).answer == "Paris"
    assert tr.decide(QUESTION, answers, method="evidence").answer == tr.decide(QUESTION, answers).answer
    seen = rollout("Rome", ranked("capital", "Rome it is."))
    assert tr.decide(QUESTION, [seen, "Paris"], method="majority").note is None


def test_what_cannot_be_decided_on_is_refused_with_a_way_out() -> None:
    for wrong in (lambda: tr.decide(QUESTION), lambda: tr.decide(QUESTION, ["a"], rollouts=["a"])):
        with pytest.raises(UsageError, match="give answers or rollouts"):
            wrong()
    with pytest.raises(UsageError, match="expected a list of answers or rollouts, got str"):
        tr.decide(QUESTION, "Paris")
    with pytest.raises(UsageError, match="item 1: expected a text, a rollout or a record, got int"):
        tr.decide(QUESTION, ["Paris", 1])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="no method or folder is called 'tarot'"):
        tr.decide(QUESTION, ["Paris"], method="tarot")
    with pytest.raises(ReadError, match="try --map answer=spoken_text"):
        tr.decide(QUESTION, [{"spoken_text": "Paris"}])
    assert tr.decide(QUESTION, []).answer is None


def test_records_of_a_format_with_numbers_of_its_own_keep_their_places() -> None:
    sample = SAMPLES["inspect"]
    decision = tr.decide(QUESTION, rollouts=[{**sample, "epoch": 5}, "Rome", {**sample, "epoch": 2}])
    assert (decision.answer, decision.sample_id, decision.dropped) == ("Ada", 0, {})


def test_a_decision_without_an_answer_says_why() -> None:
    assert tr.decide("Capital of France?", []).note == "no answers were given"
    failed = tr.decide("Capital of France?", [None, ""])
    assert failed.answer is None
    assert "no rollout has a usable answer" in (failed.note or "")
    assert set(failed.dropped) == {0, 1}
