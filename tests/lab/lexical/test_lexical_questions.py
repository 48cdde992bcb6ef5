"""What a question asks for, taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.lab.lexical.questions import parse_question


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Who designed the Silver Bridge of Orrin?", "open"),
        ("Are Maren Holt and Peder Lind both engineers?", "yes/no"),
        ("Were Maren Holt or Peder Lind of the same nationality?", "yes/no"),
        ("Who was born first, Maren Holt or Peder Lind?", "either-or"),
        ("is it wool or silk that made the town rich", "yes/no"),
    ],
)
def test_the_kind_of_a_question(text: str, kind: str) -> None:
    assert parse_question(text).kind == kind


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Who was born first, Maren Holt or Peder Lind?", ("Maren Holt", "Peder Lind")),
        ("Was Maren Holt or Peder Lind born first?", ("Maren Holt", "Peder Lind")),
        ("Which film came out first, Glass or The Glass Ferry?", ("Glass", "The Glass Ferry")),
    ],
)
def test_both_options_are_found(text: str, options: tuple[str, str]) -> None:
    assert parse_question(text).options == options


def test_names_lose_their_possessive_and_two_joined_names_stay_two() -> None:
    assert parse_question("What is Maren Holt's occupation?").names == ("Maren Holt",)
    assert parse_question("Are Maren Holt and Peder Lind both builders?").names == ("Maren Holt", "Peder Lind")


@given(st.text(max_size=200))
def test_any_text_can_be_taken_apart(text: str) -> None:
    parsed = parse_question(text)
    assert (len(parsed.options) == 2) == (parsed.kind == "either-or")
