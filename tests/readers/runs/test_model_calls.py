"""When a record goes on with another; runs that are put together stand in ``formats/cases.jsonl``."""

from typing import Any

import pytest

from tracerank.readers.base import RecordAt
from tracerank.readers.runs.model_calls import goes_on
from tracerank.readers.runs.transcripts import runs_in

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


@pytest.mark.parametrize("question", ["Which city?", [{"role": "user", "content": "Which city?"}]])
def test_a_response_that_is_given_only_the_returns_of_the_last_one_is_joined_with_it(question: Any) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "search", "arguments": '{"query": "capital"}'}
    found = {"type": "function_call_output", "call_id": "c", "output": "Oslo is the capital."}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Oslo"}]}
    first = {"id": "r1", "object": "response", "input": question, "output": [call]}
    last = {"id": "r2", "object": "response", "previous_response_id": "r1", "input": [found], "output": [said]}
    (whole,) = runs_in([RecordAt(first, "log:1", 1), RecordAt(last, "log:2", 1)])
    assert whole.source == "log:1"
    assert whole.value["input"] == [{"role": "user", "content": "Which city?"}, call, found]
    assert whole.value["output"] == [said]
