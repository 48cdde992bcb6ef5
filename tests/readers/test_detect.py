"""Which reader a record or a file gets, and the two entry points."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError, UsageError
from tracerank.pools.types import Question, Rollout
from tracerank.readers import Parsed, Problem, Record, RolloutWarning, iter_pools, read_pools
from tracerank.readers.detect import READERS, detect, reader_named
from tracerank.readers.runs.transcripts import Joiner
from tracerank.readers.sources.json_lines import PATIENCE

WEBQA = {"question_index": 1, "question": "Who?", "sample_id": 0, "answer": "Ada", "steps": []}
CANONICAL = {"schema": "tracerank-rollout/1", "question_id": "1", "question": "Who?", "sample_id": 1, "answer": "Bob"}
TAGS = {"id": "1", "question": "Who?", "golden_answers": ["Ada"], "output": "<think>x</think><answer> Ada </answer>"}
BROWSING = {
    "qid": 1,
    "question": "Who?",
    "sample_id": 4,
    "messages": [
        {"role": "assistant", "recipient": "browser.search", "content": '{"query": "x"}'},
        {"role": "tool", "name": "browser.search", "content": "[0] x (web-search://x)\n**viewing lines [0 - 1] of 1**"},
        {"role": "assistant", "channel": "final", "content": "Ada"},
    ],
}


def lines(folder: Path, *records: Any, name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize(
    ("record", "name"), [(WEBQA, "webqa"), (CANONICAL, "canonical"), (TAGS, "search-r1"), (BROWSING, "browsing")]
)
def test_a_record_is_recognised_by_its_content(record: dict[str, Any], name: str) -> None:
    found = detect(record)
    assert found is not None
    assert found.name == name
    assert reader_named(name) is found


def test_an_unknown_record_is_recognised_by_nobody() -> None:
    assert detect({}) is None
    assert detect({"prompt": "x", "label": 1}) is None


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [None], ["x"], [{}], {"x": 1}])
def test_recognition_never_raises(value: Any) -> None:
    for record in (WEBQA, CANONICAL, TAGS, BROWSING):
        for key in record:
            detect({**record, key: value})


def test_an_unknown_reader_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown reader 'csv'; known are auto, canonical, inspect, .*, react"):
        read_pools("rows.jsonl", reader="csv")


def test_a_mixed_file_is_read_record_by_record(tmp_path: Path) -> None:
    (pool,) = read_pools(lines(tmp_path, WEBQA, CANONICAL, TAGS, BROWSING))
    assert [rollout.answer for rollout in pool.rollouts] == ["Ada", "Bob", "Ada", "Ada"]


def test_an_unrecognised_record_is_read_like_its_neighbours(tmp_path: Path) -> None:
    untagged = {**TAGS, "output": "I do not know."}
    problems: list[Problem] = []
    (pool,) = read_pools(lines(tmp_path, untagged, TAGS, {"config": 1}, untagged), on_problem=problems.append)
    assert [rollout.answer for rollout in pool.rollouts] == [None, "Ada", None]
    assert [problem.source for problem in problems] == [f"{tmp_path / 'rows.jsonl'}:3"]


def test_a_file_of_an_unknown_format_names_its_keys_and_the_known_formats(tmp_path: Path) -> None:
    path = lines(tmp_path, {"prompt": "x", "chosen": "y"}, {"prompt": "z"})
    with pytest.raises(
        ReadError, match=r"rows.jsonl:1: no known format, .* keys: prompt, chosen; known formats: canon"
    ):
        read_pools(path)


def test_conversations_without_a_single_tool_call_are_still_rollouts(tmp_path: Path) -> None:
    def chat(answer: str) -> dict[str, Any]:
        said = f"Answer: {answer}"
        return {"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": said}]}

    (pool,) = read_pools(lines(tmp_path, chat("Ada"), {"config": 1}, chat("Bob")), on_problem=[].append)
    assert (pool.question.text, [rollout.answer for rollout in pool.rollouts]) == ("Who?", ["Ada", "Bob"])
    many = [chat(f"Ada {number}") for number in range(PATIENCE + 5)]
    (pool,) = read_pools(lines(tmp_path, *many))
    assert len(pool) == PATIENCE + 5


def test_a_named_reader_is_not_second_guessed(tmp_path: Path) -> None:
    problems: list[Problem] = []
    assert read_pools(lines(tmp_path, {"prompt": "x"}), reader="webqa", on_problem=problems.append) == []
    assert "question" in problems[0].reason


class LineReader:
    """A user's own format: ``{"q", "a"}``."""

    name = "mine"

    def recognises(self, record: Record) -> bool:
        return "q" in record

    def parse(self, record: Record, source: str) -> Parsed:
        return Parsed(Question(record["q"], record["q"]), Rollout(0, record["a"]), is_numbered=False)


