"""A report as sentences and clauses, each a span of the text as it was written.

Markdown marks, citation marks and addresses are replaced by as many spaces, so that offsets stay those of the report.
Code, headings and lists of sources are no sentences.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracerank.answers.english import words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.scripts import UNSPACED


class Span(NamedTuple):
    """Offsets into a report."""

    start: int
    end: int


MAX_CHARACTERS = 400_000
"""Of one report; what stands behind them is not compared."""
MAX_SENTENCE = 600
"""Characters; a longer sentence is cut between two words."""
MIN_WORDS, MIN_UNSPACED = 3, 6
"""A sentence has so many words, or characters of a script without spaces."""

_FENCE = lazy_pattern(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_CITATIONS = lazy_pattern(
    r"\[\s*(?:citation:|source:?\s?)?\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*\s*\](?!\()(?::(?=\s))?|【[^】\n]{0,80}】"
    r"|\(https?://[^)\s]*\)|<?https?://[^\s)\]>]+>?|</?[a-z][a-z0-9]{0,10}/?>|\[\^\w{1,20}\]"
)
_LINKS = lazy_pattern(r"!?\[([^\[\]\n]{1,300})\](\([^()\s]*\))?")
_MARKS = lazy_pattern(
    r"^[ \t]*(?:>[ \t]*)*(?:[-*•+–][ \t]+|\d{1,2}[.)][ \t]+)?|[*`|]+|(?<!\w)_+|_+(?!\w)|^[ \t]*+[-=:| ]{3,}$", re.M
)
_HEADING = lazy_pattern(r"[ \t]*(?:#{1,6}[ \t]+(.+)|(?:\*\*|__)([^*\n]{1,100}?):?(?:\*\*|__):?[ \t]*$)")
_SOURCES = lazy_pattern(
    r"(?i)(?:\d+[.)] )?(?:references|sources|bibliography|works cited|citations|further reading)\W*"
)
_END = lazy_pattern(r"[.!?][\"'”’)\]]*(?=\s)|[。！？][\"'”’」』）)\]]*")
_LAST_WORD = lazy_pattern(r"(?<![\"'“(\[])[\"'“(\[]*+([^\s\"'“(\[]*)$")
_INITIALS = lazy_pattern(r"[a-z]|(?:[a-z]\.)+[a-z]")
_ABBREVIATIONS = frozenset(
    words(
        "mr mrs ms dr prof st mt jr sr vs etc e.g i.e cf no nos vol vols fig pp al inc ltd co corp dept est approx ca "
        "u.s u.k d.c ph.d b.a m.a b.c a.d jan feb mar apr jun jul aug sep sept oct nov dec gen col lt capt sgt rev hon"
    )
)
_JOINTS = r"(?:and|but|which|who|where|while|whereas)\s+"
_BREAK = lazy_pattern(
    r"\s*[;；]\s*|:\s+|\s+[–—]\s+|[，、]"
    rf"|,\s+(?:(?:including|as well as)\s+|{_JOINTS})?(?!\d{{4}}\b)|\s+{_JOINTS}"
)
_WORD = lazy_pattern(r"\w+")
_LOOSE = lazy_pattern(r" ([.,;:!?)])(?!\w)")
_UNSPACED = lazy_pattern(rf"[{UNSPACED}]")


def masked(report: str) -> str:
    """The report with marks, citations, addresses and code as spaces; offsets and line breaks stay."""
    text = report[:MAX_CHARACTERS]
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(_blank, text)
    if "[" in text or "//" in text or "【" in text or "<" in text:
        text = _LINKS.sub(_linked, _CITATIONS.sub(_blank, text))
    return _MARKS.sub(_blank, text)


def sentences(report: str, plain: str) -> Iterator[Span]:
    """The sentences of a report; ``plain`` is the same one ``masked``."""
    is_listing_sources = False
    start = 0
    for line in plain.split("\n"):
        end = start + len(line)
        if (heading := _HEADING.match(report, start, end)) is not None:
            is_listing_sources = _SOURCES.fullmatch((heading[1] or heading[2]).strip(" *_:#")) is not None
        elif _SOURCES.fullmatch(line.strip()):
            is_listing_sources = True
        elif not is_listing_sources:
            yield from _in_line(plain, start, end)
        start = end + 1


def clauses(plain: str, sentence: Span) -> Iterator[Span]:
    """Where a sentence may be cut: before conjunctions and at commas, semicolons and colons."""
    start = sentence.start
    for found in _BREAK.finditer(plain, sentence.start, sentence.end):
        if found.start() > start:
            yield Span(start, found.start())
            start = found.end()
    if start < sentence.end:
        yield Span(start, sentence.end)


def shown(plain: str, span: Span) -> str:
    """What stands in a span, on one line, without marks."""
    return _LOOSE.sub(r"\1", " ".join(plain[span.start : span.end].split()))


def _in_line(plain: str, start: int, end: int) -> Iterator[Span]:
    begin = start
    for found in _END.finditer(plain, start, end):
        if found[0][0] == "." and _continues(plain, begin, found.start(), found.end(), end):
            continue
        yield from _of_bearable_length(plain, begin, found.end())
        begin = found.end()
    yield from _of_bearable_length(plain, begin, end)


def _continues(plain: str, begin: int, dot: int, after: int, end: int) -> bool:
    """Whether a full stop belongs to an abbreviation or an initial, or a small letter follows."""
    word = _LAST_WORD.search(plain, max(begin, dot - 20), dot)
    last = word[1].lower() if word else ""
    following = plain[after : min(end, after + 40)].lstrip()[:1]
    return last in _ABBREVIATIONS or _INITIALS.fullmatch(last) is not None or following.islower()


def _of_bearable_length(plain: str, start: int, end: int) -> Iterator[Span]:
    while end - start > MAX_SENTENCE:
        cut = plain.rfind(" ", start + MAX_SENTENCE // 2, start + MAX_SENTENCE)
        cut = start + MAX_SENTENCE if cut < 0 else cut
        yield from _trimmed(plain, start, cut)
        start = cut
    yield from _trimmed(plain, start, end)


def _trimmed(plain: str, start: int, end: int) -> Iterator[Span]:
    part = plain[start:end]
    bare = part.strip()
    if not bare:
        return
    if len(_WORD.findall(bare)) >= MIN_WORDS or len(_UNSPACED.findall(bare)) >= MIN_UNSPACED:
        begin = start + len(part) - len(part.lstrip())
        yield Span(begin, begin + len(bare))


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0].isspace() else re.sub(r"[^\n]", " ", found[0])


def _linked(found: re.Match[str]) -> str:
    """The text of a link without its brackets and address."""
    lead = found.start(1) - found.start()
    return " " * lead + found[1] + " " * (len(found[0]) - lead - len(found[1]))
