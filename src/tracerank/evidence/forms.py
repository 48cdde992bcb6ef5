"""Forms of answers, and how they stand in texts.

A form is one way in which an answer is written, looked for as a line of plain words (``text.py``). No pools here, and
no features.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.grouping import MAX_ANSWERS
from tracerank.answers.question_profile import QuestionProfile
from tracerank.answers.scripts import counted_words
from tracerank.evidence.text import Line, content_words, words_held, words_of

HEAD = 80
"""Characters of a text where its title stands."""
_WINDOW = 160
"""Characters on either side of the answer, about 25 words; in scripts whose characters stand apart, two for each."""
_MAX_OCCURRENCES = 3


class Form(NamedTuple):
    """One way in which an answer is written: the rollouts whose answers are equal under the paper's normalisation."""

    answer: str
    """As most of its rollouts wrote it."""
    line: str
    """Its words with single spaces between and around them."""
    words: tuple[str, ...]
    size: int
    """In words as a reader counts them, also where characters are the words."""
    content: frozenset[str]
    group: int
    """Number of its meaning."""
    rollouts: tuple[int, ...]
    """Indices of the rollouts that wrote it."""
    is_polar: bool = False
    """Yes or no, which cannot be looked for in texts."""


def commonest(rollouts_of: Mapping[str, Sequence[int]]) -> Sequence[str]:
    """The keys of the answers that are compared, in their order: all, or the commonest of very many."""
    if len(rollouts_of) <= MAX_ANSWERS:
        return list(rollouts_of)
    kept = set(sorted(rollouts_of, key=lambda answer: (-len(rollouts_of[answer]), answer))[:MAX_ANSWERS])
    return [answer for answer in rollouts_of if answer in kept]


def form_key(answer: str) -> str:
    """Equal for answers that are one form."""
    return normalize_answer(answer) or answer.strip()


def spelling(counts: Mapping[str, int]) -> str:
    """The commonest spelling, independent of the order; of equals the one that begins with a capital."""
    return min(counts, key=lambda answer: (-counts[answer], answer))


def form_of(answer: str, group: int, rollouts: Sequence[int], asked: QuestionProfile) -> Form:
    """The form of an answer that some rollouts wrote."""
    words = words_of(answer) or answer.lower().split()
    is_polar = words[0] in ("yes", "no") and (len(words) == 1 or asked.may_be_polar is not False)
    line, content = f" {' '.join(words)} ", frozenset(content_words(words))
    return Form(answer, line, tuple(words), counted_words(words), content, group, tuple(rollouts), is_polar)


def windows(text: Line, needle: str) -> Iterator[set[str]]:
    """The words around each occurrence of the needle in a text."""
    return (_around(text.text, at, end, _WINDOW) for at, end in _occurrences(text.text, needle))


def _occurrences(text: str, needle: str) -> Iterator[tuple[int, int]]:
    start = 0
    for _ in range(_MAX_OCCURRENCES):
        at = text.find(needle, start)
        if at < 0:
            return
        start = at + len(needle) - 1
        yield at, start


def _around(text: str, at: int, end: int, reach: int) -> set[str]:
    return words_held(f"{text[max(0, at - reach) : at]} | {text[end : end + reach]}")  # no term across the answer


def near(text: Line, needle: str) -> frozenset[str]:
    """Words around the first occurrence of the needle in the text; empty without one."""
    at = text.text.find(needle)
    if at < 0:
        return frozenset()
    end = at + len(needle) + _WINDOW
    if at <= _WINDOW and len(text.text) <= end:
        return text.words
    return frozenset(words_held(text.text[max(0, at - _WINDOW) : end]))
