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
        ("What are the capital and the population of Ornland?", [NAME, NUMBER]),
        ("What is the opening year and builder of the bridge?", [NAME, NAME]),
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


FIELDS = ['{"built": 1949, "by": "Ida Lo"}', '{"by": "Lo", "built": "12 May 1949"}']


@pytest.mark.parametrize(
    ("answers", "disputed"),
    [
        (FIELDS, []),
        ([*FIELDS, '```json\n{"built": 1942, "by": null}\n```'], ["built"]),
        (['{"of": {"length": "5 km", "ends": ["Aa", "Bo"]}}', '{"of": {"length": "3.1 miles", "ends": ["Bo"]}}'], []),
        (['{"rows": [{"price": 3}, {"price": 4}]}', '{"rows": [{"price": 3}, {"price": 5}]}'], ["rows 2 price"]),
        (["Built: 1949\n- **Built by**: Ida Lo", "built: 1949; built by: Al Rehn"], ["built by"]),
        (["built: 1949", '{"a": ' * 5_000, "{:}"], []),
        (["Confidence: 90%\nAnswer: Bo", "Confidence: 80%\nAnswer: Bo"], []),
    ],
)  # fmt: skip
def test_structured_answers_are_compared_by_their_labels(answers: list[str], disputed: list[str]) -> None:
    assert [one.part for one in disputes("Return the facts.", dict(enumerate(answers)))] == disputed


def test_an_object_given_as_an_answer_is_compared_as_one() -> None:
    records = [{"answer": {"built": year, "by": "Ida Lo"}} for year in (1949, 1942, 1949)]
    decision = tr.decide("Return the facts.", records)
    assert decision.answer == '{"built": 1949, "by": "Ida Lo"}'
    assert str(decision.note).endswith('disputed part "built": 1949 in #0, #2; 1942 in #1')


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
