"""The 95/5 split."""

import pytest

from tests.golden import needs_golden, unit_facts
from tracerank.pools.subsets import is_validation


@needs_golden
def test_the_split_is_the_official_one() -> None:
    for fact in unit_facts("question_split"):
        assert is_validation(fact["question"]) == (fact["split"] == "validation"), fact


def test_white_space_and_unicode_form_do_not_move_a_question() -> None:
    assert is_validation("Synthetic  question\n6") == is_validation("Synthetic question 6") is True
    assert is_validation("cafe\u0301 question") == is_validation("caf\u00e9 question")


@pytest.mark.parametrize("count", [20_000])
def test_about_a_twentieth_is_held_out(count: int) -> None:
    share = sum(is_validation(f"question {number}") for number in range(count)) / count
    assert 0.045 < share < 0.055
