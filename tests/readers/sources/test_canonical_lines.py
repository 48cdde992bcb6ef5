"""A canonical line that is decoded straight into a rollout says what the full decoder says, or is left to it."""

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pools.test_canonical import questions, rollouts
from tests.readers.mutations import mutated
from tracerank import readers
from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.types import Document, Evidence, Question, Rollout, Search
from tracerank.readers.base import Parsed, Problem, RecordAt
from tracerank.readers.detect import assign_readers
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.readers.sources.canonical_lines import CanonicalLines
from tracerank.readers.sources.json_lines import read_one
from tracerank.runs.atomic import line_of

PLACE = "file.jsonl:7"
FOUND = (
    Evidence('It says: "a",  {"text":"b"} é', "Title", rank=1),
    Evidence("Another", url="https://a.example", rank=2, document=Document("url:https://a.example")),
)
QUESTION = Question("q", "Who?", ("Ada",), "set")
ROLLOUT = Rollout(3, "Ada, it is", (Search("who", FOUND), Search("when", FOUND[:1]), Search("none")), 1.0, 0.5)
LINE = line_of(rollout_to_record(QUESTION, ROLLOUT))


def fully(line: bytes) -> Parsed | None:
    """What the full decoder says of a line; None: it is no canonical line, or not all of it is."""
    item = read_one(line, PLACE)
    if isinstance(item, Problem):
        return None
    try:
        ((reader, found),) = assign_readers([item])
        return reader.parse(item.value, PLACE) if isinstance(reader, CanonicalReader) and found is item else None
    except (MalformedRollout, ReadError):
        return None


def straight(line: bytes) -> Parsed | None:
    item = CanonicalLines().read(line, PLACE)
    return item.parsed if isinstance(item, RecordAt) else None


@given(questions, st.lists(rollouts, min_size=1, max_size=3))
def test_what_we_write_is_decoded_straight(question: Question, several: list[Rollout]) -> None:
    for rollout in several:
        line = line_of(rollout_to_record(question, rollout))
        parsed = straight(line)
        assert parsed is None or parsed == fully(line)
    parsed = straight(LINE)
    assert parsed is not None
    assert parsed == fully(LINE)
    assert (parsed.question, parsed.rollout.source) == (QUESTION, PLACE)


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
    *(b',"sample_id":', b',"rank":true', b',"rank":1.0', b',"answer":"["', b',"label":NaN', b',"event":3', b"\\ud800"),
    *(b',"source":"x"', b',"schema":"tracerank-rollout/1"', b',"references":[1]'),
    *(b',"searches":[]', b',"more":{"a":[1]}', b',"question":"Other"', b',"views":[{"event":1}]', b',"usage":{}'),
)


@settings(max_examples=400)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(0, 2**16), st.integers(0, 30)), min_size=1, max_size=3))
def test_a_damaged_line_is_decoded_straight_only_if_that_makes_no_difference(
    changes: list[tuple[bytes, int, int]],
) -> None:
    line = LINE[:-1]
    for piece, place, gone in changes:
        at = place % (len(line) + 1)
        line = line[:at] + piece + line[at + gone :]
    parsed = straight(line)
    assert parsed is None or parsed == fully(line)


@pytest.mark.parametrize(
    "changed",
    [
        *({"sample_id": value} for value in (True, 10**20, "1")),
        *({"label": 2}, {"setting": "other"}, {"schema": "tracerank-rollout/x"}, {"question_id": ""}),
        *({"references": [1]}, {"more": "of it"}, {"usage": {"calls": "x"}}, {"views": [{"event": "x"}]}),
        {"answer": '[{"role": "assistant", "content": "a dump of some length"}]'},
        *({"searches": [{"query": "q", "evidence": [{"text": "x", "rank": rank}]}]} for rank in (True, "1")),
        {"searches": [{"query": 1, "evidence": []}]},
        {"searches": [{"query": "q", "evidence": [{"text": "x", "document": {"url": "u"}}]}]},
    ],
)
def test_what_is_not_as_it_should_be_is_left_to_the_full_decoder(changed: dict[str, Any]) -> None:
    assert straight(line_of({**rollout_to_record(QUESTION, ROLLOUT), **changed})) is None


def test_searches_that_rollouts_share_are_one_object() -> None:
    lines = CanonicalLines()
    found = [lines.read(LINE, place) for place in ("a", "b")]
    one, two = (item.parsed for item in found if isinstance(item, RecordAt) and item.parsed)
    assert one.question is two.question
    assert one.rollout.searches[0] is two.rollout.searches[0]


@pytest.mark.parametrize("seed", range(6))
def test_a_file_gives_the_same_pools_and_problems(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    path = tmp_path / "pools.jsonl"
    with path.open("wb") as file:
        for number in range(60):
            question = Question(f"q{number // 4}", f"Who is {number // 4}?")
            searches = (Search("who", (Evidence(chance.choice(("one text", "a third  one"))), *FOUND)),)
            rollout = Rollout(chance.choice((number, number % 3)), chance.choice(("Ada", "", None)), searches)
            record = rollout_to_record(question, rollout)
            file.write(mutated(record, chance) + b"\n" if chance.random() < 0.3 else line_of(record))

    def read() -> tuple[list[Any], list[str]]:
        problems: list[str] = []
        return list(readers.iter_pools(path, on_problem=lambda problem: problems.append(str(problem)))), problems

    found = read()
    monkeypatch.setattr(CanonicalLines, "read", lambda self, line, source: read_one(line, source))
    assert len(found[0]) > 5
    assert found == read()


def test_lines_are_decoded_straight_unless_fields_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_bytes(LINE + orjson.dumps({**orjson.loads(LINE), "sample_id": 4}))
    sources: list[str] = []
    read = CanonicalLines.read
    monkeypatch.setattr(
        CanonicalLines, "read", lambda self, line, source: sources.append(source) or read(self, line, source)
    )
    readers.read_pools(path)
    readers.read_pools(path, "canonical")
    assert len(sources) == 4
    readers.read_pools(path, fields={"answer": "question"})
    assert len(sources) == 4
