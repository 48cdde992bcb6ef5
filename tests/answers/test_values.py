"""Values in texts: which are the same but for rounding and units, and how they become words."""

import pytest

from tracerank.answers.meaning.values import tokens
from tracerank.answers.value_scan import values_in
from tracerank.answers.values import relation


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5.1 km", "5.12 km", True),
        ("5.1 km", "5.1 kilometres", True),
        ("5.1 km", "5.2 km", False),
        ("100 km", "62 miles", True),
        ("1,000 lb", "453.59 kg", True),
        ("1,000 lb", "454.59 kg", False),
        ("5 km", "5 kg", None),
        ("$5", "5 euros", False),
        ("more than 12", "12", False),
        ("1990s", "1990", None),
        ("'90s", "the nineties", True),
        ("nineteen eighty-one", "1981", True),
        ("3.1", "3.1.0", False),
        ("a million", "1,000,000", True),
        ("one and a half million", "1,500,000", True),
        ("3 May 842", "3 May 843", False),
        ("3 May 842", "3 May", True),
    ],
)
def test_values_are_the_same_or_exclude_each_other_or_are_not_comparable(
    one: str, other: str, same: bool | None
) -> None:
    (first,), (second,) = values_in(one), values_in(other)
    assert relation(first, second) is relation(second, first) is same


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("6 feet 2 inches", "#6 feet #2 inches"),
        ("1,00,000 people", "#100000 people"),
        ("one hundred and five", "#105"),
        ("18th of May 2018", "@2018-5-18"),
        ("May 18", "@-5-18"),
        ("in nineteen eighty-one", "in @1981"),
        ("King Edward vii", "king edward #7"),
        ("Henry V", "henry #5"),
        ("WWII", "world war #2"),
        ("the eleventh, the third and the sixth", "the 11th the 3rd and the 6th"),
        ("1914-1918", "@1914 @1918"),
        ("3 March 2001 to 5 May 2002", "@2001-3-3 to @2002-5-5"),
        ("H2O and the U.S. Navy", "h 2o and the us navy"),
        ("44 BC", "#44 bc"),
        ("2001-03-05 Rome", "@2001-3-5 rome"),
        ("May 18, 842, Rome", "@842-5-18 rome"),
    ],
)
def test_numbers_and_dates_become_words(text: str, words: str) -> None:
    assert tokens(text) == tuple(words.split())


@pytest.mark.parametrize("text", ["5" + " trillion" * 40, "ten" + " hundred" * 200])
def test_what_no_float_holds_is_no_value(text: str) -> None:
    assert values_in(text) == ()
    assert tokens(text)
