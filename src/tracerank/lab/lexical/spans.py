"""Text into tokens, stems and hashes, and which parts of it could be an answer: typed spans found by their spelling.

No statistics and no question: what is a good answer to what is the span scorer's business.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from zlib import crc32

TOKEN = re.compile(r"[^\W\d_]\.(?=\s?[A-Z])|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’\-][^\W\d_]+)*|[^\w\s]")
"""An initial with its dot, a number, a word, or one sign."""


def words_of(listed: str) -> tuple[str, ...]:
    """Words that are written in a row."""
    return tuple(listed.split())


def word_set(listed: str) -> frozenset[str]:
    """A set of words that are written in a row."""
    return frozenset(listed.split())


STOP_WORDS = word_set(
    """a an the of in on at to for from by with and or as is was were are be been being it its this that these those
    he she they his her their him them who whom whose which what when where why how do does did has have had will would
    can could may might not no also but than then so such into over after before during between about up out if there
    here i you we our your my me us s t"""
)

_SUFFIXES = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ers", "er", "or", "ion")
_SHORTEST_STEM = 3


def stem(word: str) -> str:
    """Lower case without possessive and one common ending."""
    bare = word.lower().replace("’", "'").removesuffix("'s")
    if len(bare) <= _SHORTEST_STEM + 1:
        return bare
    for suffix in _SUFFIXES:
        if bare.endswith(suffix) and len(bare) - len(suffix) >= _SHORTEST_STEM:
            bare = bare[: -len(suffix)]
            break
    return bare.removesuffix("e")


def hash_of(text: str) -> int:
    """32 bits that are the same in every process and version."""
    return crc32(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1 << 17)
def stem_hash(token: str) -> int:
    """Hash of the token's stem."""
    return hash_of(stem(token))


@lru_cache(maxsize=1 << 17)
def is_content(token: str) -> bool:
    """A word or number that says something: neither a sign nor a stop word."""
    return token[0].isalnum() and token.lower() not in STOP_WORDS


def content_words(text: str) -> list[str]:
    """The content words of a text as they are written."""
    return [token for token in TOKEN.findall(text) if is_content(token)]


def content_hashes(text: str) -> frozenset[int]:
    """The stem hashes of the content words of a text."""
    return frozenset(map(stem_hash, content_words(text)))


MAX_SPANS = 80
MAX_TOKENS = 8
"""Longest span, in tokens."""


