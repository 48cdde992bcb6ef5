"""Texts and answers as lines of plain words, so that the one is found in the other by one search in a string.

Where scripts part words by nothing, characters are the words (``answers/scripts.py``). How an answer stands in a text
and in queries is here; whose they are is not: no pools, no features.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import filterfalse, takewhile
from math import fsum  # the same whatever the order, which sets do not keep
from typing import NamedTuple

from tracerank.answers.asked import Asked
from tracerank.answers.english import AUXILIARIES, BOUNDARIES, PREPOSITIONS, VERBS
from tracerank.answers.english import words as listed
from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.blocks import MOST_ANSWERS
from tracerank.answers.scripts import (
    counted_words,
    has_unspaced,
    likely_words,
    parted,
    split_words,
    terms_held,
    terms_of,
)

LONGEST_TEXT = 40_000
"""Characters that are read of one text."""
SHORT_TEXT = 1_000
"""Characters of a text that is read in one go with others; a longer one gains nothing."""
_MARKS = re.compile("[\u0300-\u036f]")
_POSSESSIVE = re.compile(r"['’]s\b")
_OWN = re.compile(r"'[sS]\b")  # of ASCII: a sign alone is looked for quickly
_APOSTROPHES = str.maketrans("", "", "'’`´")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}\b)")  # the sign first: it is looked for quickly
_WORD = re.compile(r"[^\W_]+")
_PLAIN = bytes(code if code < 128 and chr(code).isalnum() else 32 for code in range(256)).lower()
"""Lower case, and blanks for all of ASCII that is no word: parts what ``_WORD`` does, in a quarter of the time."""
_MARK = "\x01"
_BETWEEN = f" {_MARK} "
"""What parts texts that are read in one go: a word of its own that no text should have."""
_PLAIN_BUT_MARK = bytes(code if chr(code) == _MARK else plain for code, plain in enumerate(_PLAIN))
_ASCII = bytes(range(128))
_FEW_SIGNS = 40
"""Distinct signs beyond ASCII that are replaced one by one."""
_ARTICLES = frozenset(("a", "an", "the"))

FUNCTION_WORDS = frozenset(
    listed(
        "of in on at to for from by with and or as is was were are be been being it its this that these those he she "
        "they his her their him them who whom whose which what when where why how do does did has have had will would "
        "can could may might not also but than then so such into about if there both between same name"
    )
)
"""Words that say nothing about the subject of a question."""


class Line:
    """A text as words."""

    __slots__ = ("_parts", "_words", "text")

    def __init__(self, parts: Sequence[str]) -> None:
        self.text = f" {' '.join(parts)} "
        """The words with single spaces between and around them, so that `` paris `` is found only as a word."""
        self._parts = parts
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """What it can be asked for: its words, and terms where characters are the words; many are never asked."""
        if self._words is None:
            self._words = frozenset(terms_held(self.text) if _has_unspaced(self.text) else self._parts)
        return self._words


def words_of(text: str) -> list[str]:
    """Lower case, without accents, punctuation, possessives and articles; 1,000 is 1000."""
    text = _plainer(text[:LONGEST_TEXT])
    if text.isascii():
        return _plain_words(text, _PLAIN)
    text = _MARKS.sub("", unicodedata.normalize("NFKD", text.lower()))
    find_words: Callable[[str], list[str]] = _WORD.findall
    if _has_unspaced(text):
        text, find_words = parted(text), split_words
    if "'" in text or "’" in text:
        text = _POSSESSIVE.sub("", text).translate(_APOSTROPHES)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return [word for word in find_words(text) if word not in _ARTICLES]


def _plain_words(text: str, table: bytes) -> list[str]:
    """The same of ASCII, with a table of what parts words."""
    if "'" in text:
        text = _OWN.sub("", text).replace("'", "").replace("`", "")
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return list(filterfalse(_ARTICLES.__contains__, text.encode().translate(table).decode().split()))


def _plainer(text: str) -> str:
    """The text in ASCII with the same words, where it has accents, dashes and the like; else as it is.

    A page of a thousand words is full of signs that only part them: without those it is read in a third of the time.
    """
    if text.isascii():
        return text
    try:
        signs = set(text.encode().translate(None, _ASCII).decode())
    except UnicodeEncodeError:
        return text
    plain = [(sign, _plain(sign)) for sign in signs] if len(signs) <= _FEW_SIGNS else [("", None)]
    if None in (stead for _, stead in plain):
        return text
    for sign, stead in plain:
        text = text.replace(sign, stead or "")
    return text


@lru_cache(4096)
def _plain(sign: str) -> str | None:
    """What has the same words as a sign beyond ASCII; None: it holds a letter of its own, or a capital (``TM``)."""
    if sign == "’":
        return "'"
    parts = _MARKS.sub("", unicodedata.normalize("NFKD", sign.lower()))
    if any(not part.isascii() and (part.isalnum() or part == "’") for part in parts) or _has_unspaced(parts):
        return None
    plain = "".join(part if part.isascii() else " " for part in parts)
    return plain if plain == plain.lower() else None


def _has_unspaced(text: str) -> bool:
    return not text.isascii() and has_unspaced(text)


def line_of(text: str) -> Line:
    """The text as a line."""
    return Line(words_of(text))


def lines_of(texts: Sequence[str]) -> list[Line]:
    """The lines of some short texts, all read in one go: each step has its price."""
    joined = _plainer(_BETWEEN.join(texts))
    # Whether a grave accent parts words hangs on other signs of its own text.
    if not joined.isascii() or "`" in joined or joined.count(_MARK) >= len(texts):
        return list(map(line_of, texts))
    words = _plain_words(joined, _PLAIN_BUT_MARK)
    found, start = [], 0
    for _ in texts[1:]:
        end = words.index(_MARK, start)
        found.append(Line(words[start:end]))
        start = end + 1
    return [*found, Line(words[start:])]


class TextLines:
    """Lines of texts, each made once; keep one for all subsets of a pool."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def of(self, text: str) -> Line:
        found = self._lines.get(text)
        if found is None:
            found = self._lines[text] = line_of(text)
        return found

    def read(self, texts: Iterable[str]) -> None:
        """Make the lines of those that are short now, which is quicker than one by one."""
        new = [text for text in texts if len(text) <= SHORT_TEXT and text not in self._lines]
        plain = [text for text in new if text.isascii()]
        for some in (plain, [text for text in new if not text.isascii()]):
            if some:
                self._lines.update(zip(some, lines_of(some), strict=True))


