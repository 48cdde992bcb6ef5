"""Files of questions: every way to write one, and what is said about those that are none."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.pools.types import Question
from tracerank.readers.base import Problem
from tracerank.readers.sources.question_files import digest_of, read_questions


def read(tmp_path: Path, *files: str | bytes) -> tuple[list[Question], list[Problem]]:
    """The questions of files with these contents, and the problems."""
    paths = []
    for number, content in enumerate(files):
        paths.append(tmp_path / f"{number}.questions")
        paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
    problems: list[Problem] = []
    return read_questions(paths, problems.append), problems


def lines(*records: Any) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def test_fields_go_by_several_names(tmp_path: Path) -> None:
    found, problems = read(
        tmp_path,
        lines(
            {"id": 7, "question": " Who? ", "answers": ["A", "B"], "dataset": "toy"},
            {"qid": "x", "query": "Where?", "golden_answers": ["C"]},
            {"text": "When?", "answer": "1871"},
            {"prompt": "Why?", "references": "D"},
        ),
    )
    assert found == [
        Question("7", "Who?", ("A", "B"), "toy"),
        Question("x", "Where?", ("C",)),
        Question("When?", "When?", ("1871",)),
        Question("Why?", "Why?", ("D",)),
    ]
    assert problems == []


def test_an_id_that_looks_random_is_still_the_questions_own(tmp_path: Path) -> None:
    [found], _ = read(tmp_path, lines({"id": "a1d9a65c0bd911eba7f7acde48001122", "question": "Who?"}))
    assert found.id == "a1d9a65c0bd911eba7f7acde48001122"


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("form", ["lines", "array", "text"])
def test_every_container_gives_the_same_questions(tmp_path: Path, form: str, is_packed: bool) -> None:
    texts = ["Who charted the Velm?", "“Čapek” wrote what?"]
    records = [{"question": text} for text in texts]
    written = {"lines": lines(*records), "array": json.dumps(records), "text": "\n".join(["", *texts, ""])}[form]
    data = written.encode()
    found, problems = read(tmp_path, gzip.compress(data) if is_packed else data)
    assert [question.text for question in found] == texts
    assert problems == []


def test_bad_lines_are_reported_with_their_place_and_left_out(tmp_path: Path) -> None:
    found, problems = read(tmp_path, lines({"question": "Who?"}, {"question": ["?"]}) + '{"question": "cut\n[1]\n')
    assert [question.text for question in found] == ["Who?"]
    assert [problem.source.rpartition(":")[2] for problem in problems] == ["2", "3", "4"]
    assert "no question: expected text in 'question'" in problems[0].reason


def test_a_question_that_comes_again_is_left_out_and_an_id_that_comes_again_is_made_free(tmp_path: Path) -> None:
    first = lines({"id": 1, "question": "Who?"}, {"id": 1, "question": "Who?"})
    second = lines({"id": 1, "question": "Where?"}, {"id": "1~2", "question": "When?"}, {"id": 1, "question": "Where?"})
    found, problems = read(tmp_path, first, second)
    assert [(one.id, one.text) for one in found] == [("1", "Who?"), ("1~2", "Where?"), ("1~2~2", "When?")]
    assert ["left out" in problem.reason for problem in problems] == [True, False, False, True]


def test_answers_that_hold_no_text_are_mentioned_and_the_question_kept(tmp_path: Path) -> None:
    [found], [problem] = read(tmp_path, lines({"question": "Who?", "answers": {"a": 1}}))
    assert found.references == ()
    assert "without references" in problem.reason


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "empty"), (b"\x7fELF\0\1\2\xff", "binary"), (b'{"colour": "blue"}\n', "not one question")],
)
def test_a_file_without_questions_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(ReadError, match=words):
        read(tmp_path, content)


def test_a_packed_text_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress("\n".join(f"Who was number {n}, and why?" for n in range(9000)).encode())
    with pytest.raises(ReadError, match="cannot be read to its end"):
        read(tmp_path, packed[: len(packed) // 2])


def test_half_characters_do_no_harm(tmp_path: Path) -> None:
    [found], _ = read(tmp_path, '{"id": "\\ud800", "question": "Who \\ud800?", "answers": ["\\udfff"]}\n')
    for text in (found.id, found.text, *found.references):
        text.encode()


def test_the_digest_follows_everything_a_question_says() -> None:
    base = Question("1", "Who?", ("A",), "toy")
    others = [Question("2", "Who?", ("A",), "toy"), Question("1", "Who?", (), "toy"), Question("1", "Who?", ("A",))]
    assert len({digest_of([one]) for one in (base, *others)}) == 4
    assert digest_of([base, others[0]]) != digest_of([others[0], base])