class SpanKind(IntEnum):
    """How a span was recognised; the order is part of the weights."""

    DATE = 0
    MONTH = 1
    YEAR = 2
    NUMBER = 3
    QUANTITY = 4
    NAME = 5
    WORD = 6
    LONG_NAME = 7
    PLACE = 8
    QUOTE = 9
    TITLE = 10
    PHRASE = 11
    ADJECTIVE = 12
    MIXED = 13
    PART = 14


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens ``start`` to ``end`` (exclusive) of a text."""

    start: int
    end: int
    kind: SpanKind


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut into tokens, with the place of each."""

    text: str
    words: tuple[str, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "Tokens":
        matches = list(TOKEN.finditer(text))
        return cls(
            text,
            tuple(match.group() for match in matches),
            tuple(match.start() for match in matches),
            tuple(match.end() for match in matches),
        )

    def surface(self, start: int, end: int) -> str:
        """The text as it is written from one token to another (exclusive)."""
        return self.text[self.begins[start] : self.ends[end - 1]]


_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATES = (
    (re.compile(rf"\b\d{{1,2}} {_MONTH},? \d{{3,4}}\b"), SpanKind.DATE),
    (re.compile(rf"\b{_MONTH} \d{{1,2}} ?, ?\d{{3,4}}\b"), SpanKind.DATE),
    (re.compile(rf"\b{_MONTH} \d{{4}}\b"), SpanKind.MONTH),
    (re.compile(rf"\b{_MONTH} \d{{1,2}}\b"), SpanKind.MONTH),
    (re.compile(rf"\b\d{{1,2}} {_MONTH}\b"), SpanKind.MONTH),
    (re.compile(r"\b\d{4}[–-]\d{2,4}\b"), SpanKind.YEAR),
    (re.compile(r"\b(?:1\d|20)\d\ds?\b"), SpanKind.YEAR),
)
_QUOTED = re.compile(r'["“]([^"”“]{2,60})["”]')
_ADJECTIVE = re.compile(r"[A-Z][^\W\d_]+(?:an|ish|ese|ic|ch)$")

_NUMBER_WORDS = word_set(
    """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty hundred thousand million billion first second third fourth fifth"""
)
_LINKS = word_set("of the and de la von van der for du al & in di del le on to at 's with bin ibn y e da")
"""Words that a name may hold in its middle."""
_OPENERS = word_set(
    """The A An In On At He She It They His Her Its Their This That These Those After Before During When While As By For
    From With Although However But And Or If Since Until There Both One Two Three Also Is Was Were Are Under Over
    Between Despite Following Early Later Most Some Many All Each Other Another Such Born First I We You"""
)
"""Words with a capital letter because a sentence begins."""
_NEVER_IN_NAMES = word_set("In On At After By For From With As When He She It They During But If Since")


def find_spans(tokens: Tokens) -> list[Span]:
    """Typed spans without duplicates; the first rule that finds a span types it."""
    found: dict[tuple[int, int], SpanKind] = {}
    for start, end, kind in _proposals(tokens):
        if 0 < end - start <= MAX_TOKENS:
            found.setdefault((start, end), kind)
            if len(found) >= MAX_SPANS:
                break
    return [Span(start, end, kind) for (start, end), kind in found.items()]


def _proposals(tokens: Tokens) -> Iterator[tuple[int, int, SpanKind]]:
    place = {begin: index for index, begin in enumerate(tokens.begins)}
    after = {end: index + 1 for index, end in enumerate(tokens.ends)}
    for pattern, kind in _DATES:
        for match in pattern.finditer(tokens.text):
            if match.start() in place and match.end() in after:
                yield place[match.start()], after[match.end()], kind
    for match in _QUOTED.finditer(tokens.text):
        if match.start(1) in place and match.end(1) in after:
            yield place[match.start(1)], after[match.end(1)], SpanKind.QUOTE
    yield from _names(tokens.words)
    yield from _numbers(tokens.words)
    yield from _phrases(tokens.words)


def _names(words: Sequence[str]) -> Iterator[tuple[int, int, SpanKind]]:
    at = 0
    while at < len(words):
        if not words[at][0].isupper() or _only_opens(words, at):
            at += 1
            continue
        end = _name_end(words, at)
        start = at
        if words[start] in _OPENERS and end - start > 1:
            yield start, end, SpanKind.LONG_NAME
            start += 1
        yield from _name(words, start, end)
        at = end


def _only_opens(words: Sequence[str], at: int) -> bool:
    if words[at] not in _OPENERS:
        return False
    followed = at + 1 < len(words) and words[at + 1][0].isupper()
    return not followed or words[at] in _NEVER_IN_NAMES


def _name_end(words: Sequence[str], start: int) -> int:
    """Where a run of capitalised words, linked or dotted, ends."""
    count, at, end = len(words), start + 1, start + 1
    while at < count:
        word = words[at]
        following = words[at + 1] if at + 1 < count else " "
        if word[0].isupper() or (at == end and word[0].isdigit() and len(word) <= 4):
            end = at + 1
        elif word in _LINKS:
            linked = following[0].isupper() and following not in _OPENERS
            if not linked and not (following == "the" and at + 2 < count and words[at + 2][0].isupper()):
                break
        elif not (word == "." and len(words[at - 1]) <= 2 and following[0].isupper()):
            break
        at += 1
    return end


def _name(words: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int, SpanKind]]:
    """A name and the parts of it that may be meant alone."""
    yield start, end, _name_kind(words[start:end])
    part = start
    for at in range(start, end + 1):
        if at == end or words[at] in _LINKS:
            if at > part and (part > start or at < end):
                yield part, at, _name_kind(words[part:at])
                if start < part and at < end:
                    yield start, at, SpanKind.PART
            part = at + 1
    if 3 <= end - start <= 5 and words[end - 1][0].isupper():
        yield start, end - 1, SpanKind.PART
        yield start + 1, end, SpanKind.PART
    # City, State
    if end + 1 < len(words) and words[end] == "," and words[end + 1][0].isupper() and words[end + 1] not in _OPENERS:
        yield start, _name_end(words, end + 1), SpanKind.PLACE
    if end < len(words) and words[end][0].islower() and words[end] not in STOP_WORDS:
        yield start, end + 1, SpanKind.MIXED


def _name_kind(words: Sequence[str]) -> SpanKind:
    if len(words) == 1:
        return SpanKind.ADJECTIVE if len(words[0]) > 4 and _ADJECTIVE.match(words[0]) else SpanKind.WORD
    return SpanKind.NAME if len(words) <= 3 and all(word[0].isupper() for word in words) else SpanKind.LONG_NAME


def _numbers(words: Sequence[str]) -> Iterator[tuple[int, int, SpanKind]]:
    for at, word in enumerate(words):
        if not word[0].isdigit() and word not in _NUMBER_WORDS:
            continue
        yield at, at + 1, SpanKind.NUMBER
        for end in (at + 2, at + 3):
            if end > len(words) or not _is_plain(words[end - 1]):
                break
            yield at, end, SpanKind.QUANTITY


def _phrases(words: Sequence[str]) -> Iterator[tuple[int, int, SpanKind]]:
    """Runs of up to four lower-case words, and their last one and two words."""
    start = 0
    for at in range(len(words) + 1):
        if at < len(words) and _is_plain(words[at]):
            continue
        if 1 <= at - start <= 4:
            yield start, at, SpanKind.PHRASE
        for length in (1, 2):
            if at - start > length:
                yield at - length, at, SpanKind.PHRASE
        start = at + 1


def _is_plain(word: str) -> bool:
    return word[0].islower() and word not in STOP_WORDS
