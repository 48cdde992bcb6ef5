"""How sure a reading by shape is, and which words it takes for plans."""

import pytest

from tracerank.readers.calls.dialogues import Dialogue
from tracerank.readers.calls.readings import Reading, Seen

ASKED = Dialogue(asked="Which river flows through Vienna?")


@pytest.mark.parametrize(
    ("seen", "confidence"),
    [
        (Seen(calls=2, by_id=2), "high"),
        (Seen(calls=2, by_id=1, by_order=1), "medium"),
        (Seen(calls=2, by_id=2, unsigned=1), "medium"),
        (Seen(calls=6, by_id=4, unreturned=2), "high"),
        (Seen(calls=6, by_id=3, unreturned=3), "low"),
        (Seen(calls=2, by_id=1, strays=2), "low"),
        (Seen(), "low"),
    ],
)
def test_a_reading_is_as_sure_as_calls_and_returns_pair_up(seen: Seen, confidence: str) -> None:
    assert Reading(ASKED, seen, is_ended=False).confidence == confidence


@pytest.mark.parametrize(
    "asked",
    [
        "Use these tools.\n<tools>…</tools>\nUser: Which city?",
        "\nCurrent Task: Which city?\n\nThis is the expected criteria",
        "Answer in one word.\nQuestion: Which city?",
        "word " * 1000,
    ],
)
def test_a_question_that_is_a_prompt_makes_a_reading_unsure(asked: str) -> None:
    assert Reading(Dialogue(asked=asked), Seen(calls=1, by_id=1), is_ended=False).confidence == "low"


def test_what_sums_up_plans_is_no_answer() -> None:
    reading = Reading(ASKED, Seen(calls=1), is_ended=False, plans=frozenset(("I look.", "Once more.")))
    assert reading.is_plan("I look.Once more.")
    assert not reading.is_plan("I look.Danube")
