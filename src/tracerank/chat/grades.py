"""Grades by letter, A to T, read as an expected value over what the model might have written.

Where the server tells log-probabilities at the place of the letter, the grade is the mean over all letters listed
there, by their chances; else it is the letter that was written, and the grade says so. There is no grade for what
cannot be read: a score of one half that means nothing is worse than none (behind a reasoning parser such halves were
silent).
Letters, not digits: each is one token, so that twenty grades can be told apart at one place.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from tracerank.endpoints.chat import ChatReply, TokenLogprob

LETTERS = "ABCDEFGHIJKLMNOPQRST"
"""The best first."""
LIKELY_TOKENS = 20
"""Likely tokens that are asked for at each place: as many as there are grades, and what OpenAI and vLLM allow."""
_MOST_LIKELY = 1.05
"""Sum of the probabilities at one place, from which they are none: some servers fill in zeros for logarithms."""
_AROUND = " \t\r\n*_\"'`:.()[]<>=|-"


@dataclass(frozen=True, slots=True)
class Grade:
    """How good something is, between 0 and 1."""

    value: float
    is_expected: bool
    """Whether it is the mean over letters by their log-probabilities; else it is the letter that was written."""


def grades_in(reply: ChatReply, labels: Sequence[str]) -> tuple[Grade, ...] | None:
    """The grade behind each label, where all are there; None: one is missing, or the reply was cut before it.

    The last line with a label counts. A reply that is nothing but letters, as many as labels, needs none.
    """
    said = _letters(reply.spoken, labels)
    if said is None or (reply.is_cut and "\n" in reply.spoken[: said[0][1]].strip()):  # it was still weighing
        return None
    tokens = reply.logprobs or ()
    told = _letters("".join(token.token for token in tokens), labels)
    # Behind a reasoning parser the tokens may be those of the thinking alone, which tell nothing of the grades.
    if told is None or [letter for letter, _ in told] != [letter for letter, _ in said]:
        return tuple(Grade(_value(letter), False) for letter, _ in said)
    return tuple(_expected(tokens, letter, at) for letter, at in told)


def mean_grade(grades: Sequence[Grade]) -> Grade:
    """Of several criteria and repeats; expected only where all are."""
    return Grade(fmean(grade.value for grade in grades), all(grade.is_expected for grade in grades))


@cache
def _pattern(label: str) -> re.Pattern[str]:
    # A capital that ends its line, or what is written into brackets goes on: "a letter from A to T" is no grade.
    opens, ends = r"[ \t*_\"'(\[]{0,6}", r"(?=[ \t*_\"')\].,;:+-]{0,6}(?:$|\())"
    return re.compile(rf"^[\s*_#>\"'-]{{0,8}}(?i:{label}(?: answer)?){opens}[:=]{opens}([A-T]){ends}", re.M)


def _letters(text: str, labels: Sequence[str]) -> list[tuple[str, int]] | None:
    """The letter behind each label with its place in the text; None: one is not there."""
    found = []
    for label in labels:
        lines = list(_pattern(label).finditer(text))
        if not lines:
            return _bare(text, len(labels))
        found.append((lines[-1][1], lines[-1].start(1)))
    return found


def _bare(text: str, count: int) -> list[tuple[str, int]] | None:
    """Where a text is nothing but so many letters, each with its place."""
    found = list(re.finditer(r"[^\s,;/*_.()]+", text[:200]))
    letters = [match[0].upper() for match in found]
    if len(text) > 200 or len(letters) != count or any(len(one) > 1 or one not in LETTERS for one in letters):
        return None
    return [(letter, match.start()) for letter, match in zip(letters, found, strict=True)]


def _value(letter: str) -> float:
    return 1 - LETTERS.index(letter) / (len(LETTERS) - 1)


def _expected(tokens: Sequence[TokenLogprob], letter: str, at: int) -> Grade:
    """The mean over the letters that might have stood at a place of the tokens' text."""
    end = 0
    for token in tokens:
        end += len(token.token)
        if end > at:
            break
    likely = token.likely
    chances = [(_letter(one.token), math.exp(min(one.logprob, 0.0))) for one in likely]
    # Whole tokens alone: "The" is no T.
    weights: dict[str, float] = {}
    for one, chance in chances:
        if one is not None:
            weights[one] = weights.get(one, 0.0) + chance
    total = math.fsum(weights.values())
    if letter not in weights or total <= 0 or math.fsum(chance for _, chance in chances) > _MOST_LIKELY:
        return Grade(_value(letter), False)
    return Grade(math.fsum(_value(one) * chance for one, chance in weights.items()) / total, True)


def _letter(token: str) -> str | None:
    bare = token.strip(_AROUND)
    return bare.upper() if len(bare) == 1 and bare.upper() in LETTERS else None
