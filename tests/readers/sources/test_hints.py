"""What is proposed where a file cannot be read as it stands."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError, UsageError, did_you_mean
from tracerank.readers import Problem, read_pools
from tracerank.readers.detect import reader_named


@pytest.mark.parametrize(
    ("row", "fitting"),
    [
        ({"q": "Who is it?", "a": "Ada"}, "question=q,answer=a"),
        ({"question": "Who is it?", "a": "Ada"}, "answer=a"),
        ({"q": "Who is it?", "answer": "Ada"}, "question=q"),
        ({"id": "7", "usr": "Who is it?", "bot": "Ada"}, "question=usr,answer=bot"),
        ({"frage": "Who is it?", "antwort": "Ada", "n": "1"}, "question=frage,answer=antwort"),
        ({"q": "Who is it?", "gold": "Ada", "a": ["Bob"]}, "question=q,answers=a,references=gold"),
        ({"x": {"text": "Ada"}, "y": "Who is it?"}, "question=y,answer=x.text"),
        ({"x": 1, "y": 2}, None),
    ],
)
def test_a_map_is_proposed_whole_and_with_names_that_exist(tmp_path: Path, row: dict[str, Any], fitting: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(ReadError) as caught:
        read_pools(path)
    assert ("--map" in str(caught.value)) == (fitting is not None)
    if fitting is not None:
        assert f"; try --map {fitting};" in str(caught.value)
        (pool,) = read_pools(path, f"auto?{fitting}")
        assert pool.question.text == "Who is it?"


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"prompt": "question"}, "did you mean --map question=prompt?"),
        ({"answer": "replly"}, "did you mean 'reply'?"),
        ({"answer": "nothing.like.it"}, "no record has 'nothing.like.it'"),
    ],
)
def test_a_map_of_fields_that_no_record_has_is_corrected(fields: dict[str, str], hint: str) -> None:
    problems: list[Problem] = []
    read_pools([{"prompt": "Who is it?", "reply": "Ada"}], fields=fields, on_problem=problems.append)
    assert str(problems[-1]).endswith(hint)


def test_an_empty_cell_is_an_empty_answer(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("q,a\nWho is it?,Ada\nWho is it?,\n")
    problems: list[Problem] = []
    read_pools(path, "auto?question=q,answer=a", problems.append)
    assert str(problems[0]) == f"{path}:3: empty answer; the rollout keeps its place but cannot be chosen"


def test_a_file_of_decisions_is_called_one() -> None:
    decision = {"question_id": "1", "question": "Who?", "answer": "Ada", "scores": {"0": 1.0}, "dropped": {}}
    with pytest.raises(ReadError, match="a decision, as tracerank select writes them, and no rollout"):
        read_pools([decision])


def test_a_misspelt_word_is_corrected() -> None:
    assert did_you_mean("majorty", ["evidence", "majority"]) == "; did you mean 'majority'?"
    assert did_you_mean("x", ["evidence"]) == ""
    with pytest.raises(UsageError, match=r"unknown reader 'OpenAI-cht'; did you mean 'openai-chat'\?"):
        reader_named("OpenAI-cht")
