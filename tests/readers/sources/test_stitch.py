"""When a record goes on with another; runs that are put together stand in ``formats/cases.jsonl``."""

from typing import Any

import pytest

from tracerank.readers.sources.stitch import goes_on

Record = dict[str, Any]


@pytest.mark.parametrize(
    ("old", "new", "is_more"),
    [
        ({"a": [1]}, {"a": [1, 2]}, True),
        ({"a": [1]}, {"a": [1], "b": 2}, True),
        ({"a": None, "b": 1}, {"a": 2, "b": 1}, True),
        ({"a": [1]}, {"a": [1]}, False),
        ({"a": [1], "sample_id": 0}, {"a": [1, 2], "sample_id": 1}, False),
        ({"a": [1, 3]}, {"a": [1, 2, 3]}, False),
        ({"a": [1], "b": 1}, {"a": [1, 2]}, False),
    ],
)
def test_a_record_goes_on_with_another_if_it_holds_all_of_it_and_more(old: Record, new: Record, is_more: bool) -> None:
    assert goes_on(old, new) is is_more
