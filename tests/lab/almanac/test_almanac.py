"""The almanac: every question can be answered from its documents, and the agents that search it are not scripted."""

import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.lab.almanac.sampling import DOCUMENTS, INDEX, QUESTIONS, SEED, Almanac, K
from tracerank.lab.policies import PolicyChoice, Sources


def rows(name: str) -> list[dict[str, Any]]:
    text = resources.files("tracerank.lab.almanac").joinpath(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


FACTS = {row["id"]: row for row in rows(DOCUMENTS)}
ASKED = rows(QUESTIONS)


@pytest.fixture(scope="module")
def almanac(tmp_path_factory: pytest.TempPathFactory) -> Almanac:
    return Almanac.written_to(tmp_path_factory.mktemp("almanac") / "here")


def held(text: str, answer: str) -> bool:
    return f" {normalize_answer(answer)} " in f" {normalize_answer(text)} "


def test_a_document_is_a_title_and_two_to_five_short_sentences() -> None:
    assert len(FACTS) == len(rows(DOCUMENTS)) >= 60
    for row in FACTS.values():
        assert set(row) == {"id", "title", "url", "text"}
        assert row["title"].strip()
        assert 60 <= len(row["text"]) <= 400, row["id"]


def test_titles_texts_and_questions_are_told_apart() -> None:
    for values in ([row["title"] for row in FACTS.values()], [row["text"] for row in FACTS.values()]):
        assert Counter(values).most_common(1)[0][1] == 1
    assert len({row["id"] for row in ASKED}) == len({row["question"] for row in ASKED}) == len(ASKED) >= 40


@pytest.mark.parametrize("row", ASKED, ids=lambda row: str(row["id"]))
def test_a_question_names_a_document_that_holds_its_answer(row: dict[str, Any]) -> None:
    texts = [f"{FACTS[name]['title']}. {FACTS[name]['text']}" for name in row["documents"]]
    assert any(held(text, answer) for text in texts for answer in row["answers"]), row
    assert all(is_right(row["question"], answer, row["answers"][:1]) for answer in row["answers"]), row


def test_no_question_gives_its_answer_away() -> None:
    assert [row["question"] for row in ASKED if held(row["question"], row["answers"][0])] == []


def test_it_is_written_where_it_can_be_looked_up_and_written_again_over_itself(almanac: Almanac) -> None:
    assert almanac.documents == len(FACTS)
    assert [question.text for question in almanac.questions] == [row["question"] for row in ASKED]
    written = (almanac.folder / DOCUMENTS).read_text(encoding="utf-8").splitlines()
    assert rows(DOCUMENTS) == [json.loads(line) for line in written]
    assert Almanac.written_to(almanac.folder) == almanac


def test_its_pools_are_those_of_the_agent_that_it_names(almanac: Almanac) -> None:
    made = [pool for pool, _ in zip(almanac.pools(), range(3), strict=False)]
    choice = PolicyChoice(almanac.agent, Sources(almanac.folder / INDEX))
    with choice.opened() as policy:
        for pool in made:
            assert pool.rollouts == tuple(policy.rollouts(pool.question, range(K), SEED))


def test_its_agent_errs_and_could_be_right_far_more_often_than_it_is(almanac: Almanac) -> None:
    """The two figures by which questions and agent were chosen; no method decides here."""
    single, best = [], []
    for pool in almanac.pools():
        right = [is_right(pool.question.text, one.answer, pool.question.references) for one in pool.rollouts]
        single.append(sum(right) / K)
        best.append(any(right))
    assert round(sum(single) / len(single), 3) == 0.352
    assert round(sum(best) / len(best), 3) == 0.681


def test_a_folder_with_other_files_in_place_of_the_index_is_not_cleared(tmp_path: Path) -> None:
    (tmp_path / INDEX).mkdir()
    (tmp_path / INDEX / "mine.txt").write_text("mine")
    with pytest.raises(Exception, match="holds other files"):
        Almanac.written_to(tmp_path)
    assert (tmp_path / INDEX / "mine.txt").read_text() == "mine"
