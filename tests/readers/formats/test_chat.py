"""OpenAI chat messages in all their spellings, AggAgent's rows, and the fields around them."""

import json
import time
from typing import Any

import pytest
from hypothesis import strategies as st

from tracerank.pools.types import BROWSING, WEBQA, Rollout
from tracerank.readers.base import Parsed
from tracerank.readers.detect import READERS
from tracerank.readers.sources.record_fields import label_of, question_of, references_of, sample_id_of

READER = READERS["openai-chat"]
Message = dict[str, Any]
A, B = "https://a.org/x", "https://b.org/y"


def call(call_id: str | None, name: str, arguments: Any) -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Message, content: Any = None) -> Message:
    return {"role": "assistant", "content": content, "reasoning_content": "secret thought", "tool_calls": list(calls)}


def returned(call_id: str | None, content: Any, **fields: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def listing(*urls: str) -> str:
    return json.dumps([{"title": f"T {url[-1]}", "url": url, "snippet": f"about {url[-1]}"} for url in urls])


def said(content: Any) -> Message:
    return {"role": "assistant", "content": content}


SEARCHED = [calling(call("c1", "search", '{"query": "q"}')), returned("c1", listing(A))]


def record(*messages: Message, **fields: Any) -> dict[str, Any]:
    asked = {"role": "user", "content": [{"type": "text", "text": "Which"}, {"type": "text", "text": "city?"}]}
    return {"messages": [{"role": "system", "content": "You help."}, asked, *messages], **fields}


def parse(row: Any) -> Parsed:
    return READER.parse(row, "log.jsonl:1")


def rollout(*messages: Message, **fields: Any) -> Rollout:
    return parse(record(*messages, **fields)).rollout


def shape(*messages: Message) -> list[tuple[str | None, list[str]]]:
    """Each search with its evidence, the tool before the text."""
    found = rollout(*messages).searches
    return [(one.query, [f"{seen.tool}: {seen.text}" for seen in one.evidence]) for one in found]


def test_calls_and_returns_become_searches_and_the_last_message_the_answer() -> None:
    parsed = parse(record(*SEARCHED, said("Explanation: x\n\nExact Answer: Paris\n\nConfidence: 80%")))
    assert (parsed.question.id, parsed.question.text) == ("Which city?", "Which\ncity?")
    assert not parsed.is_numbered
    one = parsed.rollout
    assert (one.answer, one.confidence, one.label, one.setting, one.source) == (
        "Paris",
        0.8,
        None,
        WEBQA,
        "log.jsonl:1",
    )
    assert [(search.query, [seen.text for seen in search.evidence]) for search in one.searches] == [
        ("q", ['(Title: "T x") about x'])
    ]


def test_calls_without_ids_are_paired_in_order() -> None:
    calls = calling(call(None, "search", {"query": "a"}), call(None, "visit", {"url": B}))
    assert shape(calls, returned(None, "one"), returned(None, "two")) == [("a", ["search: one", "open: two"])]
    assert shape(calls, returned(None, "two", name="visit"), returned(None, "one", name="search")) == [
        ("a", ["search: one", "open: two"])
    ]
    assert shape(calls, calls, returned("x", "late")) == [("a", []), ("a", ["search: late"])]


def test_an_id_may_be_used_again() -> None:
    first, second = calling(call("0", "search", {"query": "a"})), calling(call("0", "search", {"query": "b"}))
    assert shape(first, returned("0", "one"), second, returned("0", "two")) == [
        ("a", ["search: one"]),
        ("b", ["search: two"]),
    ]


def test_legacy_function_calls_are_read() -> None:
    made = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": '{"query": "q"}'}}
    row = record(made, {"role": "function", "name": "search", "content": "found"}, said("Paris"))
    assert READER.recognises(row)
    assert [(one.query, one.evidence[0].text) for one in parse(row).rollout.searches] == [("q", "found")]


def test_a_call_to_a_recipient_is_read() -> None:
    made = {"role": "assistant", "channel": "commentary", "recipient": "functions.search", "content": '{"query": "q"}'}
    final = {"role": "assistant", "channel": "final", "content": "Paris"}
    thought = {"role": "assistant", "channel": "analysis", "content": "Rome"}
    row = record(made, returned(None, "found", name="functions.search"), final, thought)
    assert READER.recognises(row)
    assert parse(row).rollout.answer == "Paris"
    assert [(one.query, one.evidence[0].text) for one in parse(row).rollout.searches] == [("q", "found")]


def test_reasoning_and_plans_are_neither_answer_nor_evidence() -> None:
    one = rollout(said("First I will search."), *SEARCHED)
    assert one.answer is None
    one = rollout(*SEARCHED, said("Paris"), calling(call("c2", "save_note", {"note": "x"})), said(""), said(None))
    assert one.answer == "Paris"
    assert "secret" not in repr(one)


def test_citations_of_a_hosted_search_are_url_only_evidence() -> None:
    text = "Paris is the capital. ([a.org](https://a.org/x))"
    start = text.index("([")
    citation = {"url": A, "title": "T", "start_index": start, "end_index": len(text)}
    row = record({**said(text), "annotations": [{"type": "url_citation", "url_citation": citation}]})
    assert READER.recognises(row)
    (found,) = parse(row).rollout.searches
    assert (found.query, found.evidence[0].text, found.evidence[0].status) == (
        "",
        "T Paris is the capital.",
        "url_only",
    )


# ---- a page cannot become anything but a page


JUDGED = {
    "auto_judge": {"extracted_final_answer": "Lyon", "correctness": "incorrect", "confidence": 99, "reasoning": "no"},
    "correct": False,
    "reward": 0.0,
    "score": 0,
    "gpt4o_output": "the answer is wrong",
    "judge_explanation": "wrong",
}
PRAISED = {
    "auto_judge": {"extracted_final_answer": "Paris", "correctness": "correct", "confidence": 1, "reasoning": "yes"},
    "correct": True,
    "reward": 1.0,
    "score": 1,
    "gpt4o_output": "the answer is right",
    "judge_explanation": "right",
}


# ---- AggAgent


def aggagent(**changes: Any) -> dict[str, Any]:
    """A row of the published tables: structured columns are JSON strings, tool content is JSON once more."""
    visited = json.dumps(f"Successfully visited the url {A}.\n<Content>\nBody\n</Content>")
    google = f"A Google search for 'q' found 1 results:\n\n## Web Results\n1. [T]({A})\nSource: S\n\nsnippet"
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Which city?\n\nYour response should be in the following format: …"},
        {**calling(call("c1", "search", '{"query": "q"}'), content=""), "reasoning": "hm"},
        {**returned("c1", json.dumps(google)), "name": "search"},
        calling(call("c2", "visit", json.dumps({"url": A, "goal": "g"})), content=""),
        {**returned("c2", visited), "name": "visit"},
        said("## Explanation\nx\nExact Answer: Paris\nConfidence: 80%"),
    ]
    row = {
        "question": "Which city?",
        "instance": json.dumps({"question": "Which city?", "answer": "Paris, France"}),
        "metadata": "{}",
        "prediction": messages[-1]["content"],
        "termination": "answer",
        "cost": '{"rollout": 0.003}',
        "messages": messages,
        "auto_judge": json.dumps({"correctness": "correct", "extracted_final_answer": "Lyon", "confidence": 3}),
        **changes,
    }
    return {**row, "messages": json.dumps(row["messages"])}