def test_a_reader_of_ones_own_can_be_passed(tmp_path: Path) -> None:
    path = lines(tmp_path, {"q": "Who?", "a": "Ada"}, {"q": "Who?", "a": "Bob"})
    (pool,) = read_pools(path, reader=LineReader())
    assert [(rollout.sample_id, rollout.answer) for rollout in pool.rollouts] == [(0, "Ada"), (1, "Bob")]


def test_problems_are_warnings_unless_somebody_listens(tmp_path: Path) -> None:
    path = lines(tmp_path, WEBQA, {**WEBQA, "sample_id": 1, "answer": []})
    with pytest.warns(RolloutWarning, match=r"rows.jsonl:2: field 'answer': expected a string or null, got a list"):
        (pool,) = read_pools(path)
    assert len(pool) == 2


def test_several_files_are_grouped_together(tmp_path: Path) -> None:
    first = lines(tmp_path, TAGS, name="v0.jsonl")
    second = lines(tmp_path, {**TAGS, "output": "<answer> Bob </answer>"}, name="v1.jsonl")
    for pools in (read_pools([first, str(second)]), list(iter_pools((first, second)))):
        assert [[rollout.answer for rollout in pool.rollouts] for pool in pools] == [["Ada", "Bob"]]


def test_pools_can_be_streamed(tmp_path: Path) -> None:
    path = lines(tmp_path, *({**WEBQA, "question_index": number} for number in range(9)))
    assert [pool.question.id for pool in iter_pools(path, window_bytes=200)] == [str(number) for number in range(9)]


def test_every_reader_is_listed_under_its_name() -> None:
    assert all(reader.name == name for name, reader in READERS.items())


def test_one_reader_alone_puts_pieces_together() -> None:
    assert [name for name, reader in READERS.items() if isinstance(reader, Joiner)] == ["telemetry"]


def test_a_reader_is_made_once() -> None:
    assert all(READERS[name] is reader for name, reader in READERS.items())
    assert "pickle" not in READERS
    assert next(iter(READERS)) == "canonical"
    assert list(READERS)[-2:] == ["general", "plain"]


@pytest.mark.parametrize("depth", [180, 450])
@pytest.mark.parametrize("layer", ['[{"content":%s}]', "[%s]", '{"a":%s}', '{"parts":[%s]}', '{"messages":[%s]}'])
def test_a_record_nested_hundreds_deep_costs_only_itself(tmp_path: Path, layer: str, depth: int) -> None:
    nested = "1"
    for _ in range(depth):
        nested = layer.replace("%s", nested)
    good = {
        "question": "Who?",
        "messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ada"}],
    }
    deep = json.dumps({**good, "messages": [{"role": "assistant", "content": "@"}]}).replace('"@"', nested)
    path = tmp_path / "deep.jsonl"
    path.write_text(f"{json.dumps(good)}\n{deep}\n{json.dumps(good)}\n")
    problems: list[Problem] = []
    pools = list(iter_pools(path, on_problem=problems.append))
    answers = [rollout.answer for pool in pools for rollout in pool.rollouts]
    assert answers.count("Ada") == 2
    assert len(answers) == 3 or len(problems) >= 1
