"""The almanac: every question can be answered from its documents, and the agents that search it are not scripted."""

import json
from pathlib import Path
from typing import Any

from studies.trial.almanac import DOCUMENTS, INDEX, QUESTIONS, Almanac
from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.lab.corpus.index import Corpus


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


FACTS = {row["id"]: row for row in rows(DOCUMENTS)}
ASKED = rows(QUESTIONS)


def held(text: str, answer: str) -> bool:
    return f" {normalize_answer(answer)} " in f" {normalize_answer(text)} "


def test_a_question_names_a_document_that_holds_its_answer() -> None:
    for row in ASKED:
        texts = [f"{FACTS[name]['title']}. {FACTS[name]['text']}" for name in row["documents"]]
        assert any(held(text, answer) for text in texts for answer in row["answers"]), row
        assert all(is_right(row["question"], answer, row["answers"][:1]) for answer in row["answers"]), row


def test_no_question_gives_its_answer_away() -> None:
    assert [row["question"] for row in ASKED if held(row["question"], row["answers"][0])] == []


def test_it_can_be_searched_where_it_was_written(tmp_path: Path) -> None:
    almanac = Almanac.indexed_in(tmp_path / "here")
    assert (almanac.documents, len(almanac.questions)) == (len(FACTS), len(ASKED))
    assert Corpus(almanac.folder / INDEX).search(ASKED[0]["question"])