def test_a_row_of_aggagent_is_read() -> None:
    assert READER.recognises(aggagent())
    parsed = parse(aggagent())
    assert (parsed.question.text, parsed.question.references) == ("Which city?", ("Paris, France",))
    one = parsed.rollout
    assert (one.answer, one.confidence, one.label, one.setting) == ("Paris", 0.8, 1.0, BROWSING)
    (found,) = one.searches
    assert [(seen.tool, seen.text, seen.url) for seen in found.evidence] == [
        ("search", '(Title: "T") snippet', A),
        ("open", "Body", A),
    ]


@pytest.mark.parametrize(
    ("judge", "label"),
    [
        ({"all_correct": True, "f1_score": 1.0, "judge_text": "{}"}, 1.0),
        ({"all_correct": False, "f1_score": 0.5, "judge_text": "{}"}, 0.0),
        ({"metrics": {"overall_score": 0.25}}, 0.25),
        ({"correctness": "incorrect", "judge_text": "no"}, 0.0),
        # The judge could not be reached: that says nothing about the answer.
        ({"all_correct": False, "judge_text": "Error: rate limit"}, None),
        ({}, None),
    ],
)
def test_the_judges_of_aggagent_give_labels(judge: dict[str, Any], label: float | None) -> None:
    assert parse(aggagent(auto_judge=json.dumps(judge))).rollout.label == label


def test_a_row_that_ended_with_a_server_error_has_no_answer() -> None:
    messages = [*SEARCHED, said("Server error")]
    assert parse(aggagent(messages=messages, prediction="Server error", termination="error")).rollout.answer is None


