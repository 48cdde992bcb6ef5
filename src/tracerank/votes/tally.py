"""What users should know about a method's decisions, counted as they pass and said in a few lines."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tracerank.votes.base import ALIKE, ASKED_AGAIN, FORCED, LENIENT, NO_ANSWER, UNLIKE
from tracerank.votes.voting import NO_CONFIDENCE


class Made(Protocol):
    """A decision, or the record of one."""

    @property
    def counts(self) -> Mapping[str, int]: ...

    @property
    def note(self) -> str | None: ...

    @property
    def failure(self) -> str | None: ...


@dataclass(slots=True)
class Tally:
    """Counts of one method's decisions."""

    method: str
    decided: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """Decisions by what happened while a model was asked, and by remarks that matter."""
    failed: int = 0
    first_failure: str | None = None
    is_wrong: bool = False
    """Whether failed decisions count as wrong."""

    def add(self, made: Made, correct: float | None = None) -> None:
        """One more decision; ``correct``: how right it counts as, if it was judged."""
        self.decided += 1
        self.counts.update(made.counts.keys())
        self.counts.update(remark for remark in (NO_CONFIDENCE, ALIKE, UNLIKE) if remark in (made.note or ""))
        if made.failure is not None:
            self.failed += 1
            self.first_failure = self.first_failure or made.failure
            self.is_wrong |= correct is not None

    def notes(self) -> list[str]:
        """One line for each thing worth saying, without failures."""
        made = []
        if unweighed := self.counts[NO_CONFIDENCE]:
            where = "" if unweighed == self.decided else f" in {unweighed:,} of {self.decided:,} decisions"
            made.append(
                f"{self.method}: no rollout states a confidence{where}, so it equals the majority vote there; "
                "--chat URL#MODEL asks for it"
            )
        if alike := self.counts[ALIKE]:
            made.append(
                f"warning: {self.method}: in {alike:,} of {self.decided:,} decisions all scores are equal, so the "
                "first candidate or the first decision stands; behind a reasoning parser, log probabilities may be "
                "those of the reasoning"
            )
        if unlike := self.counts[UNLIKE]:
            made.append(
                f"warning: {self.method}: {unlike:,} of {self.decided:,} pools are {UNLIKE}; nothing is known of its "
                "accuracy there: measure it with tracerank evaluate, or train on your own pools"
            )
        parts = [f"{self.counts[name]:,} {name}" for name in (ASKED_AGAIN, LENIENT, FORCED) if self.counts[name]]
        if self.counts[NO_ANSWER]:
            parts.append(f"{self.counts[NO_ANSWER]:,} without an answer from the model")
        if parts:
            made.append(f"{self.method}: of {self.decided:,} decisions {', '.join(parts)}")
        return made

    def failures(self, then: str) -> str | None:
        """How many decisions failed and what that means for the figures; None: none failed."""
        if not self.failed:
            return None
        failed = f"{self.failed:,} of {self.decided:,} decisions failed, the first because {self.first_failure}"
        return f"{self.method}: {failed}; {then}; the same command tries them again"
