"""Normalisation, exact match and F1 against the official functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import needs_golden, unit_facts
from tracerank.answers.exact import exact_match, normalize_answer, normalize_text, token_f1


@needs_golden
def test_answers_are_normalised_like_the_official_ones() -> None:
    for fact in unit_facts("normalize_answer"):
        # The official function takes any falsy value for no answer; ours only knows strings and None.
        given_answer = fact["input"] if isinstance(fact["input"], str) else None
        assert normalize_answer(given_answer) == fact["output"], fact["input"]


@needs_golden
def test_exact_match_and_f1_equal_the_official_scores() -> None:
    for fact in unit_facts("answer_scores"):
        scores = [exact_match(fact["answer"], fact["references"]), token_f1(fact["answer"], fact["references"])]
        assert scores == pytest.approx(fact["em_f1"]), fact


def test_an_empty_answer_matches_nothing() -> None:
    assert exact_match("the", ["a"]) == exact_match(None, [""]) == token_f1("", [""]) == 0


def test_the_best_reference_counts() -> None:
    assert exact_match("Paris", ["Rome", "the Paris!"]) == 1
    assert token_f1("big red dog", ["cat", "red dog"]) == pytest.approx(0.8)


def test_text_is_composed_and_its_white_space_collapsed() -> None:
    assert normalize_text(" cafe\u0301\u00a0\n x ") == "café x"


@given(st.text())
def test_normalisation_is_idempotent(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)
    assert normalize_answer(normalize_answer(text)) == normalize_answer(text)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_scores_lie_between_zero_and_one(answer: str, references: list[str]) -> None:
    assert exact_match(answer, references) in (0.0, 1.0)
    assert 0 <= token_f1(answer, references) <= 1
