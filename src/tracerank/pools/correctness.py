"""How right the answers of a pool are: by labels, else by the references. Averages nothing and reads no files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracerank.answers.exact import exact_match, normalize_answer, token_f1
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout

Compare = Callable[[Question, str], float | None]
"""How right an answer to a question is by its references; None: unknown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How good one choice is."""

    answer: str | None
    """None: nothing was chosen, or the figures are a mean over rollouts."""
    sample_id: int | None
    correct: float | None
    """Between 0 and 1; None: unknown."""
    f1: float | None
    """Token F1; None: the question has no references."""


def is_judged(pool: Pool) -> bool:
    """Whether anything at all says what is right here."""
    return bool(pool.question.references) or any(rollout.label is not None for rollout in pool.rollouts)


def correctness(rollout: Rollout, references: Sequence[str]) -> float | None:
    """The rollout's label, else its exact match; failed and empty rollouts are wrong, whatever their label."""
    if not rollout.answer or rollout.problem is not None:
        return 0.0
    if rollout.label is not None:
        return rollout.label
    return exact_match(rollout.answer, references) if references else None


def by_exact_match(question: Question, answer: str) -> float | None:
    """The paper's comparison, used unless another is named."""
    return exact_match(answer, question.references) if question.references else None


def choice(pool: Pool, sample_id: int | None) -> Outcome:
    """How good it is to choose this rollout of a judged pool; to choose none is wrong."""
    references = pool.question.references
    for rollout in pool.rollouts:
        if rollout.sample_id == sample_id:
            f1 = token_f1(rollout.answer, references) if references else None
            return Outcome(rollout.answer, sample_id, correctness(rollout, references), f1)
    return Outcome(None, None, 0.0, 0.0 if references else None)


def written(pool: Pool, answer: str, compare: Compare = by_exact_match) -> Outcome:
    """How good a newly written answer is: the label of a rollout that gave the same one, else by the references."""
    references = pool.question.references
    f1 = token_f1(answer, references) if references else None
    key = normalize_answer(answer)
    for rollout in pool.rollouts:
        # Judged sets have labels and nothing to compare with: what the judge said of the same words holds.
        if key and rollout.label is not None and normalize_answer(rollout.answer) == key:
            return Outcome(answer, None, correctness(rollout, references), f1)
    return Outcome(answer, None, compare(pool.question, answer), f1)
