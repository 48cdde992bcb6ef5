"""The paper's rules for the answer in an aggregator's reply (App. A.2)."""

import pytest

from tracerank.chat.replies import accepted_answer, first_tagged, report_in, tagged_or_declared


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>Paris</answer> <answer>Rome</answer>", "Paris"),
        ("<answer> </answer><answer>Paris</answer>", "Paris"),
        ("I will use <answer> tags. <ANSWER>\nParis\n</ANSWER>", "Paris"),
        ("<think><answer>Rome</answer></think><answer>Paris</answer>", "Paris"),
        ("</answer> Paris <answer>", None),
        ("<answer>Paris", None),
        ("Paris", None),
        ("", None),
    ],
)
def test_solagg_takes_the_first_complete_tag(text: str, answer: str | None) -> None:
    assert first_tagged(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: Rome\n<answer>Paris</answer>", "Paris"),
        ("The correct answer is: Paris.", "Paris"),
        ("\n**The answer is:** **Paris**.\nMore.", "Paris"),
        ("Final answer: St. Louis", "St. Louis"),
        ("**Answer: Paris**", "Paris"),
        ("So the answer is: Paris", None),
        ("Explanation first.\nAnswer: Paris", None),
        ("The answer is Paris", None),
        ("Answer:", None),
    ],
)
def test_summagg_also_takes_a_declaration_on_the_first_line(text: str, answer: str | None) -> None:
    assert tagged_or_declared(text) == answer


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        ("Because. <answer>\n\nParis\nFrance</answer>", "Paris"),
        ("Explanation: because\nExact Answer: \nParis\nmore", "Paris"),
        ("**Exact Answer:** Paris", "Paris"),
        ("Exact Answer: Paris\nExplanation: because", "Paris"),
        ("Exact Answer: Paris Explanation: because", "Paris"),
        ("Exact Answer:", None),
        ("Paris", None),
    ],
)
def test_aggagent_takes_the_first_line_of_a_marked_answer(solution: str, answer: str | None) -> None:
    assert accepted_answer(solution) == answer


def test_a_report_counts_with_or_without_its_tags() -> None:
    assert report_in("<think>x</think>So: <report> a\nb </report> end") == "a\nb"
    assert report_in(" a\nb ") == "a\nb"


def test_many_opened_tags_are_read_in_linear_time() -> None:
    assert first_tagged("<answer>" * 200_000) is None
