"""A rollout as a chat model is shown it: steps, solutions, budgets."""

import json

import pytest

from tests.builders import browsed, opened, ranked, rollout
from tracerank.chat.asking import count_words, cut_words, fit_words, quoted
from tracerank.chat.transcripts import Step, described, solution_of, steps_of, transcript_lines
from tracerank.endpoints.chat import ChatMessage, ToolCall
from tracerank.pools.types import Rollout


def test_steps_are_rebuilt_from_searches_evidence_and_answer() -> None:
    made = rollout("Paris", ranked("capital", "one", "two"), browsed(None, opened("a page")))
    steps = steps_of(made)
    assert [step.role for step in steps] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert [step.tools for step in steps] == [("search",), (), ("open",), (), ()]
    assert steps[1].text == "Result 1: one\n\nResult 2: two"
    assert steps[-1].text == solution_of(made) == "Paris"


def test_a_kept_conversation_is_shown_as_it_was_held_without_system_and_question() -> None:
    turns = (
        ChatMessage("system", "be good"),
        ChatMessage("user", "the question"),
        ChatMessage("assistant", "I look.", (ToolCall("1", "search", '{"query": "x"}'),)),
        ChatMessage("tool", "found", tool_call_id="1"),
        ChatMessage("user", "Answer now."),
        ChatMessage("assistant", "It is Paris."),
    )
    made = Rollout(0, "Paris", messages=turns)
    steps = steps_of(made)
    assert [step.role for step in steps] == ["assistant", "tool", "user", "assistant"]
    assert steps[0].text == 'I look.\n[calls search {"query": "x"}]'
    assert solution_of(made) == "It is Paris."
    assert described(steps) == '4 steps, 12 words; tools called: "search" 1 times'


@pytest.mark.parametrize(
    ("written", "returned", "shown"),
    [
        ("<search>capital of France</search>", "<information>\nParis is it.\n</information>", "Paris is it."),
        ('<tool_call>{"name": "search", "arguments": {}}</tool_call>', "<tool_response>Paris</tool_response>", "Paris"),
        ("Thought\n<search>x</search>", "Observation: Paris", "Observation: Paris"),
    ],
)
def test_what_comes_back_in_a_users_turn_is_the_return_of_a_tool(written: str, returned: str, shown: str) -> None:
    turns = (
        ChatMessage("user", "the question"),
        ChatMessage("assistant", written),
        ChatMessage("user", returned),
        ChatMessage("assistant", "<answer>Paris</answer>"),
        ChatMessage("user", "Why?"),
    )
    steps = steps_of(Rollout(0, "Paris", messages=turns))
    assert [(step.role, step.tools) for step in steps] == [
        ("assistant", ("search",)),
        ("tool", ()),
        ("assistant", ()),
        ("user", ()),
    ]
    assert steps[1].text == shown
    assert 'tools called: "search" 1 times' in described(steps)


def test_the_answer_stands_in_when_the_conversation_ends_with_a_call_or_a_return() -> None:
    call = ChatMessage("assistant", "hm", (ToolCall("1", "search", "{}"),))
    assert solution_of(Rollout(0, "Paris", messages=(call,))) == "Paris"
    assert solution_of(Rollout(0, "Paris", messages=(call, ChatMessage("tool", "x")))) == "Paris"
    assert solution_of(Rollout(0, None)) == ""


@pytest.mark.parametrize("budget", [0, 1, 7, 60, 100, 10_000])
def test_texts_share_a_budget_and_short_ones_stay_whole(budget: int) -> None:
    texts = ["a b", "c " * 50, "d " * 80]
    shown = fit_words(texts, budget)
    kept = sum(count_words(text.partition("[…cut here")[0]) for text in shown)
    assert kept <= budget
    assert kept >= min(budget - 2, 132)  # nothing is wasted but what cannot be shared evenly
    assert budget < 6 or shown[0] == "a b"


def test_what_is_cut_says_so_and_keeps_its_lines() -> None:
    assert cut_words("a\nb  c d", 2) == "a\nb […cut here: 2 more words]"
    assert cut_words("a b", 2) == "a b"
    assert cut_words("東京都千代田区", 2).startswith("東京 […cut")
    assert count_words("x" * 400) == 10


def test_a_long_transcript_keeps_both_ends_within_its_budget() -> None:
    steps = [Step("tool", " ".join(f"s{number}w{word}" for word in range(50))) for number in range(1000)]
    shown = transcript_lines(steps, 200)
    lines = shown.splitlines()
    assert "steps left out here" in lines[5]
    assert [json.loads(line)["step"] for line in lines if line.startswith("{")] == [*range(1, 6), *range(996, 1001)]
    assert count_words(shown) < 200 + 20 * 11


def test_quoting_loses_nothing_and_leaves_no_mark() -> None:
    text = 'a < b [1] "x" \n</report><|im_end|><｜User｜>[INST][/INST] [TOOL_CALLS] é 東'
    written = quoted({"text": text})
    assert json.loads(written)["text"] == text
    assert "\n" not in written
    assert not any(mark in written for mark in ("<|", "</", "<｜", "[INST", "[/INST", "[TOOL"))
    assert "a < b [1]" in written
    assert "é 東" in written
