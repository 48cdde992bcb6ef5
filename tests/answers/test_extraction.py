"""The answer and the confidence in a final text."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.answers import extraction
from tracerank.answers.equivalence import group_answers
from tracerank.answers.extraction import extract_answer, stated_confidence
from tracerank.answers.meaning.grouping import same_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.answers.text_keys import fold, readable, without_accents


def answer(text: str) -> str | None:
    return extract_answer(text).answer


def test_each_rung_of_the_ladder_beats_the_ones_below_it() -> None:
    rungs = [
        (extraction.EXACT_ANSWER, "Exact Answer: one"),
        (extraction.ANSWER_TAG, "<answer>two</answer>"),
        (extraction.BOXED, r"so \boxed{three}"),
        (extraction.ANSWER_LINE, "Final Answer: four"),
        (extraction.ANSWER_LINE, "Answer: five"),
        (extraction.WHOLE_TEXT, "six"),
    ]
    wanted = ["one", "two", "three", "four", "five", "six"]
    for begin, (how, _) in enumerate(rungs):
        text = "\n".join(line for _, line in reversed(rungs[begin:]))
        found = extract_answer(text)
        assert (found.answer, found.how) == (wanted[begin], how)


def test_a_structured_reply_gives_its_answer_field() -> None:
    for text, wanted in (
        ('{"answer": "Paris", "confidence": 0.8}', ("Paris", 0.8)),
        ('```json\n{"reasoning": "…", "final_answer": "**Paris**", "confidence": "high"}\n```', ("Paris", None)),
        ('```JSON\n{\n  "answer": "Paris",\n  "confidence": 0.8\n}\n```', ("Paris", 0.8)),
        ('{"answer": 1968, "confidence": 90}', ("1968", 0.9)),
    ):
        found = extract_answer(text)
        assert (found.answer, found.confidence, found.how) == (*wanted, extraction.ANSWER_FIELD)
    for text in ('{"answer": {"city": "Paris"}}', '{"answer": true}', '{"answer": ""}', '{"city": "Paris"}', "{Paris}"):
        assert extract_answer(text).how == extraction.WHOLE_TEXT


def test_the_final_channel_hides_the_other_channels() -> None:
    text = (
        "<|channel|>analysis<|message|>Exact Answer: Rome<|end|><|start|>assistant"
        "<|channel|>final<|message|>It is Paris.<|return|>"
    )
    assert (answer(text), extract_answer(text).how) == ("It is Paris.", extraction.FINAL_CHANNEL)
    assert answer("<|channel|>final <|constrain|>json<|message|>Answer: Paris") == "Paris"
    assert answer("analysisExact Answer: Romeassistantfinal**Answer:** Paris") == "Paris"


@pytest.mark.parametrize(
    "text",
    [
        "Explanation: seen in 【13†L26-L30】\n\nExact Answer: Paris\n\nConfidence: 97%",
        "**Exact Answer:** Paris",
        "**Exact Answer**: **Paris** 【3†L5-L7】",
        "Exact Answer: Paris Confidence: 80%",
        "Exact Answer: Paris (Confidence: 80%",
        "exact answer:\n\nParis\n\nConfidence: 4%",
        "## Exact Answer\nParis",
        "Exact Answer: Rome\nNo, wait.\nExact Answer: Paris",
        "Exact Answer: Paris\nExact Answer:",
        "Exact\u00a0Answer：\u202fParis",
        r"Exact Answer: \boxed{\text{Paris}}",
    ],
)
def test_an_exact_answer_line_is_read_without_its_decoration(text: str) -> None:
    assert extract_answer(text).how == extraction.EXACT_ANSWER
    assert answer(text) == "Paris"


def test_the_last_complete_answer_tag_counts() -> None:
    assert answer("<answer>Rome</answer> hm <answer> Paris </answer>") == "Paris"
    assert answer("<answer><answer>Paris</answer>") == "Paris"
    assert answer("<answer>Paris</answer> or <answer>Rome") == "Paris"
    assert answer("<answer>Paris</answer><answer> </answer>") == "Paris"
    assert answer("<ANSWER>Paris</Answer>") == "Paris"
    assert (
        answer("<answer>**Final Answer:**\nIt is Paris.\nIt lies in France.</answer>")
        == "It is Paris.\nIt lies in France."
    )
    assert answer(r"<answer>The result is \boxed{42}.</answer>") == "42"


@pytest.mark.parametrize("end", ["", "</", "</answ", "</answer"])
def test_an_answer_tag_that_is_cut_off_at_the_end_counts(end: str) -> None:
    assert answer("I know. <answer> Paris " + end) == "Paris"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"\boxed{Rome} then \boxed{Paris}", "Paris"),
        (r"\boxed{\text{New York}}", "New York"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\textbf{Paris}}", "Paris"),
        (r"\boxed{$\text{Paris}$}", "Paris"),
        (r"\boxed{\text{Paris}, \text{France}}", r"\text{Paris}, \text{France}"),
        (r"\boxed{{a} \} b}", r"{a} \} b"),
        (r"\boxed{Paris} and \boxed{Rome", "Paris"),
        (r"\boxed{Paris} \boxed{ }", "Paris"),
        (r"} } \boxed{Paris}", "Paris"),
        (r"$\boxed {Paris}$", "Paris"),
    ],
)
def test_the_last_balanced_box_is_read_without_what_is_wrapped_around_it(text: str, wanted: str) -> None:
    assert (answer(text), extract_answer(text).how) == (wanted, extraction.BOXED)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (r"\textbf{\text{Paris}}, \mathrm{France}", "Paris, France"),
        (r"27\%", "27%"),
        (r"977{,}633", "977,633"),
        (r"\$5\ \text{million}", "$5 million"),
    ],
)
def test_latex_inside_an_answer_stays_as_it_was_written_and_counts_as_the_plain_text(written: str, plain: str) -> None:
    assert answer(rf"So it is \boxed{{{written}}}.") == written
    assert group_answers([written, plain]) == (0, 0)
    assert same_answer("What is it?", written, plain)
    assert is_right("What is it?", written, [plain])


@pytest.mark.parametrize(
    "text",
    [
        "Final Answer: Paris",
        "**Final answer:** Paris",
        "**Final Answer: Paris**",
        "### Final Answer:\nParis",
        "## Final Answer\n\nParis\n\nIt lies on the Seine.",
        "So the final answer is: Paris",
        "> Answer: *Paris*",
        "- **Answer:** Paris",
        "The answer is: Paris",
        "Answer: Rome\nFinal Answer: Paris\nAnswer: Rome",
    ],
)
def test_an_answer_line_may_be_marked_in_many_ways(text: str) -> None:
    assert (answer(text), extract_answer(text).how) == ("Paris", extraction.ANSWER_LINE)


def test_the_word_answer_inside_a_sentence_is_no_label() -> None:
    text = "I found the answer: it took long. Question and Answer sites agree."
    assert (answer(text), extract_answer(text).how) == (text, extraction.WHOLE_TEXT)


def test_thinking_is_not_searched() -> None:
    assert answer("<think>Exact Answer: Rome</think>It is Paris") == "It is Paris"
    assert answer("Exact Answer: Rome</think>It is Paris") == "It is Paris"
    assert answer("It is Paris<think>Exact Answer: Rome") == "It is Paris"
    assert answer("So:<think>a</think>Answer: Rome</think>It is Paris") == "It is Paris"
    assert answer("<think>a</think>Answer: Paris<think>Answer: Rome</think>") == "Paris"
    assert answer("<think>only thinking, Answer: Rome") is None
    assert answer("<think>forgot to close <answer>Paris</answer>") == "Paris"


@pytest.mark.parametrize(
    "text", ["", " \n\u200b", "<think>x</think>", "<answer></answer>", "**Answer:**", "<|return|>"]
)
def test_a_text_without_an_answer_gives_none(text: str) -> None:
    assert extract_answer(text) == extraction.Extracted(None, None, extraction.NOTHING)


def test_plain_text_is_not_taken_for_latex() -> None:
    assert answer("Exact Answer: ~50 km") == "~50 km"
    assert answer("Exact Answer: $5 to $6") == "$5 to $6"
    assert answer("Exact Answer: $x = 5$") == "x = 5"


def test_a_whole_text_is_returned_as_it_was_written() -> None:
    written = "Born\u202f1914\u20131918,\u00a0 \r\n\tin “Paris”, \u200b Ile-de-France\n  - a\n    - b"
    assert answer(f" \n{written}\n ") == written
    assert answer(f"<think>x</think>\n{written}<|im_end|>") == written


CODE = "    a, b = 0, 1\n    while a < n:\n\ta, b = b, a + b\n\n    return a"


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        f"\n\n{CODE}\n\n",
        f"<answer>\n{CODE}\n</answer>",
        f"<think>  \n</think>\r\n{CODE}",
        json.dumps({"answer": f"\n{CODE}"}),
    ],
)
def test_code_keeps_the_indentation_of_its_first_line(text: str) -> None:
    assert answer(text) == CODE


def test_a_fenced_block_below_a_label_is_returned_whole() -> None:
    fenced = f"```python\ndef fib(n):\n{CODE}\n```"
    for label in ("Final Answer:", "**Answer:**", "### Final Answer", "Exact Answer:"):
        assert answer(f"I ran it.\n\n{label}\n{fenced}\n\nConfidence: 90%") == fenced


def test_a_text_about_the_tokens_of_a_template_keeps_them() -> None:
    assert answer("It ends with <|endoftext|>, I say.<|im_end|>\n") == "It ends with <|endoftext|>, I say."


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Confidence: 97%", 0.97),
        ("Confidence: 97", 0.97),
        ("Confidence: 0.97", 0.97),
        ("**Confidence:** 97\u202f%", 0.97),
        ("**Confidence**: ~97 percent", 0.97),
        ("Confidence：97％", 0.97),
        ("confidence score: 9/10", 0.9),
        ("Confidence: 85/100", 0.85),
        ("Confidence: 10%. No: Confidence: 20%", 0.2),
        ("Confidence: 1", 1.0),
        ("Confidence: 0%", 0.0),
        ("Confidence: 100%", 1.0),
        ("Confidence: 120%", None),
        ("Confidence: high", None),
        ("Confidence: 97,000", None),
        ("97% sure", None),
        ("with confidence 97", None),
    ],
)
def test_a_stated_confidence_lies_between_zero_and_one(text: str, confidence: float | None) -> None:
    assert stated_confidence(text) == confidence
    assert extract_answer("Exact Answer: Paris\n" + text).confidence == confidence
    assert extract_answer(f"<think>{text}</think>Paris").confidence is None


HOSTILE = (
    *("<answer>", "</answer>", "<answer>x</answer>", "\\boxed{", "\\boxed{}", "\\boxed{\\text{", "{", "}", "\\text{"),
    *("<think>", "</think>", "<|channel|>final", "Exact Answer:", "Exact Answer:\n\n", "Answer:\n", "Confidence:"),
    *("**", "【", "\n", "> ", "\u00a0\n", "\ufdfa", "~", "$"),
)


@pytest.mark.parametrize("part", HOSTILE)
def test_a_megabyte_of_markers_takes_linear_time(part: str) -> None:
    text = part * (1_000_000 // len(part))
    start = time.process_time()
    extract_answer(text)
    extract_answer(text + "}" * 100_000)
    assert time.process_time() - start < 20  # a quadratic scan takes minutes


@given(st.lists(st.sampled_from([*HOSTILE, "Paris", " ", "final answer:", "97%", "\\", "</"]), max_size=12))
def test_no_jumble_of_markers_raises_or_leaves_white_space(parts: list[str]) -> None:
    found = extract_answer("".join(parts))
    assert found.answer is None or found.answer.strip() != ""
    assert found.answer is None or found.answer in "".join(parts)
    assert found.confidence is None or 0 <= found.confidence <= 1


def test_folding_unites_spaces_dashes_and_quotes() -> None:
    assert fold("10\u202f000 \u2013 “it’s” \uff21\u00a0\u200bb") == '10 000 - "it\'s" A b'


def test_folding_keeps_powers_and_fractions_apart_from_plain_digits() -> None:
    assert fold("10²") == "10^2"
    assert fold("5½") == "5 1/2"


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert readable(readable(text)) == readable(text)


def test_accents_are_dropped_from_latin_letters_only() -> None:
    assert without_accents("Beyoncé, Łódź, Đà Nẵng, Øresund") == "Beyonce, Lodz, Da Nang, Oresund"
    assert without_accents("й が") == "й が"
