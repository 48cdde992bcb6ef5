"""What of a text is stressed: bold that is neither a label nor the head of a list's item."""

import pytest

from tracerank.answers.meaning.spans import Span, stressed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is **Paris**, not __Rome__.", ["Paris", "Rome"]),
        ("**Answer:** Paris", []),
        ("**Answer**: Paris", []),
        ("It was **City: Paris** then", ["Paris"]),
        ("- **Paris** - a city", []),
        ("1. **Oslo** (Norway)", []),
        ("1. **Oslo**", ["Oslo"]),
        ("**Note** **Bern**", ["Bern"]),
        ("a_name__of_two and 2 ** 3 ** 4", ["3"]),
        ("nothing", []),
    ],
)
def test_bold_that_is_no_label_is_stressed(text: str, found: list[str]) -> None:
    assert [text[span.start : span.end] for span in stressed(text, Span(0, len(text)))] == found


def test_only_what_stands_within_the_part_is_stressed() -> None:
    text = "**Rome** or **Paris**"
    assert [text[span.start : span.end] for span in stressed(text, Span(8, len(text)))] == ["Paris"]
