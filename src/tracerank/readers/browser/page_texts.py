"""Evidence cut out of returned pages, as the paper's graphs hold it (App. A.1), with the header of each page.

Cursor, viewport marker and line numbers go, Find keeps its matches only. A page is worked out once for all rollouts
that saw it.
"""

import re
import unicodedata
from collections.abc import Sequence

from tracerank.answers.text_keys import bounded_cache
from tracerank.readers.browser.headers import PageHeader, after_cursor, page_header
from tracerank.readers.values import encodable

_CURSOR = re.compile(r"\s*\[\d+\]")
_VIEWPORT = re.compile(r"\*\*viewing lines \[\d+ - \d+\] of \d+\*\*")
# A line break with the margin of the next line, and the lines in between that hold nothing else. Starts with the break
# instead of ^: a literal is searched far faster than an anchor. What most lines begin with is tried first.
_USUAL = r"\n(?:L\d++:[^\S\n]*+(?=\S)|(?=[^\sL*])|"
_MARGIN = re.compile(_USUAL + r"(?:(?:L\d++:)?\s*\n)*+(?:L\d++:)?[^\S\n]*+)")
_PAGE_MARGIN = re.compile(
    _USUAL + r"(?:(?:L\d++:|\*\*viewing lines.*?\*\*)?\s*\n)*+(?:L\d++:|\*\*viewing lines.*?\*\*\s*\Z)?[^\S\n]*+)"
)
_MATCH = re.compile(r"\nL\d+: # 【\d+†match at L\d+】[^\n]*")
_PAGES, _MAX_PAGE = 512, 1 << 16
"""Pages that are remembered, and characters of one: rollouts of a question see the same pages."""


def opened_page(returned: str) -> tuple[PageHeader, str]:
    """Header and evidence of what an Open returned."""
    return _page(returned[after_cursor(returned) :])


def found_excerpts(returned: str) -> str:
    """The excerpts of what a Find returned."""
    cursor = _CURSOR.match(returned)
    return _excerpts(returned[cursor.end() :] if cursor else "\n" + returned)


@bounded_cache(_PAGES, _MAX_PAGE)
def _page(page: str) -> tuple[PageHeader, str]:
    """Header and evidence of an opened page whose cursor is gone."""
    return page_header(page), _joined(_PAGE_MARGIN.split("\n" + page)) if _VIEWPORT.search(page) else ""


@bounded_cache(_PAGES, _MAX_PAGE)
def _excerpts(text: str) -> str:
    """The excerpts of a Find view whose cursor is gone."""
    matches = _MATCH.split(text)[1:]
    return "\n\n".join(filter(None, (_joined(_MARGIN.split(match)) for match in matches)))


def _joined(lines: Sequence[str]) -> str:
    """``normalize_text`` of the lines, encodable, and quick for the common case: no white space but single blanks."""
    text = " ".join(filter(None, map(str.strip, lines)))  # wrapped lines end in a blank
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text if text.isprintable() and "  " not in text else encodable(" ".join(text.split()))
