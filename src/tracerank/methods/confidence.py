"""How sure an agent was of its answer, for votes that weigh it: sources that are tried in order.

Only reads what a rollout holds; asking a chat model is ``asked_confidence.py``'s matter. Labels are never looked at.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tracerank.answers.extraction import stated_confidence
from tracerank.endpoints.messages import Usage
from tracerank.pools.types import Rollout


@dataclass(frozen=True, slots=True)
class Estimate:
    """A confidence and what it cost to get."""

    value: float
    """Between 0 and 1."""
    usage: Usage | None = None
    """None: nothing was asked, or nobody counted."""


class ConfidenceSource(Protocol):
    """Anything that can tell how sure a rollout is; sees the question's text and never its references."""

    @property
    def name(self) -> str: ...

    def estimate(self, question: str, rollout: Rollout) -> Estimate | None:
        """The confidence in the rollout's answer; None: this source does not know."""
        ...


# "confidence": 0.85 and 'confidence_score': "85%" of an answer written as JSON or as Python.
_JSON_FIELD = re.compile(
    r"""["']confidence(?:[_ ](?:score|level))?["']\s{0,3}:\s{0,3}["']?([0-9]{1,3}(?:\.[0-9]{1,12})?\s?[%％]?)""", re.I
)


class StatedConfidence:
    """What the agent says in its answer or in its last message: "Confidence: 85%", or a JSON field."""

    name = "stated"

    def estimate(self, question: str, rollout: Rollout) -> Estimate | None:
        for text in _last_words(rollout):
            found = stated_confidence(_JSON_FIELD.sub(r" confidence: \1", text))
            if found is not None:
                return Estimate(found)
        return None


class LoggedConfidence:
    """The rollout's ``confidence``: a field of the log, what its reader found, or the mean token probability."""

    name = "logged"

    def estimate(self, question: str, rollout: Rollout) -> Estimate | None:
        value = rollout.confidence
        return Estimate(value) if value is not None and 0 <= value <= 1 else None


READ_SOURCES: tuple[ConfidenceSource, ...] = (StatedConfidence(), LoggedConfidence())
"""What needs no model, in the order in which it is believed: the agent's words before anybody's field."""


def first_estimate(sources: Sequence[ConfidenceSource], question: str, rollout: Rollout) -> Estimate | None:
    """The estimate of the first source that has one."""
    return next((found for source in sources if (found := source.estimate(question, rollout)) is not None), None)


def _last_words(rollout: Rollout) -> list[str]:
    """The answer, and the message that it was taken from where messages are kept."""
    final = rollout.messages[-1] if rollout.messages else None
    said = [final.content] if final is not None and final.role == "assistant" else []
    return [rollout.answer or "", *said]
