"""Evaluations on disk: nothing is lost, nothing is done twice, nothing is mixed up."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import pool
from tracerank.errors import UsageError
from tracerank.evaluation.records import (
    CONFIG,
    QUESTIONS,
    RECORDS,
    EscalatedRecord,
    QuestionFacts,
    Record,
    RecordFolder,
    read_evaluation,
)
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout

ESCALATED = EscalatedRecord("solagg", 0.5, "kept", "y", 1, 0.0, None, 2, 90, 10)


def record(number: int, **changes: Any) -> Record:
    return replace(Record(f"q{number}", None, "majority", 2, None, None, 1.0, None), **changes)


def fill(folder: Path, *records: Record) -> None:
    with RecordFolder(folder, {"a": 1}) as target:
        for one in records:
            target.write(one)


def interrupted(folder: Path, *records: Record) -> Path:
    """The part that a killed run has left."""
    with suppress(KeyboardInterrupt), RecordFolder(folder, {"a": 1}) as target:
        for one in records:
            target.write(one)
        raise KeyboardInterrupt
    return folder / f"{RECORDS}.part"


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    odd = record(0, answer="line\u2028sep \ud800 half", note="n", dropped={"no answer": 2}, escalated=ESCALATED)
    fill(tmp_path / "new" / "folder", odd)
    assert list(read_evaluation(tmp_path / "new" / "folder").records()) == [odd]


@pytest.mark.parametrize(
    "failure", [{"problem": "busy"}, {"escalated": replace(ESCALATED, problem="busy")}], ids=["decision", "escalation"]
)
def test_what_failed_leaves_the_run_open_and_is_done_again(failure: dict[str, Any], tmp_path: Path) -> None:
    fill(tmp_path, record(0), record(1, **failure), record(2))
    assert len(list(read_evaluation(tmp_path).records())) == 3
    with RecordFolder(tmp_path, {"a": 1}) as target:
        assert target.done == {record(0).key}
        target.write(record(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, QUESTIONS, RECORDS]


def test_other_settings_are_refused_and_replaced_by_force_alone(tmp_path: Path) -> None:
    fill(tmp_path, record(0))
    with pytest.raises(UsageError, match="other files, methods or settings"), RecordFolder(tmp_path, {"a": 2}):
        pass
    with RecordFolder(tmp_path, {"a": 1}) as target:
        target.write_labels({"rule": "em"})
    assert len(list(read_evaluation(tmp_path).records())) == 1
    with RecordFolder(tmp_path, {"a": 2}, force=True) as target:
        assert target.done == set()
    assert list(read_evaluation(tmp_path).records()) == []
    assert read_evaluation(tmp_path).labels is None


@pytest.mark.parametrize("name", [QUESTIONS, RECORDS])
def test_a_file_of_the_user_is_not_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=f"another {name}"), RecordFolder(tmp_path, {"a": 1}):
        pass
    assert (tmp_path / name).read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_facts_hold_right_samples() -> None:
    searches = pool("a").rollouts[0].searches
    rollouts = (Rollout(0, "x"), Rollout(1, None, problem="torn"), Rollout(2, "x", searches), Rollout(3, "y", searches))
    facts = QuestionFacts.of(Pool(Question("q", "?", ("x",), "nq"), rollouts))
    assert facts.correct == (1.0, 0.0, 1.0, 0.0)
    assert QuestionFacts.of(pool(None, None)).correct == (None, None)


@pytest.mark.parametrize(
    ("content", "words"),
    [({}, "tracerank evaluate FILE -o"), ({CONFIG: "[]"}, "holds no evaluation")],
)
def test_a_folder_without_an_evaluation_is_refused(content: dict[str, str], words: str, tmp_path: Path) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=words):
        read_evaluation(tmp_path)


@pytest.mark.parametrize("name", [RECORDS, QUESTIONS])
def test_a_damaged_line_is_said_in_a_line(name: str, tmp_path: Path) -> None:
    fill(tmp_path, record(0))
    (tmp_path / name).write_text('{"k": 2}\n')
    with pytest.raises(UsageError, match="damaged"):
        list(read_evaluation(tmp_path).records())
