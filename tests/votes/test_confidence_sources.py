"""Where the confidence of a rollout comes from."""

from dataclasses import replace

import pytest

from tracerank.endpoints.chat import ChatMessage
from tracerank.pools.types import Rollout
from tracerank.votes.weighted import READ_SOURCES, Estimate, first_estimate, logged, stated


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("Paris\nConfidence: 85%", 0.85),
        ("Paris (confidence: 0.4)", 0.4),
        ('{"answer": "Paris", "confidence": 0.85}', 0.85),
        ('{"answer": "Paris", "confidence_score": "85%"}', 0.85),
        ("{'answer': 'Paris', 'confidence': 85}", 0.85),
        ("Paris", None),
        ('{"answer": "Paris", "confidence": "high"}', None),
        ('{"answer": "Paris", "confidence": 850}', None),
        ("", None),
    ],
)
def test_a_stated_confidence_is_read_from_words_and_from_json(answer: str, wanted: float | None) -> None:
    found = stated("?", Rollout(0, answer))
    assert (found and found.value) == wanted


def test_the_last_message_is_read_where_the_short_answer_has_lost_it() -> None:
    said = (ChatMessage("user", "Confidence: 1%"), ChatMessage("assistant", "Exact Answer: Paris\nConfidence: 70%"))
    assert stated("?", Rollout(0, "Paris", messages=said)) == Estimate(0.7)


def test_what_others_said_is_not_the_agents_confidence() -> None:
    said = (ChatMessage("assistant", "Confidence: 70%"), ChatMessage("tool", "Confidence: 20%"))
    assert stated("?", Rollout(0, "Paris", messages=said)) is None


@pytest.mark.parametrize("value", [None, -0.1, 1.1, float("nan"), float("inf")])
def test_a_logged_confidence_must_be_a_share(value: float | None) -> None:
    assert logged("?", Rollout(0, "Paris", confidence=value)) is None
    assert logged("?", Rollout(0, "Paris", confidence=0.25)) == Estimate(0.25)


def test_the_agents_words_are_believed_before_a_field() -> None:
    both = Rollout(0, "Paris. Confidence: 60%", confidence=0.9)
    assert first_estimate(READ_SOURCES, "?", both) == Estimate(0.6)
    assert first_estimate(READ_SOURCES, "?", replace(both, answer="Paris")) == Estimate(0.9)


def test_a_source_is_asked_only_when_those_before_it_do_not_know() -> None:
    asked: list[str] = []

    def asking(question: str, rollout: Rollout) -> Estimate | None:
        asked.append(rollout.answer or "")
        return Estimate(0.5)

    sources = (*READ_SOURCES, asking)
    assert first_estimate(sources, "?", Rollout(0, "Rome", confidence=0.1)) == Estimate(0.1)
    assert first_estimate(sources, "?", Rollout(0, "Oslo")) == Estimate(0.5)
    assert asked == ["Oslo"]
    assert first_estimate((), "?", Rollout(0, "Oslo")) is None
