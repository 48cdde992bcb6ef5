"""Which questions are judged: those of a split, without those that a selector was fitted on, and how that is said.

A selector's figures on questions that it was fitted on are too good; so these are left out unless somebody wants them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import Split
from tracerank.votes.folders import FittedOn


def fitted_sentence(fitted: int, questions: int, are_judged: bool) -> str:
    """How many questions are not new to a selector, and what was done with them."""
    told = f"{fitted:,} of these {questions:,} questions were fitted on"
    if are_judged:
        return f"{told}: the figures of what was fitted are too good"
    return f"{told}; only the other {questions - fitted:,} are judged (--include-fitted judges all)"


@dataclass(slots=True)
class JudgedQuestions:
    """Lets those pools pass that are judged, and counts the others."""

    fitted: FittedOn = field(default_factory=FittedOn)
    split: Split | None = None
    """Only what it holds out is judged; None: everything is."""
    has_fitted: bool = False
    """Whether questions pass that were fitted on."""
    not_held_out: int = 0
    met: int = 0
    """Questions that were fitted on."""
    new: int = 0
    """Questions that were not."""

    def over(self, pools: Iterable[Pool]) -> Iterator[Pool]:
        """The pools that are judged."""
        for pool in pools:
            if self.split is not None and not self.split.holds_out(pool.question):
                self.not_held_out += 1
                continue
            is_met = pool in self.fitted
            self.met += is_met
            self.new += not is_met
            if self.has_fitted or not is_met:
                yield pool

    @property
    def sentence(self) -> str | None:
        """What to say below the figures; None: all questions were new."""
        return fitted_sentence(self.met, self.met + self.new, self.has_fitted) if self.met else None

    def check(self) -> None:
        """Refuse that nothing was left to judge."""
        if self.met + self.new == 0 and self.not_held_out:
            raise UsageError(f"--split: holds out not one of {self.not_held_out:,} questions; nothing to judge")
        if self.met and not self.new and not self.has_fitted:
            raise UsageError(
                f"all {self.met:,} questions were fitted on; none is left to judge. Evaluate on other questions, or "
                "fit and evaluate with the same --split 0.3; --include-fitted judges them all the same"
            )
