"""What is right by meaning, on examples of our own and on the wordings beside the repository."""

import pytest

import tracerank as tr
from studies.shipped_weights.meaning_data import RIGHT, WORDINGS, wordings
from tests.answers.meaning.meaning_pairs import EQUAL, UNEQUAL


@pytest.mark.parametrize(("question", "reference", "answer"), EQUAL)
def test_other_words_for_a_reference_are_right(question: str, reference: str, answer: str) -> None:
    assert tr.is_right(question, answer, [reference])


@pytest.mark.parametrize(("question", "reference", "answer"), UNEQUAL)
def test_another_answer_than_the_reference_is_wrong(question: str, reference: str, answer: str) -> None:
    assert not tr.is_right(question, answer, [reference])


def test_an_exact_match_is_right_and_an_abstention_never() -> None:
    assert tr.is_right("Who?", "The Beatles", ["beatles"])
    assert not tr.is_right("Who?", "I don't know", ["Ringo"])
    assert not tr.is_right("Who?", None, ["Ringo"])
    assert not tr.is_right("Who?", "Ringo", [])


def test_any_of_the_references_will_do() -> None:
    assert tr.is_right("Where was he born?", "It was in Vanda.", ["Vantaa", "Vanda"])


@pytest.mark.parametrize(
    "answer",
    [
        "Paris, Rome, Oslo, Bern",
        "Oslo, Paris, Rome, Bern",
        "Paris; Oslo; Bern",
        "Bern or Oslo",
        "Paris, Bern, or Oslo.",
    ],
)
def test_a_list_of_what_excludes_each_other_is_no_answer(answer: str) -> None:
    assert not tr.is_right("Which city is the capital of Norway?", answer, ["Oslo"])


@pytest.mark.parametrize(
    ("question", "answer", "references"),
    [
        ("Which city is the capital of Norway?", "Oslo, Norway", ["Oslo"]),
        ("Which city is the capital of Norway?", "Oslo (capital of Norway)", ["Oslo"]),
        ("Where was he born?", "Lillestrom, Akershus, Norway", ["Lillestrom"]),
        ("Where was he born?", "Kelva, Ornshire, Wessex, England", ["Kelva"]),
        ("Who wrote it?", "Smith, John", ["John Smith"]),
        ("Who was her sister?", "Zoe, Kat, Lynne, Mo", ["Lynne", "Mo"]),
        ("Which states meet at the gap?", "Kentucky, Virginia, Tennessee", ["Kentucky, Virginia, and Tennessee"]),
        ("Who did he play for after the Hawks?", "Los Angeles Clippers, Boston Celtics, and Magic", ["Boston Celtics"]),
        ("What slang term is it?", "Gwailou or Gweilo", ["Gweilo"]),
        ("Which song is it?", "Black or White", ["Black or White (song)"]),
    ],
)
def test_lists_that_are_one_thing_or_were_asked_for_stay_right(
    question: str, answer: str, references: list[str]
) -> None:
    assert tr.is_right(question, answer, references)


@pytest.mark.skipif(not WORDINGS.is_file(), reason="../shared/data/meaning.jsonl.gz is not here")
def test_rightness_agrees_with_the_wordings_of_questions_no_rule_was_written_for() -> None:
    _, held = wordings()
    judged = [
        tr.is_right(row.question, text, row.references) == (means == RIGHT)
        for row in held
        for text, means in zip(row.answers, row.means, strict=True)
    ]
    assert sum(judged) / len(judged) >= 0.93
