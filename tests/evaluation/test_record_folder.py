"""Evaluations on disk: nothing is lost, nothing is done twice, nothing is mixed up."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import pool
from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import Record
from tracerank.evaluation.record_folder import (
    CONFIG,
    QUESTIONS,
    RECORDS,
    QuestionFacts,
    RecordFolder,
    facts_of,
    read_evaluation,
)
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout


def record(number: int, **changes: Any) -> Record:
    return replace(Record(f"q{number}", None, "majority", 2, None, None, 1.0, None), **changes)


def fill(folder: Path, count: int, config: Mapping[str, Any] | None = None) -> None:
    with RecordFolder(folder, config or {"a": 1}) as target:
        for number in range(count):
            target.write(record(number))


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    odd = record(0, answer="line\u2028sep \ud800 half", note="n", dropped={"no answer": 2}, seconds=0.5, backbone="b")
    with RecordFolder(tmp_path / "new" / "folder", {"a": 1}) as target:
        target.write(odd)
    assert list(read_evaluation(tmp_path / "new" / "folder").records()) == [odd]


def test_a_torn_line_is_cut_off_and_the_rest_is_known(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    path = tmp_path / RECORDS
    path.write_bytes(path.read_bytes()[:-20])
    assert len(list(read_evaluation(tmp_path).records())) == 2
    with RecordFolder(tmp_path, {"a": 1}) as target:
        assert target.done == {record(0).key, record(1).key}
        target.write(record(2))
    assert [found.question_id for found in read_evaluation(tmp_path).records()] == ["q0", "q1", "q2"]


def test_another_configuration_is_refused_and_forced_only_on_request(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    with pytest.raises(UsageError, match="other files, methods or settings"), RecordFolder(tmp_path, {"a": 2}):
        pass
    assert len(list(read_evaluation(tmp_path).records())) == 2
    with RecordFolder(tmp_path, {"a": 2}, is_new=True) as target:
        assert target.done == set()
    assert list(read_evaluation(tmp_path).records()) == []


def test_two_runs_cannot_write_to_one_folder(tmp_path: Path) -> None:
    with (
        RecordFolder(tmp_path, {"a": 1}),
        pytest.raises(UsageError, match="another evaluation is writing"),
        RecordFolder(tmp_path, {"a": 1}),
    ):
        pass


def test_a_run_that_fails_before_its_first_result_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), RecordFolder(tmp_path / "new", {"a": 1}):
        raise RuntimeError
    assert not (tmp_path / "new").exists()


def test_facts_of_a_question_are_noted_once(tmp_path: Path) -> None:
    pools = [pool("Paris", "Rome", None)]
    for _ in range(2):
        with RecordFolder(tmp_path, {"a": 1}) as target:
            assert list(target.noting(pools, 2, "b")) == pools
    assert read_evaluation(tmp_path).questions == (facts_of(pools[0], 2, "b"),)
    assert len((tmp_path / QUESTIONS).read_text().splitlines()) == 1


def test_facts_tell_right_samples_drops_searches_and_shared_evidence() -> None:
    searches = pool("a").rollouts[0].searches
    rollouts = (
        Rollout(0, "x"),
        Rollout(1, None, problem="torn"),
        Rollout(2, "x", searches),
        Rollout(3, "y", searches),
    )
    facts = facts_of(Pool(Question("q", "?", ("x",), "nq"), rollouts), 4)
    assert facts.correct == (1.0, 0.0, 1.0, 0.0)
    assert facts.dropped == ("no evidence (WebQA rule)", "unreadable", None, None)
    assert facts.searches == (0, 0, 1, 1)
    [shared] = facts.sharing.values()
    assert (shared.groups, shared.pairs, shared.overlap) == (3, 3, 1.0)
    assert facts == QuestionFacts.from_record(json.loads(json.dumps(asdict(facts))))


def test_an_empty_pool_has_facts_too() -> None:
    facts = facts_of(pool(None, None), 2)
    assert facts.dropped == ("no answer", "no answer")
    assert facts.occurrences == 0


def test_a_folder_without_an_evaluation_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tracerank evaluate FILE -o"):
        read_evaluation(tmp_path)
    (tmp_path / CONFIG).write_text("{}")
    with pytest.raises(UsageError, match=r"questions\.jsonl: cannot be read"):
        read_evaluation(tmp_path)
