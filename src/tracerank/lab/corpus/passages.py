"""Where a text is cut into passages: about equal lengths that overlap and prefer to begin with a sentence."""

import re
from bisect import bisect_right

WORDS = 110
"""Words that a passage holds at most; the last one may be a quarter longer, so that no scrap is left over."""
OVERLAP = 30
"""Words that two neighbours share at most; less when a sentence begins later."""

# Bounded: a text without blanks must not become one word of a megabyte.
_WORD = re.compile(r"\S{1,40}")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*\Z")
_INITIAL = re.compile(r"(?:\w\.)+\Z|(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|Jr|Sr|Inc|Ltd|Co|cf|ca|al)\.\Z")


def cut_passages(text: str) -> list[tuple[int, int]]:
    """Start and end of each passage in the text, in characters."""
    words = [found.span() for found in _WORD.finditer(text)]
    starts = _sentence_starts(text, words) if len(words) > WORDS else []
    spans: list[tuple[int, int]] = []
    first = 0
    while len(words) - first > WORDS * 5 // 4:
        end = max(_between(starts, first + WORDS // 2, first + WORDS), default=first + WORDS)
        spans.append((words[first][0], words[end - 1][1]))
        first = min(_between(starts, end - OVERLAP - 1, end), default=end - OVERLAP)
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


def _between(starts: list[int], after: int, last: int) -> list[int]:
    return starts[bisect_right(starts, after) : bisect_right(starts, last)]
