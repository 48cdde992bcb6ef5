"""A document's text cut into passages of about equal length that overlap and prefer to begin with a sentence."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from tracerank.errors import CorpusError

# Bounded: a text without blanks must not become one word of a megabyte.
_WORD = re.compile(r"\S{1,40}")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*\Z")
_INITIAL = re.compile(r"(?:\w\.)+\Z|(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|Jr|Sr|Inc|Ltd|Co|cf|ca|al)\.\Z")


@dataclass(frozen=True, slots=True)
class PassageRule:
    """How long passages are."""

    words: int = 110
    """Words that a passage holds at most; the last one may be a quarter longer, so that no scrap is left over."""
    overlap: int = 30
    """Words that two neighbours share at most; less when a sentence begins later."""

    def __post_init__(self) -> None:
        if self.words < 10 or not 0 <= self.overlap < self.words // 2:
            raise CorpusError(
                f"passages of {self.words} words with an overlap of {self.overlap} cannot be cut; "
                "use at least 10 words and an overlap below half of them"
            )


DEFAULT_RULE = PassageRule()


def cut_passages(text: str, rule: PassageRule) -> list[tuple[int, int]]:
    """Start and end of each passage in the text, in characters."""
    words = [found.span() for found in _WORD.finditer(text)]
    starts = _sentence_starts(text, words) if len(words) > rule.words else []
    spans: list[tuple[int, int]] = []
    first = 0
    while len(words) - first > rule.words * 5 // 4:
        end = _last_between(starts, first + rule.words // 2, first + rule.words) or first + rule.words
        spans.append((words[first][0], words[end - 1][1]))
        first = _first_between(starts, end - rule.overlap, end) or end - rule.overlap
    if first < len(words):
        spans.append((words[first][0], words[-1][1]))
    return spans


def _sentence_starts(text: str, words: list[tuple[int, int]]) -> list[int]:
    """Numbers of the words that begin a sentence or a line, without the first."""
    starts = []
    for number in range(1, len(words)):
        begin, end = words[number - 1]
        before = text[begin:end]
        ends_sentence = _SENTENCE_END.search(before) is not None and _INITIAL.match(before) is None
        if ends_sentence or "\n" in text[end : words[number][0]]:
            starts.append(number)
    return starts


def _last_between(starts: list[int], low: int, high: int) -> int | None:
    at = bisect_right(starts, high) - 1
    return starts[at] if at >= 0 and starts[at] > low else None


def _first_between(starts: list[int], low: int, high: int) -> int | None:
    at = bisect_left(starts, low)
    return starts[at] if at < len(starts) and starts[at] <= high else None
