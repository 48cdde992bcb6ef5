"""Objects and lists around records, as files really hold them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.sources.json_lines import iter_records
from tracerank.readers.sources.unwrap import as_record, parts_of, records_in

ROWS = [{"question": "a?", "prediction": "x"}, {"question": "b?", "prediction": "y"}]


def items(folder: Path, content: Any, indent: int | None = None) -> list[RecordAt | Problem]:
    path = folder / "file.json"
    path.write_bytes(gzip.compress(json.dumps(content, indent=indent).encode()))
    return list(iter_records(path))


def values(folder: Path, content: Any, indent: int | None = None) -> list[Any]:
    return [item.value for item in items(folder, content, indent) if isinstance(item, RecordAt)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("key", ["per_item", "results", "samples", "data"])
def test_a_list_of_records_under_a_key_is_taken_apart(tmp_path: Path, key: str, indent: int | None) -> None:
    content = {"config": {"top_k": 5, "prompt": "Answer:"}, "summary": {"em": 0.5}, key: ROWS}
    assert values(tmp_path, content, indent) == ROWS
    assert items(tmp_path, content, indent)[1].source.endswith(f":{key}[1]")


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_of_records_is_taken_apart_and_each_keeps_its_key(tmp_path: Path, indent: int | None) -> None:
    found = items(tmp_path, {"6238": ROWS[0], "77": ROWS[1]}, indent)
    assert [item.value for item in found if isinstance(item, RecordAt)] == [
        {"record_key": "6238", **ROWS[0]},
        {"record_key": "77", **ROWS[1]},
    ]
    assert found[0].source.endswith(":[6238]")


def test_several_records_under_one_key_share_a_question(tmp_path: Path) -> None:
    assert values(tmp_path, {"q1": ROWS, "q2": ROWS[:1]}) == [
        {"question_id": "q1", **ROWS[0]},
        {"question_id": "q1", **ROWS[1]},
        {"question_id": "q2", **ROWS[0]},
    ]


def test_a_damaged_record_in_a_container_does_not_cost_its_siblings(tmp_path: Path) -> None:
    found = items(tmp_path, {"results": [ROWS[0], None, ROWS[1], {"junk": 1}, ROWS[0]]})
    assert [isinstance(item, Problem) for item in found] == [False, True, False, False, False]
    assert found[1].source.endswith("results[1]")


def test_the_parts_share_the_bytes_of_the_whole(tmp_path: Path) -> None:
    whole = len(json.dumps({"results": ROWS}))
    assert [item.size for item in items(tmp_path, {"results": ROWS}) if isinstance(item, RecordAt)] == [whole // 2] * 2


@pytest.mark.parametrize(
    "record",
    [
        {"question": "a?", "results": [{"query": "q"}]},
        {"messages": [], "data": ROWS},
        {"query_id": "7", "samples": ROWS},
        {"data": [{"id": 1, "type": "SPAN", "input": "x"}]},
        {"results": [{"title": "t", "url": "u"}]},
        {"resourceSpans": [{"scopeSpans": []}]},
        {"usage": {"prompt_tokens": 1}, "metrics": {"em": 1}},
        {"config": {"a": 1}, "result": {"question": "a?"}},
        {"results": []},
        {"results": {"a": 1}, "x": 2},
        {},
    ],
)
def test_what_may_be_a_record_itself_is_left_alone(record: dict[str, Any]) -> None:
    assert parts_of(record) is None


def test_a_bare_list_of_messages_or_steps_is_one_record(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "x"}]
    steps = [{"task": "Which?"}, {"step_number": 1, "observations": "x"}]
    assert values(tmp_path, messages) == [{"messages": messages}]
    assert values(tmp_path, steps) == [{"steps": steps}]
    assert values(tmp_path, [messages, messages]) == [{"messages": messages}] * 2


@pytest.mark.parametrize("rows", [[], ROWS, [{"role": "user"}, 1], [{"step_number": 1}, {"x": 1}], ["a"]])
def test_a_list_of_records_stays_one(rows: list[Any]) -> None:
    assert as_record(rows) is None
    assert records_in(rows) is rows