def words_held(line: str) -> set[str]:
    """What a line, or a piece of one, can be asked for."""
    return terms_held(line) if _has_unspaced(line) else set(line.split())


def terms(words: Sequence[str]) -> Sequence[str]:
    """What to ask a line for: the words, or terms where characters are the words."""
    return terms_of(words) if _has_unspaced("".join(words)) else words


def content_words(words: Sequence[str]) -> Sequence[str]:
    """Those that carry a subject; all of them when none does."""
    return contentful(terms(words))


def contentful(words: Sequence[str]) -> Sequence[str]:
    """The same of words that are terms where they should be."""
    return [word for word in words if word not in FUNCTION_WORDS] or words


HEAD = 80
"""Characters of a text where its title stands."""
_ENDS_PHRASE = AUXILIARIES | VERBS | PREPOSITIONS | BOUNDARIES | {"of", "for"}
_WINDOW = 160
"""Characters on either side of the answer, some 25 words; so in scripts whose characters stand apart, two for each."""
_CLOSE = 50
_MOST_OCCURRENCES = 3


class Form(NamedTuple):
    """One way in which an answer is written: the rollouts whose answers are equal under the paper's normalisation."""

    answer: str
    """As most of its rollouts wrote it."""
    line: str
    """Its words between blanks."""
    words: tuple[str, ...]
    size: int
    """Of words, as a reader would count them: characters are not."""
    content: frozenset[str]
    group: int
    rollouts: tuple[int, ...]
    """Places in the view's rollouts."""
    is_polar: bool = False
    """Yes or no, which no evidence can be searched for."""


def subject_of(question: str, texts: Sequence[Line]) -> Sequence[str]:
    """The content words of the question; where nothing parts words, the texts tell which runs are likely some."""
    words = words_of(question)
    if not question.isascii() and has_unspaced(question):
        words = likely_words(words, lambda term: sum(term in text.words for text in texts))
    return contentful(words)


def commonest(places: Mapping[str, Sequence[int]]) -> Sequence[str]:
    """The keys of the answers that are compared: all, or of very many the commonest, in their order."""
    if len(places) <= MOST_ANSWERS:
        return list(places)
    kept = set(sorted(places, key=lambda answer: (-len(places[answer]), answer))[:MOST_ANSWERS])
    return [answer for answer in places if answer in kept]


def form_key(answer: str) -> str:
    """Equal for answers that are one form."""
    return normalize_answer(answer) or answer.strip()


def spelling(answers: Mapping[str, int]) -> str:
    """The commonest spelling, whatever the order; of equals the one that begins with a capital."""
    return min(answers, key=lambda answer: (-answers[answer], answer))


def form_of(answer: str, group: int, rollouts: Sequence[int], asked: Asked) -> Form:
    """The form that some rollouts wrote, by what it is looked for by."""
    words = words_of(answer) or answer.lower().split()
    is_polar = words[0] in ("yes", "no") and (len(words) == 1 or asked.may_be_polar is not False)
    size = counted_words(words) if not answer.isascii() and has_unspaced(answer) else len(words)
    line, content = f" {' '.join(words)} ", frozenset(content_words(words))
    return Form(answer, line, tuple(words), size, content, group, tuple(rollouts), is_polar)


