"""Rollouts in pieces: put together in order of first appearance, within a window, and nothing lost silently."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.pools.types import Question, Rollout
from tracerank.readers import Problem, iter_pools, read_pools
from tracerank.readers.base import Parsed, Record, RecordAt, reject
from tracerank.readers.formats.webqa import WebQAReader
from tracerank.readers.runs.transcripts import Joiner, Joining, Piece


class Lines:
    """A format whose rollouts are spread over lines ``{"of": rollout, "says": word}``."""

    name = "lines"

    def recognises(self, record: Record) -> bool:
        return "of" in record or "words" in record

    def pieces(self, record: Record) -> Sequence[Piece]:
        owners = record.get("of", ())
        return [Piece(owner, record["says"]) for owner in owners]

    def join(self, values: Sequence[Any]) -> Record:
        return {"words": tuple(values)}

    def parse(self, record: Record, source: str) -> Parsed:
        if "words" not in record:
            reject("no words")
        return Parsed(Question("q", "Who?"), Rollout(0, " ".join(record["words"]), source=source), is_numbered=False)


def items(*rows: tuple[str, str]) -> list[RecordAt]:
    return [RecordAt({"of": list(of), "says": says}, f"x:{line}", 10) for line, (of, says) in enumerate(rows, 1)]


def joined(joining: Joining, records: Iterable[RecordAt]) -> list[tuple[Any, str, int]]:
    found = [*joining.through(records), *joining.rest()]
    return [(item.value.get("words"), item.source, item.size) for item in found]


def test_pieces_are_joined_in_order_of_first_appearance() -> None:
    records = items(("a", "1"), ("b", "2"), ("a", "3"), ("b", "4"))
    assert joined(Joining(Lines(), None), records) == [(("1", "3"), "x:1", 20), (("2", "4"), "x:2", 20)]


def test_one_record_may_belong_to_several_rollouts() -> None:
    assert joined(Joining(Lines(), None), items(("ab", "1"))) == [(("1",), "x:1", 5), (("1",), "x:1", 5)]


def test_other_records_pass_at_once() -> None:
    plain = RecordAt({"words": ("whole",)}, "x:9", 10)
    records = [*items(("a", "1")), plain, *items(("a", "2"))]
    assert [words for words, _, _ in joined(Joining(Lines(), None), records)] == [("whole",), ("1", "2")]


def test_a_rollout_is_given_out_when_the_window_has_passed() -> None:
    joining = Joining(Lines(), 30)
    given: list[Any] = []
    for item in joining.through(items(*((name, name) for name in "abcdefgh"))):
        given.append(item.value["words"])
        assert joining.is_waiting
    assert given == [("a",), ("b",), ("c",), ("d",)]


def test_its_own_pieces_do_not_close_a_rollout() -> None:
    records = items(*[("a", str(n)) for n in range(50)])
    assert len(joined(Joining(Lines(), 30), records)) == 1


def test_a_piece_that_comes_back_stops_the_reading(tmp_path: Path) -> None:
    rows = [{"of": [name], "says": name * 40} for name in "abcdefa"]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    (pool,) = read_pools(path, reader=Lines())
    assert len(pool.rollouts) == 6
    for place in (path, tmp_path):  # also in a folder, where other bad files are only left out
        with pytest.raises(ReadError, match=r"x\.jsonl:7: lines trace 'a' goes on after it was closed"):
            list(iter_pools(place, reader=Lines(), window_bytes=150))


def test_a_rollout_may_go_on_in_the_next_file(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({"of": ["a"], "says": str(number)}))
    (pool,) = read_pools(tmp_path, reader=Lines())
    assert [(one.answer, one.source) for one in pool.rollouts] == [("1 2", f"{tmp_path / '1.jsonl'}:1")]


def test_a_record_that_is_no_piece_is_a_problem_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"of": ["a"], "says": "1"}\n{"other": 1}\n{"of": ["a"], "says": "2"}')
    problems: list[Problem] = []
    (pool,) = read_pools(tmp_path, reader=Lines(), on_problem=problems.append)
    assert [one.answer for one in pool.rollouts] == ["1 2"]
    assert [problem.source.rpartition(":")[2] for problem in problems] == ["2"]


def test_readers_of_whole_records_are_no_joiners() -> None:
    assert isinstance(Lines(), Joiner)
    assert not isinstance(WebQAReader(), Joiner)
