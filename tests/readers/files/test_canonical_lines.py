"""A canonical line that is cut says what the same line says when all of it is parsed, or it is not cut at all."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pools.test_canonical import questions, rollouts
from tests.readers.mutations import mutated
from tracerank import readers
from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.canonical import rollout_to_record, write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Document, Evidence, Question, Rollout, Search
from tracerank.readers.base import Parsed
from tracerank.readers.detect import assign_readers
from tracerank.readers.files import canonical_lines
from tracerank.readers.files.canonical_lines import KNOWN_BYTES, KNOWN_PIECES, CanonicalLines
from tracerank.readers.files.records import Problem, RecordAt, read_one
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.runs.atomic import line_of

PLACE = "file.jsonl:7"
FOUND = (
    Evidence('It says: "a",  {"text":"b"},{"text":"c"} é', "Title", rank=1),
    Evidence("Another", url="https://a.example", rank=2, document=Document("url:https://a.example")),
)
QUESTION = Question("q", "Who?", ("Ada",), "set")
ROLLOUT = Rollout(3, "Ada, it is", (Search("who", FOUND), Search("when", FOUND[:1]), Search("none")), 1.0, 0.5)
LINE = line_of(rollout_to_record(QUESTION, ROLLOUT))


def parsed_whole(line: bytes) -> Parsed | None:
    """What the line says when all of it is parsed; None: it is no canonical line, or not all of it is."""
    item = read_one(line, PLACE)
    if isinstance(item, Problem):
        return None
    try:
        ((reader, found),) = assign_readers([item])
        return reader.parse(item.value, PLACE) if isinstance(reader, CanonicalReader) and found is item else None
    except (MalformedRollout, ReadError):
        return None


def parsed_cut(line: bytes, lines: CanonicalLines | None = None) -> Parsed | None:
    item = (lines or CanonicalLines()).read(line, PLACE)
    return item.parsed if isinstance(item, RecordAt) else None


def test_a_line_as_we_write_it_is_cut() -> None:
    parsed = parsed_cut(LINE)
    assert parsed is not None
    assert (parsed.question, parsed.is_numbered) == (QUESTION, True)
    assert parsed == parsed_whole(LINE)
    assert parsed.rollout.source == PLACE


@pytest.mark.parametrize(
    "rollout",
    [
        Rollout(0, None),
        Rollout(0, None, problem="broken"),
        Rollout(12, "  a\n  b", source="elsewhere:1"),
        Rollout(1, "a", (Search("q", (Evidence("x"),)),), source="elsewhere:1"),
        Rollout(1, "a", (Search("q", (Evidence("x"),), 4),), setting="browsing", source=""),
    ],
)
def test_fields_that_are_missing_or_stand_behind_the_searches_do_not_keep_it_from_that(rollout: Rollout) -> None:
    line = line_of(rollout_to_record(QUESTION, rollout))
    parsed = parsed_cut(line)
    assert parsed is not None
    assert parsed == parsed_whole(line)


@given(questions, st.lists(rollouts, min_size=1, max_size=4))
def test_lines_after_each_other_say_what_each_says(question: Question, several: list[Rollout]) -> None:
    lines = CanonicalLines()
    for rollout in (*several, *several):
        line = line_of(rollout_to_record(question, rollout))
        cut = parsed_cut(line, lines)
        assert cut is None or cut == parsed_whole(line)


PIECES = (
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"0",
        b"-",
        b".5",
        b" ",
        b"\n",
        b"null",
        b"true",
        b"1e3",
        b"\xff",
    ),
    *(b']},{"query":"', b'},{"text":"', b'{"text":"', b'"evidence":[', b']}],"', b"]}]}", b',"sample_id":', b',"'),
    *(b',"searches":[{"query":"', b'"rank":1', b',"rank":true', b',"rank":1.0', b',"answer":"["', b',"label":NaN'),
    *(b',"event":3', b',"source":"x"', b',"schema":"tracerank-rollout/1"', b"\\ud800", b"123456789012345678901"),
    *(b',"question":"Other"', b',"references":[1]', b',"searches":[]', b',"evidence":[]', b',"more":{"a":[1]}'),
)


@settings(max_examples=400)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(0, 2**16), st.integers(0, 30)), min_size=1, max_size=3))
def test_a_damaged_line_is_cut_only_if_that_makes_no_difference(changes: list[tuple[bytes, int, int]]) -> None:
    line = LINE[:-1]
    for piece, place, gone in changes:
        at = place % (len(line) + 1)
        line = line[:at] + piece + line[at + gone :]
    lines = CanonicalLines()
    assert parsed_cut(LINE, lines) is not None  # and now all its pieces are known
    for known in (None, lines):
        cut = parsed_cut(line, known)
        assert cut is None or cut == parsed_whole(line)


@pytest.mark.parametrize("at", range(len(PIECES)))
def test_a_piece_between_any_two_bytes_makes_no_difference(at: int) -> None:
    lines = CanonicalLines()
    parsed_cut(LINE, lines)
    for place in range(len(LINE)):
        line = LINE[:place] + PIECES[at] + LINE[place:]
        cut = parsed_cut(line, lines)
        assert cut is None or cut == parsed_whole(line), line


@pytest.mark.parametrize("end", [b"", b',"', b"}", b"]}", b"]}]}", b']}],"', b'"}'])
def test_a_line_that_breaks_off_anywhere_is_not_cut(end: bytes) -> None:
    lines = CanonicalLines()
    parsed_cut(LINE, lines)
    for place in range(len(LINE) - 1):
        line = LINE[:place] + end
        cut = parsed_cut(line, lines)
        assert cut is None or cut == parsed_whole(line), line


@pytest.mark.parametrize(
    "changed",
    [
        {"sample_id": True},
        {"sample_id": 1.0},
        {"sample_id": 10**20},
        {"sample_id": "1"},
        {"label": 2},
        {"setting": "other"},
        {"schema": "tracerank-rollout/x"},
        {"question_id": ""},
        {"references": [1]},
        {"answer": '[{"role": "assistant", "content": "a dump of some length"}]'},
        {"searches": [{"query": "q", "evidence": [{"text": "x", "rank": True}]}]},
        {"searches": [{"query": "q", "evidence": [{"text": "x", "rank": 1.0}]}]},
        {"searches": [{"query": "q", "evidence": [{"text": "x", "of": {"a": 1}}]}]},
        {"searches": [{"query": "q", "evidence": [{"text": "x", "document": {"key": "k", "of": [1]}}]}]},
        {"searches": [{"query": 1, "evidence": []}]},
        {"searches": [{"evidence": [{"text": "x"}]}]},
        {"searches": []},
        {"more": "of it"},
    ],
)
def test_what_is_not_as_it_should_be_is_left_to_who_parses_all(changed: dict[str, Any]) -> None:
    line = line_of({**rollout_to_record(QUESTION, ROLLOUT), **changed})
    assert parsed_cut(line) is None


def test_a_name_that_comes_twice_counts_the_last_time() -> None:
    twice = LINE.replace(b'"answer":', b'"answer":"Bob","answer":')
    parsed = parsed_cut(twice)
    assert parsed is not None
    assert parsed == parsed_whole(twice) == parsed_cut(LINE)
    for name in (b'"sample_id":1,', b'"question":"Other",', b'"searches":[],'):
        doubled = LINE.replace(b'"answer":', name + b'"answer":')
        assert parsed_cut(doubled) is None


def test_what_rollouts_share_is_made_once() -> None:
    lines = CanonicalLines()
    one, two = (
        parsed_cut(LINE.replace(b'"sample_id":3', number), lines) for number in (b'"sample_id":3', b'"sample_id":4')
    )
    assert one is not None
    assert two is not None
    assert (one.rollout.sample_id, two.rollout.sample_id) == (3, 4)
    assert one.question is two.question
    assert one.rollout.searches[0] is two.rollout.searches[0]
    assert one.rollout.searches[0].evidence[0] is one.rollout.searches[1].evidence[0]


def test_memory_is_bounded() -> None:
    lines = CanonicalLines()
    for number in range(3 * KNOWN_PIECES):
        found = Evidence(f"text {number}"), Evidence("x" * (KNOWN_BYTES + number))
        rollout = Rollout(number, f"answer {number}", (Search(f"query {number}", found[:1]), Search("q", found)))
        assert parsed_cut(line_of(rollout_to_record(QUESTION, rollout)), lines) is not None
    for known in (lines._numbers, lines._said, lines._searches, lines._evidence):
        assert 0 < len(known) <= KNOWN_PIECES
        assert max(map(len, known)) <= KNOWN_BYTES


def read_all(path: Path) -> tuple[list[Pool], list[str]]:
    problems: list[str] = []
    return list(readers.iter_pools(path, on_problem=lambda problem: problems.append(str(problem)))), problems


def without_cuts(path: Path, patch: pytest.MonkeyPatch) -> tuple[list[Pool], list[str]]:
    with patch.context() as patched:
        patched.setattr(canonical_lines.CanonicalLines, "read", lambda self, line, source: read_one(line, source))
        return read_all(path)


def generated(chance: Random) -> Iterator[bytes]:
    for number in range(60):
        question = Question(f"q{number // 4}", f"Who is {number // 4}?")
        text = chance.choice(("one text", "another", "a third  one"))
        searches = (Search("who", (Evidence(text, rank=1), *FOUND)),) * chance.choice((0, 1, 2))
        rollout = Rollout(chance.choice((number, number % 3)), chance.choice(("Ada", "Bob", "", None)), searches)
        record = rollout_to_record(question, rollout)
        yield mutated(record, chance) + b"\n" if chance.random() < 0.3 else line_of(record)


@pytest.mark.parametrize("seed", range(12))
def test_a_file_gives_the_same_pools_and_problems(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pools.jsonl"
    path.write_bytes(b"".join(generated(Random(seed))))
    pools, problems = read_all(path)
    assert len(pools) > 5
    assert (pools, problems) == without_cuts(path, monkeypatch)


def cut_lines(path: Path, patch: pytest.MonkeyPatch, **options: Any) -> int:
    """How many lines of a file are cut on the way to its pools."""
    count = 0
    cut = CanonicalLines.read

    def counted(self: CanonicalLines, line: bytes, source: str) -> RecordAt | Problem:
        nonlocal count
        item = cut(self, line, source)
        count += isinstance(item, RecordAt) and item.parsed is not None
        return item

    with patch.context() as patched:
        patched.setattr(canonical_lines.CanonicalLines, "read", counted)
        list(readers.iter_pools(path, **options))
    return count


def test_files_of_ours_are_cut_unless_fields_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(name: str, pools: Iterable[Pool]) -> Path:
        write_pools(tmp_path / name, pools)
        return tmp_path / name

    pool = Pool.of(QUESTION, [ROLLOUT, Rollout(4, "Bob", ROLLOUT.searches)])
    for path in (written("plain.jsonl", [pool]), written("packed.jsonl.gz", [pool])):
        assert cut_lines(path, monkeypatch) == cut_lines(path, monkeypatch, reader="canonical") == 2
        assert cut_lines(path, monkeypatch, fields={"answer": "question"}) == 0
    (tmp_path / "spaced.jsonl").write_text(json.dumps(rollout_to_record(QUESTION, ROLLOUT)) + "\n")
    assert cut_lines(tmp_path / "spaced.jsonl", monkeypatch) == 0
