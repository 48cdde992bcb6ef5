"""Evidence cut out of returned pages, as the paper's graphs hold it (App. A.1), with the header of each page.

Cursor, viewport marker and line numbers go, Find keeps its matches only. A page is worked out once for all rollouts
that saw it.
"""

import re
import unicodedata
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tracerank.readers.browser.headers import PageHeader, after_cursor, page_header
from tracerank.readers.repeats import Repeats
from tracerank.readers.values import encodable

_CURSOR = re.compile(r"\s*\[\d+\]")
_VIEWPORT = re.compile(r"\*\*viewing lines \[\d+ - \d+\] of \d+\*\*")
# A line break with the margin of the next line, and the lines in between that hold nothing else. Starts with the break
# instead of ^: a literal is searched far faster than an anchor.
_MARGIN = re.compile(r"\n(?:(?:L\d++:)?\s*\n)*+(?:L\d++:)?[^\S\n]*+")
_PAGE_MARGIN = re.compile(
    r"\n(?:(?:L\d++:|\*\*viewing lines.*?\*\*)?\s*\n)*+(?:L\d++:|\*\*viewing lines.*?\*\*\s*\Z)?[^\S\n]*+"
)
_MATCH = re.compile(r"\nL\d+: # 【\d+†match at L\d+】[^\n]*")
_FIRST_LINE = re.compile(r"\nL(\d{1,9}):")
_NUMBERED_LINES = 4096
"""Pages with more lines than this are read line by line."""
_PLAIN = (
    (0x21, 0x7E),  # ASCII
    (0xA1, 0xAC),
    (0xAE, 0x17F),  # Latin-1 without the soft hyphen, Latin Extended-A
    (0x391, 0x3A1),
    (0x3A3, 0x3CE),  # Greek without its own punctuation, some of which has another spelling
    (0x400, 0x45F),  # Cyrillic
    (0x2010, 0x2027),
    (0x2030, 0x205E),  # dashes, quotes, bullets; the rest of the block is white space and invisible
    (0x3001, 0x3029),
    (0x3041, 0x3096),
    (0x30A1, 0x30FE),  # Japanese syllables without combining marks
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul syllables
    (0xFF01, 0xFF5E),  # ASCII in full width
)
"""First and last character of ranges that are printable, no white space, not combining, and equal to their NFC."""
_VISIBLE, _BLANK, _OTHER = 0, 1, 2


def opened_page(returned: str) -> tuple[PageHeader, str]:
    """Header and evidence of what an Open returned."""
    return _opened(returned, after_cursor(returned))


def found_excerpts(returned: str) -> str:
    """The excerpts of what a Find returned."""
    cursor = _CURSOR.match(returned)
    return _excerpts(returned, cursor.end()) if cursor else _excerpts("\n" + returned)


def _page(page: str) -> tuple[PageHeader, str]:
    """Header and evidence of an opened page whose cursor is gone."""
    header = page_header(page)
    return header, _page_text(page) if _VIEWPORT.search(page) else ""


def _page_text(page: str) -> str:
    return _numbered_text(page) or _normalised(_PAGE_MARGIN.sub(" ", "\n" + page))


def _numbered_text(page: str) -> str | None:
    """The text of a page whose lines are numbered one by one from some line on; None: it needs a closer look."""
    first = _FIRST_LINE.search(page)
    if first is None:
        return None
    lines = page[first.start() + 1 :].split("\n")
    begin = int(first[1])
    end = begin + len(lines)
    margins, widths = _margins()
    if end >= len(widths):
        return None
    bare = list(map(str.removeprefix, lines, margins[begin:end]))
    if sum(map(len, bare)) != len(page) - first.start() - len(lines) - widths[end] + widths[begin]:
        return None
    head = _PAGE_MARGIN.sub(" ", f"\n{page[: first.start() + 1]}")
    return _settled(" ".join(filter(None, [*head.split(), *map(str.strip, bare)])))


@cache
def _margins() -> tuple[tuple[str, ...], tuple[int, ...]]:
    """What stands in front of numbered lines, and how much of it there is before each of them."""
    margins = tuple(f"L{number}:" for number in range(_NUMBERED_LINES))
    return margins, tuple(accumulate(map(len, margins), initial=0))


def _matches(text: str) -> str:
    """The excerpts of a Find view."""
    matches = _MATCH.split(text)[1:]
    return "\n\n".join(filter(None, (_normalised(_MARGIN.sub(" ", match)) for match in matches)))


_opened = Repeats(_page)
_excerpts = Repeats(_matches)


def _settled(text: str) -> str | None:
    """The text in NFC; None: it has white space that is more than single blanks, or what cannot be printed."""
    if needs_no_cleaning(text):
        return text
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text if text.isprintable() and "  " not in text else None


def _normalised(text: str) -> str:
    """``normalize_text``, encodable, and quick for the common case: no white space but one or two blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if text.isprintable():
        # Wrapped lines end in a blank.
        text = text.replace("  ", " ")
        if "  " not in text:
            return text.strip()
    return encodable(" ".join(text.split()))


def needs_no_cleaning(text: str) -> bool:
    """Whether a text is certainly printable, NFC, and has no two blanks in a row; False: it may be all that."""
    if len(text) < 2:
        return False
    codes = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)
    kinds = _kinds().take(codes, mode="wrap")  # without a check of bounds: every code has a place
    return bool((kinds[1:] + kinds[:-1]).max() < _OTHER)


@cache
def _kinds() -> NDArray[np.uint8]:
    """What each code of UTF-16 is; two neighbours add up to less than ``_OTHER`` unless something is amiss."""
    kinds = np.full(1 << 16, _OTHER, np.uint8)
    for first, last in _PLAIN:
        kinds[first : last + 1] = _VISIBLE
    kinds[ord(" ")] = _BLANK
    return kinds
