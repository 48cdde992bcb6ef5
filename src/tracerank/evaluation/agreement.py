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
        self.both_right += count * (one and other)
        self.both_wrong += count * (not one and not other)
        self.one_right += count * (one and not other)
        self.other_right += count * (other and not one)

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
class ExactBesideMeaning:
    """Whether exact match misleads: the first answers with references by exact match and by meaning."""

    agreement: Agreement = field(default_factory=Agreement)

    def add(self, pool: Pool) -> None:
        """Count the answers of one pool."""
        question = pool.question
        if not question.references or self.agreement.total >= MAX_COMPARED:
            return
        for answer, count in Counter(one.answer for one in pool.rollouts if one.answer).items():
            is_exact = exact_match(answer, question.references) > 0
            is_meant = is_exact or is_right(question.text, answer, question.references)
            self.agreement.add(is_exact, is_meant, count)

    def warning(self) -> str | None:
        """That exact match misleads; None: it makes little difference."""
        exact, alone, total = self.agreement.both_right, self.agreement.other_right, self.agreement.total
        if alone <= MISLEADING * total:
            return None
        return (
            f"exact match misleads here: by it {100 * exact / total:.1f}% of {total:,} answers are right, by meaning "
            f"{100 * (exact + alone) / total:.1f}%; --labels meaning judges by meaning"
        )


@dataclass(slots=True)
class FileLabels:
    """The file's labels beside the rule by meaning, for the first answers that have both."""

    agreement: Agreement = field(default_factory=Agreement)
    is_exact_match: bool = True
    """Whether all compared labels equal exact match."""

    def add(self, pool: Pool) -> None:
        """Compare the distinct answers of a pool as it was read."""
        question = pool.question
        for answer, label in {one.answer: one.label for one in pool.rollouts if one.problem is None}.items():
            if question.references and answer and label is not None and self.agreement.total < MAX_COMPARED:
                self.agreement.add(label > RIGHT, is_right(question.text, answer, question.references))
                self.is_exact_match &= label == exact_match(answer, question.references)

    def warning(self) -> str | None:
        """That the two differ; None: they agree, or there is nothing to compare."""
        share = self.agreement.share
        if share is None or 1 - share < NOTABLE:
            return None
        kind = ", which are exact match," if self.is_exact_match else ""
        return (
            f"the file's labels{kind} and the references read by meaning differ: "
            f"{self.agreement.sentence('file', 'meaning')}; --labels meaning judges by meaning"
        )

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.agreement.record(), "is_exact_match": self.is_exact_match if self.agreement.total else None}
