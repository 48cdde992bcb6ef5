"""Which part of a question with several parts the answers dispute."""

import pytest

import tracerank as tr
from tracerank.reports.parts import DATE, NAME, NUMBER, asked_parts, disputes

BOTH = "When did the Kessel bridge open and who built it?"


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        (BOTH, [DATE, NAME]),
        ("How many people live there, and where is it?", [NUMBER, NAME]),
        ("Who directed it? In which year was it released?", [NAME, DATE]),
        ("Who wrote the book?", []),
        ("Which actor who was born in 1950 and who sang it directed the film?", []),
        ("Are both people, who wrote it and who sang it, alive?", []),
        ("who " * 1_000 + "and when?", []),
    ],
)
def test_a_question_is_cut_where_it_asks_for_another_thing(question: str, kinds: list[str]) -> None:
    assert [part.kind for part in asked_parts(question)] == kinds


@pytest.mark.parametrize(
    ("answers", "disputed"),
    [
        (["1949, Ida Brandt", "It opened on 12 May 1949; Brandt built it.", "Ida Brandt (1949)"], []),
        (["1949, Ida Brandt", "It opened in 1949; Tomas Rehn built it."], ["who built it"]),
        (["1949, Ida Brandt", "1942, Ida Brandt"], ["When did the Kessel bridge open"]),
        (["1949, Ida Brandt", "1942, Tomas Rehn"], ["When did the Kessel bridge open", "who built it"]),
        (["1949, Ida Brandt", "It opened in 1949."], []),
        (["1949, Ida Brandt", "", "."], []),
    ],
)
def test_only_a_part_with_several_values_is_disputed(answers: list[str], disputed: list[str]) -> None:
    assert [one.part for one in disputes(BOTH, dict(enumerate(answers)))] == disputed


def test_the_sides_of_a_dispute_are_named_the_most_frequent_first() -> None:
    answers = ["It opened in 1949; Tomas Rehn built it.", "1949, Ida Brandt", "May 1949, Ida Brandt"]
    note = tr.decide(BOTH, answers).note
    assert note is not None
    assert note.endswith('disputed part "who built it": Ida Brandt in #1, #2; Tomas Rehn in #0')
    assert "disputed" not in (tr.decide("When did the Kessel bridge open?", answers).note or "")
    session = tr.Session(BOTH)
    for answer in answers:
        session.add(answer)
    assert session.decision().note == note
