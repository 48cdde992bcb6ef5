"""When two measures are the same but for rounding."""

import pytest

from tracerank.answers.meaning.measures import measures_agree, read_measure


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5.1 km", "5.12 km", True),
        ("5.1 km", "5.1 kilometres", True),
        ("5.1 km", "5.2 km", False),
        ("100 km", "62 miles", True),
        ("1,000 lb", "453.59 kg", True),
        ("1,000 lb", "454.59 kg", False),
        ("5 km", "5 kg", False),
    ],
    ids=["rounded", "equal", "as many digits, another value", "another unit", "pounds", "not pounds", "another kind"],
)
def test_only_measures_with_other_digits_or_units_may_be_rounded(one: str, other: str, same: bool) -> None:
    first, second = read_measure(one), read_measure(other)
    assert first is not None
    assert second is not None
    assert measures_agree(first, second) is same
    assert measures_agree(second, first) is same
