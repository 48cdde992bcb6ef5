"""Values of WebQA rows as they are found in the wild; whole rows stand in ``fixtures/webqa.jsonl``."""

from typing import Any

import pytest

from tracerank.readers.formats.webqa import references_of


@pytest.mark.parametrize(
    ("value", "references"),
    [
        ({"target": ["a", 1, None, ""]}, ("a", "1")),
        ({"ground_truth": {"target": "a"}}, ("a",)),
        ("a", ("a",)),
        (None, ()),
    ],
)
def test_references_may_be_a_list_a_text_or_an_object(value: Any, references: tuple[str, ...]) -> None:
    assert references_of(value) == references
