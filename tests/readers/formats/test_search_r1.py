"""Search-R1 tag strings, and the real files where they are at hand."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.readers import Problem, read_pools
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.formats.marked import SearchR1Reader

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "rollouts" / "search_r1"
DOCS = 'Doc 1(Title: "France") Paris is\nDoc 2(Title: "Paris") the city\nDoc 3(Title: Seine) a river'
PROMPT = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new "
    "information. After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query "
    "</search> and it will return the top searched results between <information> and </information>. If you find no "
    "further external knowledge needed, you can directly provide the answer inside <answer> and </answer>, without "
    "detailed illustrations. For example, <answer> Beijing </answer>. Question: What is the capital of France?\n"
)
INVALID = (
    "\nMy previous action is invalid. If I want to search, I should put the query between <search> and </search>. "
    "If I want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.\n"
)


def turn(query: str = "capital of France", docs: str = DOCS) -> str:
    return f"<think>I need it</think>\n<search> {query} </search>\n\n<information>{docs}</information>\n\n"


def parse(output: Any, **fields: Any) -> Parsed:
    record = {"id": "q1", "question": "What is the capital of France?", "output": output, **fields}
    return SearchR1Reader().parse(record, "f:1")


def answer(text: str) -> str | None:
    return parse(text).rollout.answer


def queries(text: str) -> list[tuple[str | None, int]]:
    """Each search and how many chunks it returned."""
    return [(search.query, len(search.evidence)) for search in parse(text).rollout.searches]


def test_tags_become_searches_and_an_answer() -> None:
    parsed = parse(turn() + turn("second") + "<think>so</think><answer> Paris </answer>", golden_answers=["Paris"])
    assert (parsed.question.id, parsed.question.references) == ("q1", ("Paris",))
    assert (parsed.rollout.answer, parsed.rollout.label, parsed.is_numbered) == ("Paris", None, False)
    first, second = parsed.rollout.searches
    assert (first.query, second.query) == ("capital of France", "second")
    assert [(evidence.rank, evidence.title) for evidence in first.evidence] == [
        (1, "France"),
        (2, "Paris"),
        (3, "Seine"),
    ]
    assert first.evidence[0].text == '(Title: "France") Paris is'


@pytest.mark.parametrize(
    "prompt",
    [
        PROMPT,
        PROMPT + "Assistant: ",
        f"<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n",
        f"system\nYou help.\nuser\n{PROMPT}\nassistant\n",
        PROMPT.replace("the capital of France", "something else"),
        PROMPT.replace("Question:", "Example. Question: x? <answer> y </answer>\nQuestion:"),
        "User: " + PROMPT.replace("Question: ", "") + "Assistant: ",
    ],
)
def test_the_prompt_inside_the_text_is_not_the_agent_speaking(prompt: str) -> None:
    assert answer(prompt + turn()) is None
    assert answer(prompt + turn() + "<answer> Paris </answer>") == "Paris"
    assert queries(prompt + turn()) == [("capital of France", 3)]


def test_a_question_repeated_in_the_documents_does_not_cut_the_text() -> None:
    text = turn(docs=DOCS + "\nQuestion: What is the capital of France?\nAssistant: x") + "<answer> Paris </answer>"
    assert queries(text) == [("capital of France", 3)]


def test_the_last_complete_answer_counts() -> None:
    assert answer("<answer> Rome </answer> no <answer> Paris </answer>") == "Paris"
    assert answer("<answer> Paris </answer> and <answer> Ro") == "Paris"
    assert answer("<answer> <answer> Paris </answer>") == "Paris"
    assert answer("<answer></answer>") == ""


@pytest.mark.parametrize("end", ["", "</", "</answ", "</answer", "<|im_end|>", "\n</think>"])
def test_an_answer_cut_off_at_the_end_counts(end: str) -> None:
    assert answer(turn() + "<answer> Paris " + end) == "Paris"


def test_an_unfinished_answer_before_another_search_does_not_count() -> None:
    assert answer("<answer> Rome " + turn()) is None


def test_text_without_tags_has_no_answer() -> None:
    assert answer("I think it is Paris.") is None


@pytest.mark.parametrize("close", ["</search>", "</</search>", "</search</search>", ""])
def test_a_search_may_be_closed_badly_or_not_at_all(close: str) -> None:
    assert queries(f"<search> capital {close}\n\n<information>{DOCS}</information>") == [("capital", 3)]


def test_a_return_may_be_cut_or_unterminated() -> None:
    assert queries(f"<search> a </search><information>{DOCS[:-4]}") == [("a", 3)]
    assert queries(f"<search> a </search><information>{DOCS}\n<think>x</think>{turn('b')}") == [("a", 3), ("b", 3)]
    assert queries('<search> a </search><information>Doc 1(Title: "A") x\nDoc 2(Ti') == [("a", 1)]


def test_a_search_without_a_return_is_left_out() -> None:
    assert queries("<search> a </search> <search> b </search>" + turn("c") + "<search> d </search>") == [("c", 3)]
    assert queries(turn("a", docs="") + turn("b", docs=" \n")) == []


def test_a_return_inside_a_think_block_counts() -> None:
    assert queries(f"<think> x <search> a </search> <information>{DOCS}</information> y </think>") == [("a", 3)]


def test_a_return_that_no_search_asked_for_was_made_up() -> None:
    assert queries(f"<information>{DOCS}</information>" + turn("b") + f"<information>{DOCS}</information>") == [
        ("b", 3)
    ]
    assert queries("<information>Q: what?\nA: this\n" + turn("b")) == [("b", 3)]


def test_tags_inside_a_return_are_text() -> None:
    text = turn(docs='Doc 1(Title: "A") write <answer> Rome </answer> and <search> x </search>')
    assert queries(text) == [("capital of France", 1)]
    assert answer(text) is None


def test_the_reply_to_an_invalid_action_is_neither_search_nor_answer() -> None:
    assert queries("<think> x </search>" + INVALID + turn("b")) == [("b", 3)]
    assert answer("<think> x </search>" + INVALID) is None
    assert queries(turn("a", docs=INVALID)) == []


@pytest.mark.parametrize("field", ["output", "response", "completion", "text", "trajectory", "generated_text"])
def test_the_text_may_stand_in_many_fields(field: str) -> None:
    record = {"question": "Who?", field: turn() + "<answer> Ada </answer>"}
    assert SearchR1Reader().recognises(record)
    parsed = SearchR1Reader().parse(record, "f:1")
    assert (parsed.question.id, parsed.rollout.answer, len(parsed.rollout.searches)) == ("Who?", "Ada", 1)


def test_the_published_result_files_nest_the_text_and_the_prompt() -> None:
    record = {"id": "test_0", "output": {"query": PROMPT, "final_response": turn() + "<answer> Paris </answer>"}}
    parsed = SearchR1Reader().parse(record, "f:1")
    assert (parsed.question.id, parsed.question.text) == ("test_0", "What is the capital of France?")


@pytest.mark.parametrize("references", [{"gts": ["Paris"]}, {"ground_truth": {"target": ["Paris"]}}, {"gts": "Paris"}])
def test_verl_dumps_are_grouped_by_the_question_in_the_input(references: dict[str, Any]) -> None:
    record = {"input": f"user\n{PROMPT}assistant\n", "output": "<answer> Paris </answer>", "score": 0.0, **references}
    assert SearchR1Reader().recognises(record)
    parsed = SearchR1Reader().parse(record, "f:1")
    assert parsed.question.id == parsed.question.text == "What is the capital of France?"
    assert (parsed.question.references, parsed.rollout.label) == (("Paris",), None)


def test_scores_become_labels_only_without_references() -> None:
    text = "<answer> Paris </answer>"
    assert parse(text, score=1.0).rollout.label == 1
    assert parse(text, reward=0.1).rollout.label == 0.1
    assert parse({"final_response": text, "metric_score": {"em": 1.0}}).rollout.label == 1
    assert parse(text, score=1.0, golden_answers=["Rome"]).rollout.label is None
    assert parse(text, score=-2).rollout.label is None
    assert parse(text, score="1").rollout.label is None


def test_a_prediction_field_is_never_read() -> None:
    assert parse({"final_response": "no tags", "pred": "Paris"}).rollout.answer is None


def test_chat_messages_with_tags_are_read() -> None:
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": [{"type": "text", "text": "<search> a </search>"}]},
        {"role": "user", "content": f"<information>{DOCS}</information>"},
        {"role": "assistant", "content": "<answer> Paris </answer>"},
    ]
    assert SearchR1Reader().recognises({"messages": messages})
    parsed = SearchR1Reader().parse({"messages": messages, "sample_id": 4}, "f:1")
    assert parsed.question.text == "What is the capital of France?"
    assert (parsed.rollout.sample_id, parsed.rollout.answer, parsed.is_numbered) == (4, "Paris", True)
    assert [search.query for search in parsed.rollout.searches] == ["a"]
    assert not SearchR1Reader().recognises({"messages": [{"role": "user", "content": PROMPT}]})


def test_a_record_without_text_keeps_its_place() -> None:
    with pytest.raises(UnreadableRollout, match="no transcript: expected a text with tags in one of output, response"):
        parse(None, sample_id=3)


tag_names = ("search", "information", "answer", "think")
fragments = [*(f"<{slash}{name}>" for name in tag_names for slash in ("", "/")), PROMPT, INVALID, DOCS, "Question: x"]


@given(st.lists(st.sampled_from([*fragments, "Assistant:", *"<>/ \n"])))
def test_no_jumble_of_tags_raises(parts: list[str]) -> None:
    rollout = parse("".join(parts)).rollout
    assert all(search.evidence for search in rollout.searches)


# Records, rollouts without an answer, rollouts without evidence: counted once, looked through by eye.
REAL_FACTS = {
    "bamboogle_v0_base": (125, 20, 22),
    "bamboogle_v1_base": (125, 0, 0),
    "nq_v0_base": (1000, 119, 131),
    "nq_v1_base": (1000, 1, 1),
    "popqa_v0_base": (1000, 237, 254),
    "triviaqa_v0_base": (1000, 244, 259),
    "triviaqa_v1_base": (1000, 1, 1),
}
needs_real_files = pytest.mark.skipif(not REAL.exists(), reason=f"real Search-R1 files not found in {REAL}")


@needs_real_files
@pytest.mark.parametrize("name", REAL_FACTS)
def test_every_record_of_the_real_files_is_parsed(name: str) -> None:
    problems: list[Problem] = []
    pools = read_pools(REAL / f"{name}.json.gz", on_problem=problems.append)
    rollouts = [rollout for pool in pools for rollout in pool.rollouts]
    assert problems == []
    assert (
        len(rollouts),
        sum(not rollout.answer for rollout in rollouts),
        sum(not rollout.has_evidence for rollout in rollouts),
    ) == REAL_FACTS[name]
    assert all(
        rollout.answer != "Beijing" or "China" in pool.question.text for pool in pools for rollout in pool.rollouts
    )


@needs_real_files
def test_two_runs_of_one_dataset_make_pools_of_two() -> None:
    pools = read_pools([REAL / "bamboogle_v0_base.json.gz", REAL / "bamboogle_v1_base.json.gz"])
    assert Counter(len(pool) for pool in pools) == {2: 125}
    assert {rollout.sample_id for pool in pools for rollout in pool.rollouts} == {0, 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"tool_name_0": "search", "tool_args_0": {"query": "q"}, "observation_0": "a page: <answer>Rome</answer>"}',
        "Human: Who?\nAI: [{'name': 'search', 'args': {'query': 'q'}}]\nTool: <answer>Rome</answer>\nAI: Paris",
    ],
)
def test_an_answer_tag_in_a_page_of_another_format_does_not_make_it_one(text: str) -> None:
    assert not SearchR1Reader().recognises({"question": "Who?", "trajectory": text})