def asked_kind_of(words: Sequence[str]) -> str | None:
    """The noun after what or which: "city" of "Which large city is …"."""
    at = next((place for place, word in enumerate(words) if word in ("what", "which")), None)
    if at is None:
        return None
    phrase = list(takewhile(lambda word: word not in _ENDS_PHRASE, words[at + 1 : at + 5]))
    return phrase[-1] if phrase else None


class Place(NamedTuple):
    """How an answer stands in a text that holds it."""

    window: float
    """Share of the question's words, by rarity, within the window around it."""
    close: float
    """The same for a few words around it."""
    head: float
    """The same for the head of the text."""
    mentions: int
    is_kind: bool
    """The kind of thing that is asked for stands next to it."""


def place_of(text: str, head: str, needle: str, weights: Mapping[str, float], kind: str | None) -> Place:
    """How the needle, which stands in the text, stands there."""
    total = fsum(weights.values()) or 1.0
    window = close = 0.0
    start = mentions = 0
    is_kind = False
    while mentions < _MOST_OCCURRENCES and (at := text.find(needle, start)) >= 0:
        mentions += 1
        start = at + len(needle) - 1
        window = max(window, _asked_near(text, at, start, _WINDOW, weights))
        close = max(close, _asked_near(text, at, start, _CLOSE, weights))
        is_kind = is_kind or (kind is not None and f" {kind}" in text[max(0, at - _CLOSE) : start + _CLOSE])
    in_head = fsum(weights[word] for word in weights.keys() & words_held(head))
    return Place(window / total, close / total, in_head / total, mentions, is_kind)


def _asked_near(text: str, at: int, end: int, reach: int, weights: Mapping[str, float]) -> float:
    near = words_held(f"{text[max(0, at - reach) : at]} | {text[end : end + reach]}")  # no term across the answer
    return fsum(weights[word] for word in weights.keys() & near)


def plain_place(text: Line, head: str, needle: str, wanted: frozenset[str], kind: str | None) -> Place:
    """The same as ``place_of`` where all of the question's words weigh the same, and none is in the needle."""
    line = text.text
    if not line.isascii():
        return place_of(line, head, needle, dict.fromkeys(wanted, 1.0), kind)
    total = len(wanted) or 1
    window = close = start = mentions = 0
    is_kind = False
    while mentions < _MOST_OCCURRENCES and (at := line.find(needle, start)) >= 0:
        mentions += 1
        start = at + len(needle) - 1
        if at <= _WINDOW and len(line) <= start + _WINDOW:  # all of a short text is around
            window = len(wanted & text.words)
        else:
            window = max(window, _counted_near(line, at, start, _WINDOW, wanted))
        close = max(close, _counted_near(line, at, start, _CLOSE, wanted))
        is_kind = is_kind or (kind is not None and f" {kind}" in line[max(0, at - _CLOSE) : start + _CLOSE])
    return Place(window / total, close / total, len(wanted.intersection(head.split())) / total, mentions, is_kind)


def _counted_near(text: str, at: int, end: int, reach: int, wanted: frozenset[str]) -> int:
    return len(wanted.intersection(f"{text[max(0, at - reach) : at]} | {text[end : end + reach]}".split()))


def near(text: Line, needle: str) -> frozenset[str]:
    """Words around the first place where the needle stands in the text; none: it does not."""
    at = text.text.find(needle)
    if at < 0:
        return frozenset()
    end = at + len(needle) + _WINDOW
    if at <= _WINDOW and len(text.text) <= end:
        return text.words
    return frozenset(words_held(text.text[max(0, at - _WINDOW) : end]))


def part_of(part: frozenset[str], whole: frozenset[str]) -> float:
    """How much of the whole the part is; nothing of nothing."""
    return len(part) / len(whole) if whole else 0.0


class Queries:
    """The distinct queries of a pool, and who asked each."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._asking: dict[str, set[int]] = {}
        self._all = ""

    @classmethod
    def of(cls, question: str, asked: Iterable[Iterable[str]]) -> "Queries":
        """Those that each of some rollouts asked."""
        queries = cls(question)
        for place, own in enumerate(asked):
            queries.add(place, own)
        return queries

    def add(self, place: int, queries: Iterable[str]) -> None:
        """What the rollout at this place searched for."""
        for query in queries:
            asking = self._asking.get(query)
            if asking is None:
                self._asking[query] = {place}
                self._all = ""
            else:
                asking.add(place)

    def asking(self, form: Form) -> set[int]:
        """Places of the rollouts that searched for the answer itself."""
        # One look at all of them: most answers are not searched for. A line break is in no line.
        self._all = self._all or "\n".join(self._asking)
        line = form.line
        # A query that repeats the question contains what the question names: that is no sign of anything.
        if line not in self._all or line in self._question:
            return set()
        return set().union(*(asking for query, asking in self._asking.items() if line in query))
