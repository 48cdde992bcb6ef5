"""How often two ways of judging agree: a judge, the file's labels or exact match, and the rule by meaning."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from tracerank.answers.exact import exact_match
from tracerank.answers.meaning.rightness import is_right
from tracerank.pools.pool import Pool

RIGHT = 0.5
"""A soft label above this is right."""
MAX_COMPARED = 1000
"""Answers that are compared: milliseconds each, and enough for a share."""
MISLEADING = 0.05
"""Share of all answers that are right by meaning alone, above which there is a warning."""
NOTABLE = 0.02
"""Share of differing answers from which there is a warning."""


@dataclass(slots=True)
class Agreement:
    """Counts of answers by two judgements."""

    both_right: int = 0
    both_wrong: int = 0
    one_right: int = 0
    """Right by the first, wrong by the second."""
    other_right: int = 0

    def add(self, one: bool, other: bool, count: int = 1) -> None:
        """Count an answer."""
        if one == other:
            self.both_right += count * one
            self.both_wrong += count * (not one)
        else:
            self.one_right += count * one
            self.other_right += count * other

    @property
    def total(self) -> int:
        return self.both_right + self.both_wrong + self.one_right + self.other_right

    @property
    def share(self) -> float | None:
        """Share of answers on which both agree; None: there are none."""
        return (self.both_right + self.both_wrong) / self.total if self.total else None

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "total": self.total, "share": self.share}

    def sentence(self, one: str, other: str) -> str:
        """In a line, with names for the two."""
        if self.share is None:
            return f"{one} and {other}: no answer to compare"
        return (
            f"{one} and {other} agree on {self.both_right + self.both_wrong:,} of {self.total:,} answers "
            f"({100 * self.share:.1f}%); {one} right, {other} wrong: {self.one_right:,}; "
            f"{other} right, {one} wrong: {self.other_right:,}"
        )


@dataclass(slots=True)
class BesideMeaning:
    """Exact match and the file's labels, each beside the rule by meaning, for the first answers that have both."""

    exact: Agreement = field(default_factory=Agreement)
    file: Agreement = field(default_factory=Agreement)
    """Of the distinct answers of a pool."""

    def add(self, pool: Pool) -> None:
        """Compare the answers of a pool as it was read."""
        question, labels = pool.question, {one.answer: one.label for one in pool.rollouts if one.problem is None}
        if not question.references or self.exact.total >= MAX_COMPARED:
            return
        for answer, count in Counter(one.answer for one in pool.rollouts if one.answer).items():
            is_exact = exact_match(answer, question.references) > 0
            is_meant = is_exact or is_right(question.text, answer, question.references)
            self.exact.add(is_exact, is_meant, count)
            if (label := labels.get(answer)) is not None:
                self.file.add(label > RIGHT, is_meant)

    def warnings(self, is_by_exact_match: bool) -> list[str]:
        """That the file's labels differ from meaning, and that exact match, where it makes the labels, misleads."""
        made = []
        exact, alone, total = self.exact.both_right, self.exact.other_right, self.exact.total
        if self.file.share is not None and 1 - self.file.share >= NOTABLE:
            made.append(
                f"the file's labels and the references read by meaning differ: "
                f"{self.file.sentence('file', 'meaning')}; --labels meaning judges by meaning"
            )
        if is_by_exact_match and alone > MISLEADING * total:
            made.append(
                f"exact match misleads here: by it {100 * exact / total:.1f}% of {total:,} answers are right, by "
                f"meaning {100 * (exact + alone) / total:.1f}%; --labels meaning judges by meaning"
            )
        return made
