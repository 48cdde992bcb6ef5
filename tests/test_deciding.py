"""One question and its answers, decided in one call."""

import json

import pytest

import tracerank as tr
from tests.builders import pool_of, ranked, rollout
from tests.readers.sample_records import SAMPLES
from tracerank.errors import ReadError, UsageError
from tracerank.evidence.selector import NO_EVIDENCE

QUESTION = "What is the capital of France?"
POOL = pool_of(*(rollout(answer, ranked("capital", "Paris it is.")) for answer in ("Rome", "Paris", "Paris")))


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


def test_a_decision_is_shown_short_and_in_plain_values() -> None:
    decision = tr.decide("Capital of <b>France</b>?", ["<script>Paris", "Rome", "<script>Paris"])
    assert repr(decision).startswith("Decision(question_id='request', answer='<script>Paris', sample_id=0")
    assert "None" not in repr(decision)
    assert json.loads(json.dumps(decision.to_dict()))["group"] == [0, 2]
    result = tr.run_best_of(lambda question: "<script>", "<script>?", k=2)
    reports = tr.compare_reports("On <b>?", ["<script> The Orn is a river. " * 9, "The Orn is <b> a river. " * 9])
    for shown in (decision, result, result.pool, reports):
        assert "&lt;" in shown._repr_html_()
        assert "<script>" not in shown._repr_html_()


def test_many_pools_show_how_good_their_agent_is() -> None:
    pools = [tr.Pool.of(tr.Question(str(number), f"Q {number}?"), POOL.rollouts) for number in range(12)]
    assert {decision.basis for decision in tr.decide_pools(pools)} == {"pools"}
    assert {decision.basis for decision in tr.decide_pools(pools, method=tr.load_method())} == {None}
    assert [decision.answer for decision in tr.decide_pools(iter(pools[:2]), method="single")] == ["Rome", "Rome"]
    assert tr.decide_pools([]) == []


def test_a_frame_gets_a_row_for_each_question() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"asked": [QUESTION] * 3 + ["And of Italy?"], "said": ["Rome", "Paris", "paris", "Rome"]})
    found = tr.decide_frame(frame, fields={"question": "asked", "answer": "said"})
    assert found[["question", "answer", "agree", "rollouts"]].to_numpy().tolist() == [
        [QUESTION, "Paris", 2, 3],
        ["And of Italy?", "Rome", 1, 1],
    ]
