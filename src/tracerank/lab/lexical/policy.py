"""The lexical agent: K rollouts of a question over any retriever, without a language model.

Rollouts share what was searched and read, which changes nothing: each draws from (seed, question, sample) alone.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from tracerank.answers.meaning.rightness import is_right
from tracerank.lab.corpus.base import Retriever
from tracerank.lab.lexical.answering import NO_ANSWER, Answer, Notebook, Walk, draw_answer, walk_of
from tracerank.lab.lexical.closed import decide_either_or, decide_yes_no
from tracerank.lab.lexical.presets import BASE, Preset
from tracerank.lab.lexical.questions import ParsedQuestion, QuestionKind
from tracerank.lab.lexical.span_scorer import SpanScorer, load_weights
from tracerank.lab.lexical.spans import hash_of
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question, Rollout

_GUESS_CONFIDENCE = 0.05


class LexicalPolicy:
    """Answers questions from a corpus; ``scorer`` defaults to the shipped weights."""

    def __init__(self, retriever: Retriever, preset: Preset = BASE, scorer: SpanScorer | None = None) -> None:
        self.retriever = retriever
        self.preset = preset
        self.scorer = scorer or SpanScorer(load_weights())

    @property
    def name(self) -> str:
        """What is sampled, up to the corpus and the scorer's weights."""
        return f"lexical:{self.preset.name}"

    def pools(self, questions: Iterable[Question], k: int = PAPER_K, seed: int = 0) -> Iterator[Pool]:
        """A pool for each question, as they come."""
        return (self.pool(question, k, seed) for question in questions)

    def pool(self, question: Question, k: int = PAPER_K, seed: int = 0) -> Pool:
        """k rollouts; a smaller k gives a prefix."""
        return Pool.of(question, self.rollouts(question, range(k), seed))

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, so that an interrupted pool can be completed."""
        notebook = Notebook(question.text, self.scorer, self.retriever)
        for sample in samples:
            rng = np.random.default_rng((seed, hash_of(question.text), hash_of(self.preset.name), sample))
            walk, answer = self._rollout(notebook, rng)
            yield Rollout(
                sample_id=sample,
                answer=answer.text,
                searches=tuple(walk.searches),
                label=float(is_right(question.text, answer.text, question.references)) if question.references else None,
                confidence=answer.confidence,
            )

    def _rollout(self, notebook: Notebook, rng: np.random.Generator) -> tuple[Walk, Answer]:
        if rng.random() < self.preset.no_search:
            return Walk(), _guess(notebook.view.parsed, rng)
        walk = walk_of(notebook, self.preset, rng)
        if not walk.seen or rng.random() < self.preset.no_answer:
            return walk, NO_ANSWER
        return walk, _ANSWERERS[notebook.view.parsed.kind](notebook, walk, self.preset, rng)


_ANSWERERS = {
    QuestionKind.OPEN: draw_answer,
    QuestionKind.YES_NO: decide_yes_no,
    QuestionKind.EITHER_OR: decide_either_or,
}


def _guess(question: ParsedQuestion, rng: np.random.Generator) -> Answer:
    """What can be said without a search; nothing, half of the time."""
    choices = question.options or (("yes", "no") if question.kind is QuestionKind.YES_NO else question.names)
    if not choices or rng.random() < 0.5:
        return NO_ANSWER
    return Answer(choices[int(rng.integers(len(choices)))], _GUESS_CONFIDENCE)
