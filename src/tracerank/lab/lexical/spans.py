"""Text into tokens, and the parts of it that could be an answer: spans found and typed by their spelling."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

TOKEN = re.compile(r"[^\W\d_]\.(?=\s?[A-Z])|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’\-][^\W\d_]+)*|[^\w\s]")
"""An initial with its dot, a number, a word, or one sign."""
MAX_SPANS = 80
MAX_TOKENS = 8
"""Longest span, in tokens."""
KINDS = ("date", "year", "number", "name", "word", "long name", "place", "quote", "phrase", "adjective", "title")


def word_set(listed: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(listed.split())


STOP_WORDS = word_set(
    """a an the of in on at to for from by with and or as is was were are be been being it its this that these those
    he she they his her their him them who whom whose which what when where why how do does did has have had will would
    can could may might not no also but than then so such into over after before during between about up out if there
    here i you we our your my me us s t"""
)
_NUMBER_WORDS = word_set(
    """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty hundred thousand million billion first second third fourth fifth"""
)
LINKS = word_set("of the and de la von van der for du al & in di del le on to at 's with bin ibn y e da")
"""Words that a name may hold in its middle."""
_OPENERS = word_set(
    """The A An In On At He She It They His Her Its Their This That These Those After Before During When While As By For
    From With Although However But And Or If Since Until There Both One Two Three Also Is Was Were Are Under Over
    Between Despite Following Early Later Most Some Many All Each Other Another Such Born First I We You"""
)
"""Words with a capital letter because a sentence begins."""
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_PATTERNS = (
    (re.compile(rf"\b(?:\d{{1,2}} {_MONTH},? \d{{3,4}}|{_MONTH} \d{{1,2}} ?, ?\d{{3,4}})\b"), "date"),
    (re.compile(rf"\b(?:{_MONTH} \d{{4}}|{_MONTH} \d{{1,2}}|\d{{1,2}} {_MONTH})\b"), "date"),
    (re.compile(r"\b(?:\d{4}[–-]\d{2,4}|(?:1\d|20)\d\ds?)\b"), "year"),
    (re.compile(r'(?<=["“])[^"”“]{2,60}(?=["”])'), "quote"),
)
_ADJECTIVE = re.compile(r"[A-Z][^\W\d_]+(?:an|ish|ese|ic|ch)$")
_SUFFIXES = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ers", "er", "or", "ion")


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Lower case without possessive and one common ending."""
    bare = word.lower().replace("’", "'").removesuffix("'s")
    ending = next((suffix for suffix in _SUFFIXES if bare.endswith(suffix) and len(bare) >= len(suffix) + 3), "")
    return bare if len(bare) <= 4 else bare.removesuffix(ending).removesuffix("e")


def is_content(token: str) -> bool:
    """A word or number that says something: neither a sign nor a stop word."""
    return token[0].isalnum() and token.lower() not in STOP_WORDS


def content_stems(text: str) -> frozenset[str]:
    """The stems of the content words of a text."""
    return frozenset(stem(token) for token in TOKEN.findall(text) if is_content(token))


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut into tokens, with the position of each."""

    text: str
    words: tuple[str, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "Tokens":
        found = list(TOKEN.finditer(text))
        words, begins, ends = ([getattr(match, part)() for match in found] for part in ("group", "start", "end"))
        return cls(text, tuple(words), tuple(begins), tuple(ends))

    def surface(self, start: int, end: int) -> str:
        """The text as it is written from one token to another (exclusive)."""
        return self.text[self.begins[start] : self.ends[end - 1]]

    def within(self, match: re.Match[str]) -> tuple[int, int]:
        """The range of tokens that a match covers whole."""
        return bisect_left(self.begins, match.start()), bisect_right(self.ends, match.end())


def find_spans(tokens: Tokens) -> dict[tuple[int, int], str]:
    """First and last token (exclusive) to kind; the first rule that finds a span types it."""
    found: dict[tuple[int, int], str] = {}
    for start, end, kind in _proposals(tokens):
        if 0 < end - start <= MAX_TOKENS and len(found) < MAX_SPANS:
            found.setdefault((start, end), kind)
    return found


def _proposals(tokens: Tokens) -> Iterator[tuple[int, int, str]]:
    words = tokens.words
    for pattern, kind in _PATTERNS:
        for match in pattern.finditer(tokens.text):
            yield *tokens.within(match), kind
    at = 0
    while at < len(words):
        following = words[at + 1] if at + 1 < len(words) else "."
        if words[at][0].isupper() and (words[at] not in _OPENERS or following[0].isupper()):
            end = _name_end(words, at)
            yield from _name(words, at, end)
            at = end
        else:
            at += 1
    for at, word in enumerate(words):
        if word[0].isdigit() or word in _NUMBER_WORDS:
            yield at, at + 1, "number"
            if at + 1 < len(words) and _is_plain(words[at + 1]):
                yield at, at + 2, "number"
    start = 0
    for at in range(len(words) + 1):
        if at < len(words) and _is_plain(words[at]):
            continue
        for length in range(1, min(at - start, 3) + 1):
            yield at - length, at, "phrase"
        start = at + 1


def _name_end(words: tuple[str, ...], start: int) -> int:
    """Where a run of capitalised words, linked or dotted, ends."""
    end = look = start + 1
    while look < len(words):
        word = words[look]
        if word[0].isupper() or (look == end and word[0].isdigit() and len(word) <= 4):
            end = look + 1
        elif not (word in LINKS or (word == "." and len(words[look - 1]) <= 2)) or look > end + 1:
            break
        look += 1
    return end


def _name(words: tuple[str, ...], start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """A name and the parts of it that may be meant alone."""
    yield start, end, _name_kind(words[start:end])
    if words[start] in _OPENERS:
        start += 1
        yield start, end, _name_kind(words[start:end])
    part = start
    for at in range(start, end + 1):
        if at == end or words[at] in LINKS:
            yield part, at, _name_kind(words[part:at])
            part = at + 1
    if 3 <= end - start <= 5:
        yield start, end - 1, "name"
        yield start + 1, end, "name"
    # City, State
    if end + 1 < len(words) and words[end] == "," and words[end + 1][0].isupper() and words[end + 1] not in _OPENERS:
        yield start, _name_end(words, end + 1), "place"
    if end < len(words) and _is_plain(words[end]):
        yield start, end + 1, "long name"


def _name_kind(words: tuple[str, ...]) -> str:
    if len(words) == 1:
        return "adjective" if len(words[0]) > 4 and _ADJECTIVE.match(words[0]) else "word"
    return "name" if len(words) <= 3 and all(word[0].isupper() for word in words) else "long name"


def _is_plain(word: str) -> bool:
    return word[0].islower() and word not in STOP_WORDS
