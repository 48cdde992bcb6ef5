"""Labels by meaning for the real rollouts: exact matches, and what was judged by reading. Fits and counts nothing."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

import tracerank as tr
from studies.shipped_weights.real_pools import SHARED, folded
from tracerank.answers.exact import exact_match, normalize_answer

FILE = SHARED / "data" / "judgements.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Judgements:
    """What a reader said of answers that match no reference exactly."""

    verdicts: Mapping[tuple[str, str], bool]
    """Question, lower-cased with white space collapsed, and normalised answer to whether it is right."""

    @classmethod
    def read(cls, file: Path = FILE) -> "Judgements":
        with gzip.open(file, "rb") as lines:
            rows = [orjson.loads(line) for line in lines]
        return cls({(row["question"], row["answer"]): bool(row["right"]) for row in rows})

    def is_right(self, question: tr.Question, answer: str | None) -> bool:
        """Whether the answer means a reference; one that nobody judged does not."""
        if exact_match(answer, question.references):
            return True
        return self.verdicts.get((folded(question.text), normalize_answer(answer)), False)

    def labelled(self, pool: tr.Pool) -> tr.Pool:
        """The pool with labels by meaning, whatever its labels were."""
        rollouts = (replace(one, label=float(self.is_right(pool.question, one.answer))) for one in pool.rollouts)
        return tr.Pool.of(pool.question, rollouts)

    def unjudged(self, pool: tr.Pool) -> int:
        """Answered rollouts that count as wrong because nothing says what they are."""
        return sum(
            bool(one.answer)
            and not exact_match(one.answer, pool.question.references)
            and (folded(pool.question.text), normalize_answer(one.answer)) not in self.verdicts
            for one in pool.rollouts
        )