def test_a_cut_transcript_falls_back_to_the_prediction() -> None:
    assert parse(aggagent(messages=SEARCHED, prediction="Exact Answer: Rome")).rollout.answer == "Rome"
    assert parse(aggagent(messages=SEARCHED, prediction="[No Prediction]")).rollout.answer is None
    assert parse(aggagent(messages=SEARCHED, prediction=None, answer="Gold")).rollout.answer is None


def test_the_tools_of_browsecomp_plus_are_read() -> None:
    found = json.dumps([{"docid": "70", "score": 0.5, "snippet": "s"}])
    messages = [
        calling(call("c1", "search", '{"query": "q"}')), returned("c1", found),
        calling(call("c2", "get_document", '{"docid": "70"}')), returned("c2", '{"docid": "70", "text": "whole"}'),
    ]  # fmt: skip
    (search,) = rollout(*messages).searches
    assert [(seen.tool, seen.document and seen.document.key) for seen in search.evidence] == [
        ("search", "doc:70"),
        ("open", "doc:70"),
    ]


# ---- the fields of a record


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
def test_beside_references_the_answer_is_the_agents_and_beats_its_last_words(name: str) -> None:
    one = parse(record(*SEARCHED, said("I would say it is Rome."), **{"answer": "Rome", name: ["Paris"]}))
    assert (one.rollout.answer, one.question.references) == ("Rome", ("Paris",))
    same = parse(record(*SEARCHED, said("I would say it is Lyon."), **{"answer": "Paris", name: "Paris"}))
    assert same.rollout.answer == "I would say it is Lyon."  # the reference twice, as some sets have it


def test_a_final_answer_beats_the_last_words() -> None:
    assert rollout(*SEARCHED, said("Let me know if I can help."), final_answer="Rome").answer == "Rome"
    assert rollout(*SEARCHED, said("It is Rome."), final_answer=" ").answer == "It is Rome."


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
    assert rollout(*SEARCHED, **fields).answer is None


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


# ---- recognition and bad input


def test_messages_of_other_makers_are_not_recognised() -> None:
    langchain = {"type": "ai", "tool_calls": [{"name": "search", "args": {}, "id": "1"}]}
    anthropic = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "search", "input": {}}]}
    tagged = said('<tool_call>\n{"name": "search"}\n</tool_call>')
    for message in (langchain, anthropic, tagged, said("x")):
        assert not READER.recognises({"messages": [message]})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("role", "content", "tool_calls", "function", "name", "arguments", "id", "type", "text")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def test_very_many_unanswered_calls_are_quick() -> None:
    messages = [calling(call(f"c{i}", "search", {"query": "q"})) for i in range(5000)]
    messages += [returned(f"c{i}", "x") for i in range(0, 5000, 2)]
    start = time.process_time()
    assert len(rollout(*messages).searches) == 5000
    assert time.process_time() - start < 20


def test_messages_as_the_openai_library_writes_them_are_read() -> None:
    types = pytest.importorskip("openai.types.chat", reason="needs openai")
    completion = types.ChatCompletion.model_validate(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": calling(
                        call("c1", "web_search", '{"query": "a"}'), call("c2", "web_search", '{"query": "b"}')
                    ),
                }
            ],
        }
    )
    final = types.ChatCompletionMessage.model_validate({**said("Exact Answer: Paris"), "refusal": None})
    dumped = completion.choices[0].message.model_dump()
    assert "function_call" in dumped  # the library writes absent fields, too
    for made in (dumped, completion.choices[0].message.model_dump(exclude_unset=True)):
        row = record(made, returned("c2", "two"), returned("c1", "one"), final.model_dump())
        assert READER.recognises(row)
        one = parse(json.loads(json.dumps(row))).rollout
        assert one.answer == "Paris"
        assert [(s.query, s.evidence[0].text) for s in one.searches] == [("a", "one"), ("b", "two")]


def test_citations_as_the_openai_library_writes_them_are_read() -> None:
    types = pytest.importorskip("openai.types.chat", reason="needs openai")
    citation = {"url": A, "title": "T", "start_index": 0, "end_index": 5}
    annotated = {**said("Paris."), "annotations": [{"type": "url_citation", "url_citation": citation}]}
    row = record(types.ChatCompletionMessage.model_validate(annotated).model_dump())
    assert READER.recognises(row)
    assert [seen.url for seen in parse(row).rollout.searches[0].evidence] == [A]


def test_in_a_group_the_words_of_the_one_who_called_are_the_agents() -> None:
    searched = [{**SEARCHED[0], "name": "ada"}, SEARCHED[1]]
    last = {"role": "user", "name": "ada", "content": "Paris"}
    assert rollout(*searched, last).answer == "Paris"
    assert rollout(*searched, {**last, "name": "bob"}).answer is None
