"""The almanac: every question can be answered from its documents, and the agents that search it are not scripted."""

import json
from importlib import resources
from typing import Any

import pytest

from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.lab.almanac.sampling import DOCUMENTS, INDEX, QUESTIONS, SEED, Almanac, K
from tracerank.lab.policies import opened_agent


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


@pytest.mark.parametrize("row", ASKED, ids=lambda row: str(row["id"]))
def test_a_question_names_a_document_that_holds_its_answer(row: dict[str, Any]) -> None:
    texts = [f"{FACTS[name]['title']}. {FACTS[name]['text']}" for name in row["documents"]]
    assert any(held(text, answer) for text in texts for answer in row["answers"]), row
    assert all(is_right(row["question"], answer, row["answers"][:1]) for answer in row["answers"]), row


def test_no_question_gives_its_answer_away() -> None:
    assert [row["question"] for row in ASKED if held(row["question"], row["answers"][0])] == []


def test_its_pools_are_those_of_the_agent_that_it_names(almanac: Almanac) -> None:
    made = [pool for pool, _ in zip(almanac.pools(), range(3), strict=False)]
    with opened_agent(almanac.agent, almanac.folder / INDEX) as agent:
        for pool in made:
            assert pool.rollouts == tuple(agent.policy.rollouts(pool.question, range(K), SEED))
