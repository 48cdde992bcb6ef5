"""What the header of a returned browser page says about its source.

Reads one text and judges nothing else: whether the view may be trusted is a matter of navigation, and the same-page
rules live in ``pools/documents.py``. Every step is linear in the length of the text.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote, unquote_to_bytes

from tracerank.answers.exact import normalize_text
from tracerank.pools.urls import MAX_URL, OFFICIAL, canonical_url
from tracerank.readers.values import encodable

# The browser prints title and address first; what looks like an address further on belongs to the page.
_HEADER_SPAN = 2_000
_ADDRESS_SPAN = 12_000

_CURSOR = re.compile(r"\s*\[\d+\]\s*")
_NUMBERED_LINE = re.compile(r"\nL\d+:")
_DOC_NUMBER = re.compile(r"Doc\s+(\d+)\b")
_LISTING = re.compile(r"\(web-search://[^)]*\)")
_ADDRESS = re.compile(r"\(https?://")
_PARENTHESIS = re.compile(r"[()]")
_ADDRESS_BEFORE_FIELD = re.compile(r"\)\s++URL:")
_VIEWPORT = re.compile(r"\s*\*\*viewing lines[^\n]*\*\*\s*")
_FIELD = re.compile(r"\s*+(?:L\d++:[^\S\n]*+\n\s*+)*+(?:L\d++:)?\s*+URL:[^\S\n]*+(\S*+)")
_LINE_NUMBER = re.compile(r"[^\S\n]*L\d+:")
_UNFINISHED_ESCAPE = re.compile(r"%[0-9a-fA-F]?\Z")


@dataclass(frozen=True, slots=True)
class PageHeader:
    """The source that a returned page claims for itself."""

    kind: str = "unknown"
    """``document``, ``search``, ``find`` or ``unknown``."""
    url: str | None = None
    """Canonical under ``urls.OFFICIAL``; None: the header does not establish one."""
    displayed: str | None = None
    """Address as displayed, decoded by the browser and perhaps cut."""
    url_field_agrees: bool = False
    """A ``URL:`` line below the header is an encoded spelling of the displayed address."""
    status: str = "missing_returned_header"
    number: str | None = None
    """The N of ``Doc N``."""
    title: str | None = None


def after_cursor(text: str) -> int:
    """Where a returned page begins, behind the number of its view."""
    cursor = _CURSOR.match(text)
    return cursor.end() if cursor else 0


def page_header(content: str) -> PageHeader:
    """The header of a page whose cursor is gone."""
    has_lines = "\n**viewing lines " in content or _NUMBERED_LINE.search(content) is not None
    end_of_line = content.find("\n") if has_lines else -1
    header = content if end_of_line < 0 else content[:end_of_line]
    top = header[:_HEADER_SPAN]
    doc = _DOC_NUMBER.match(header)
    number = doc[1] if doc else None
    is_find = header.startswith("Find results for text:")
    if _LISTING.search(top):
        return PageHeader("search", status="returned_search_view", number=number)
    opening = _ADDRESS.search(top)
    if opening is None:
        if is_find:
            return PageHeader("find", number=number)
        if number is not None:
            return PageHeader("document", status="doc_id_without_url_header", number=number)
        return PageHeader()
    kind = "find" if is_find else "document"
    title = encodable(normalize_text(header[: opening.start()])) or None
    end = _address_end(content, header, opening.start(), has_lines)
    if end is None:
        return PageHeader(kind, status="ambiguous_header_boundary", number=number, title=title)
    displayed = content[opening.start() + 1 : end]
    encoded = _url_field(content, end + 1, displayed)
    agrees = encoded is not None
    if encoded is None and displayed.rstrip().endswith(("...", "…")):
        url, status = None, "truncated_returned_url"
    elif is_find:
        page, marker, _ = displayed.rpartition("/find?pattern=")
        url, status = canonical_url(page, OFFICIAL) if marker else None, "find_view_requires_parent"
    else:
        url = canonical_url(encoded or displayed, OFFICIAL)
        status = "returned_URL_field_matches_display" if agrees else "returned_document_header"
    return PageHeader(kind, url, encodable(displayed), agrees, status, number, title)


def _address_end(content: str, header: str, start: int, has_lines: bool) -> int | None:
    """Index of the parenthesis that closes the address opened at ``start``; addresses may hold parentheses."""
    if has_lines and (trimmed := header.rstrip()).endswith(")"):
        return len(trimmed) - 1
    before_field = _ADDRESS_BEFORE_FIELD.search(content, start)
    if before_field:
        return before_field.start()
    depth = 0
    for parenthesis in _PARENTHESIS.finditer(header, start, start + _ADDRESS_SPAN):
        depth += 1 if parenthesis[0] == "(" else -1
        if depth == 0:
            return parenthesis.start()
    return None


def _url_field(content: str, start: int, displayed: str) -> str | None:
    """The ``URL:`` field right below the header, put together from its lines, when it spells the displayed address."""
    if len(displayed) > MAX_URL:
        return None
    viewport = _VIEWPORT.match(content, start)
    field = _FIELD.match(content, viewport.end() if viewport else start)
    if field is None:
        return None
    if field[1] == displayed and "%" not in displayed:
        return displayed if canonical_url(displayed, OFFICIAL) else None
    words = _field_words(content, field.start(1), max(2_048, 5 * len(displayed) + 64))
    candidate = _first_words_as_long(words, displayed)
    if candidate is None or normalize_text(unquote(candidate)) != normalize_text(displayed):
        return None
    return candidate if canonical_url(candidate, OFFICIAL) else None


def _field_words(content: str, start: int, limit: int) -> Iterator[str]:
    """The words from ``start`` on within the limit, without the line numbers; long addresses are wrapped."""
    while limit > 0 and start < len(content):
        end = content.find("\n", start, start + limit + 1)
        words = content[start : start + limit + 1 if end < 0 else end].split()
        if end < 0 and start + limit + 1 < len(content) and not content[start + limit].isspace():
            words.pop()
        yield from words
        if end < 0:
            return
        limit -= end + 1 - start
        number = _LINE_NUMBER.match(content, end + 1)
        start = number.end() if number else end + 1


def _first_words_as_long(words: Iterable[str], displayed: str) -> str | None:
    """The first words, joined, that decode to as many visible characters as are displayed.

    Lengths are counted decomposed: unlike composed ones they add up, so each word is decoded only once.
    """
    wanted = _visible_length(displayed)
    decoder = codecs.getincrementaldecoder("utf-8")()
    taken: list[str] = []
    length, rest = 0, ""
    for word in words:
        taken.append(word)
        piece = rest + word
        unfinished = _UNFINISHED_ESCAPE.search(piece)
        rest = unfinished[0] if unfinished else ""
        try:
            length += _visible_length(decoder.decode(unquote_to_bytes(piece[: len(piece) - len(rest)])))
        except ValueError:
            return None
        if length > wanted:
            return None
        # A line may end inside an escape or inside a character.
        if length == wanted and not rest and not decoder.getstate()[0]:
            return "".join(taken)
    return None


def _visible_length(text: str) -> int:
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    return len("".join(text.split()))
