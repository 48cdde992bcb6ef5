"""Search returns that are plain text: several results under marks that the tool wrote, one after the other.

``Doc 1 (Title: …) …`` (App. A.1), ``[1] …``, ``1. …``, ``Result 1: …``, ``Title: …`` blocks, ``<document>…</document>``
elements and parts between rules. A text is split only when its very beginning is such a mark, and numbers must count on
from one: a page that holds a list of its own stays whole. Every step is linear in the length of the text.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from tracerank.answers.exact import normalize_text
from tracerank.errors import MalformedRollout
from tracerank.pools.types import Evidence
from tracerank.pools.urls import canonical_url
from tracerank.readers.calls.results import Result

STRICT_RANKS = (1, 2, 3)
"""The paper's searches return exactly three chunks (section 3.2)."""

# Possessive, so that long runs of white space cost linear time.
_MARKER = re.compile(r"Doc\s*+([0-9]{1,9})\s*+(?=\(Title:)")
_LENIENT_MARKER = re.compile(r"Doc\s*+([0-9]{1,9})\s*+[:.]?\s*+(?=\(?\s*+Title\s*+:)")
_CUT_MARKER = re.compile(r"[\r\n]\s*Doc\s*[0-9]{1,9}\s*(?:\(\s*(?:T(?:i(?:t(?:le?)?)?)?)?)?\s*\Z")
_CUT_MARKER_REACH = 40
_EMPTY_CHUNKS = ("", "(", "(Title:", "Title:")
_QUOTED_TITLE = re.compile(r'\(Title: ?"([^"]*(?:""[^"]*)*)"\)')
_OPEN_TITLE = re.compile(r"Title\s*+:[ \t]*+([^\r\n]++)[\r\n]")
_NOT_A_RESULT = re.compile(
    r"\W*(?:no\b.{0,40}\b(?:results?|documents?|passages?|information|matches)\b|nothing (?:was )?found"
    r"|(?:search |retrieval |request |http |connection )*(?:error|failed|failure|timed? ?out)\b"
    r"|(?:none|null|n/?a)\W*$)",
    re.IGNORECASE,
)
_TITLE_REACH = 512
_MESSAGE_LENGTH = 300
"""Longer texts are taken for content even when they begin like an error message."""


def split_ranked(text: str, strict: bool = False) -> tuple[Evidence, ...]:
    """The chunks of one search return; strict accepts exactly ranks 1, 2, 3 and raises MalformedRollout otherwise."""
    match_marker = (_MARKER if strict else _LENIENT_MARKER).match
    ranks: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    at = text.find("Doc")
    while at >= 0:
        match = match_marker(text, at)
        if match is not None and _begins_line(text, at):
            ranks.append(int(match[1]))
            ends.append(at)
            at = match.end()
            starts.append(at)
        at = text.find("Doc", at + 1)
    if strict:
        _check_strict(text, ranks, ends)
    elif not ranks:
        return _unmarked(text)
    places = range(1, len(ranks) + 1)
    if not _are_increasing(ranks):
        ranks = list(places)
    ends.append(len(text))
    chunks: list[Evidence] = []
    for place in places:
        raw = text[starts[place - 1] : ends[place]]
        if place == len(ranks) and not strict and "Doc" in raw[-_CUT_MARKER_REACH:]:
            raw = _without_cut_marker(raw)
        chunk = _evidence(raw.strip(), ranks[place - 1])
        if strict or chunk.text not in _EMPTY_CHUNKS:
            chunks.append(chunk)
    return tuple(chunks)


# The rollouts of a pool see the same chunks again and again: sharing them saves time and memory.
@lru_cache(maxsize=4096)
def _evidence(raw: str, rank: int) -> Evidence:
    text, title = _chunk(raw)
    return Evidence(text, title, None, rank)


@lru_cache(maxsize=2048)
def _chunk(raw: str) -> tuple[str, str | None]:
    text = _normalized(raw)
    return text, _title(text, raw)


def _check_strict(text: str, ranks: list[int], markers: list[int]) -> None:
    if not text or text.isspace():
        return
    if not markers or text[: markers[0]].strip():
        raise MalformedRollout("a search return must begin with 'Doc 1 (Title: …)'")
    if tuple(ranks) != STRICT_RANKS:
        raise MalformedRollout(f"a search return must hold the ranks 1, 2, 3 in order, got {ranks}")


def _begins_line(text: str, at: int) -> bool:
    while at and text[at - 1] not in "\r\n":
        at -= 1
        if not text[at].isspace():
            return False
    return True


def _are_increasing(ranks: list[int]) -> bool:
    last = 0
    for rank in ranks:
        if rank <= last:
            return False
        last = rank
    return True


def _unmarked(text: str) -> tuple[Evidence, ...]:
    chunk = _normalized(text)
    if not chunk or (len(chunk) <= _MESSAGE_LENGTH and _NOT_A_RESULT.match(chunk)):
        return ()
    return (Evidence(chunk, None, None, 1),)


def _without_cut_marker(chunk: str) -> str:
    """The last chunk without the first letters of a further document that the log cut off."""
    cut = _CUT_MARKER.search(chunk, max(0, len(chunk) - _CUT_MARKER_REACH))
    return chunk if cut is None else chunk[: cut.start()]


def _normalized(text: str) -> str:
    """Same as normalize_text; quick for the usual text, whose only white space is single spaces."""
    text = text.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    # A printable string holds no white space but U+0020.
    return text if text.isprintable() and "  " not in text else normalize_text(text)


def _title(chunk: str, raw: str) -> str | None:
    if not chunk.startswith("(Title:"):
        named = _OPEN_TITLE.match(raw.lstrip("( \t"))
        return None if named is None else _unquoted(normalize_text(named[1]))
    quoted = _QUOTED_TITLE.match(chunk)
    if quoted is not None:
        return _unquoted(quoted[1])
    head = chunk[:_TITLE_REACH]
    end = head.find(")")
    while end >= 0 and head.count("(", 0, end) > head.count(")", 0, end) + 1:
        end = head.find(")", end + 1)
    return None if end < 0 else _unquoted(head[len("(Title:") : end])


def _unquoted(title: str) -> str | None:
    bare = title.strip().replace('""', '"')
    if bare.count('"') == 2 and bare[0] == bare[-1] == '"':
        bare = bare[1:-1].strip()
    return bare or None


_MOST_RESULTS = 200
_LONGEST_TITLE = 150
_HEADING = re.compile(r"[^\n]{0,200}\b(?:results?|documents?|passages?|sources?|found)\b[^\n]{0,200}:[ *_]*\n\s*", re.I)
_NUMBER = re.compile(
    r"[ \t#>*_-]{0,8}(?:\[(?P<bracket>\d{1,3})\]|(?P<plain>\d{1,3})[.)](?=[ \t*])"
    r"|[\[(<]?(?:search )?(?:document|doc|result|passage|source|snippet|chunk|page|article|web ?page|item)"
    r"[ \t]*#?[ \t]*(?P<named>\d{1,3})\b[\])>]?:?(?:\*\*|__)?)[:.) \t-]{0,8}",
    re.I,
)
_TITLE_LINE = re.compile(r"[ \t*_#-]{0,8}title[*_ \t]{0,4}:", re.I)
_ELEMENT = re.compile(
    r"<(document|doc|result|passage|source|item|snippet|page|article|chunk|context)\b[^<>]{0,300}>", re.I
)
_RULE = re.compile(r"\n[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})[ \t]*\n")
_OPENS_PART = re.compile(r"\s*(?:[ \t*_#-]{0,8}(?:title|url|link|source)[*_ \t]{0,4}:|#{1,6} |\*\*|\[)", re.I)
_LABEL = re.compile(
    r"[ \t*_#-]{0,8}(title|name|url|link|href|source|contents?|text|snippet|summary|abstract|passage|description|body"
    r"|date|published|score|relevance|rank|id|doc ?id)[*_ \t]{0,4}:[*_]{0,2}[ \t]*",
    re.I,
)
_SMALL_ELEMENT = re.compile(r"<(title|url|link|source)>([^<>\n]{1,2000})</\1>", re.I)
_BODY_ELEMENT = re.compile(r"</?(?:content|contents|text|snippet|body|passage|summary|document_content)>", re.I)
_ABOUT = frozenset(("date", "published", "score", "relevance", "rank", "id", "docid", "doc id"))
_TITLES, _ADDRESSES = frozenset(("title", "name")), frozenset(("url", "link", "href", "source"))
_TITLE_ADDRESS = re.compile(r"[ \t]*(?:[-|–][ \t]*)?[(<]?(https?://[^\s()<>]{1,2000})[)>]?\Z")
_BOLD = re.compile(r"\*\*([^*\n]{1,150})\*\*:?[ \t]*")


def laid_out(text: str) -> tuple[Result, ...]:
    """The results under the marks of a text; empty: it has none, and is one result or a page."""
    body = text.strip()
    heading = _HEADING.match(body)
    candidates = [body] if heading is None else [body, body[heading.end() :]]
    for candidate in candidates:
        for layout in _LAYOUTS:
            parts = layout.split(candidate)
            if layout.least <= len(parts) <= _MOST_RESULTS:
                results = (_result(part) for part in parts)
                ranked = (each for each in results if each is not None)
                return tuple(replace(each, rank=rank) for rank, each in enumerate(ranked, start=1))
    return ()


def _elements(text: str) -> list[str]:
    """``<document …> … </document>`` after each other, nothing between."""
    parts: list[str] = []
    at = 0
    while (found := _ELEMENT.match(text, at)) is not None:
        close = text.find(f"</{found[1]}>", found.end())
        if close < 0:
            return []
        parts.append(text[found.end() : close])
        at = close + len(found[1]) + 3
        while at < len(text) and text[at].isspace():
            at += 1
    return parts if at == len(text) else []


def _numbered(text: str) -> list[str]:
    """What stands behind 1, 2, 3 … at beginnings of lines, all written alike."""
    starts: list[tuple[int, int]] = []
    kind: str | None = None
    at = first = 0
    while at <= len(text):
        found = _NUMBER.match(text, at)
        if found is not None and found.lastgroup is not None and (kind is None or found.lastgroup == kind):
            number = int(found[found.lastgroup])
            if number in (0, 1) if not starts else number == first + len(starts):
                first = number if not starts else first
                kind = found.lastgroup
                starts.append((at, found.end()))
        if not starts:
            return []  # the first line is no mark
        end = text.find("\n", at)
        if end < 0:
            break
        at = end + 1
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [text[begin:end] for (_, begin), end in zip(starts, ends, strict=True)]


def _titled(text: str) -> list[str]:
    """Blocks that begin with ``Title:``."""
    if not _TITLE_LINE.match(text):
        return []
    lines = text.split("\n")
    starts = [place for place, line in enumerate(lines) if _TITLE_LINE.match(line)]
    return ["\n".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _ruled(text: str) -> list[str]:
    """Parts between rules, each of which names its source first."""
    parts = _RULE.split(text)
    return parts if all(map(_OPENS_PART.match, parts)) else []


class _Layout(NamedTuple):
    """One way in which tools lay out several results in a text."""

    split: Callable[[str], list[str]]
    """The parts of a text that is laid out so; empty: it is not."""
    least: int = 2
    """Parts from which on it is believed."""


_LAYOUTS = (
    _Layout(_elements, least=1),
    _Layout(_numbered),
    _Layout(_titled),
    _Layout(_ruled),
)
"""The first that fits is taken."""


def _result(part: str) -> Result | None:
    title, url = None, None
    for name, value in _SMALL_ELEMENT.findall(part):
        if name.lower() == "title":
            title = title or value.strip()
        elif canonical_url(value.strip()) is not None:
            url = url or value.strip()
    lines = _BODY_ELEMENT.sub("\n", _SMALL_ELEMENT.sub("", part)).strip().split("\n")
    bold = None if title or _LABEL.match(lines[0]) else _BOLD.match(lines[0])
    if bold is not None:
        title, lines[0] = bold[1].strip(" :") or None, lines[0][bold.end() :]
    kept: list[str] = []
    for line in lines:
        label = None if kept else _LABEL.match(line)
        if label is None:
            if kept or line.strip():
                kept.append(line)
            continue
        name, value = label[1].lower(), line[label.end() :].strip(" *_")
        if name in _TITLES and title is None:
            title = value or None
        elif name in _ADDRESSES and canonical_url(value) is not None:
            url = url or value
        elif name not in _ABOUT and name not in _TITLES and value:
            kept.append(value)
    if title is None and len(kept) > 1 and _is_title(kept[0]):
        title = kept.pop(0).strip(" *_#")
    if title and (found := _TITLE_ADDRESS.search(title)) and canonical_url(found[1]) is not None:
        title, url = title[: found.start()].strip() or None, url or found[1]
    text = "\n".join(kept).strip().rstrip("-=_* \n")
    return Result(text, title, url) if text or url else None


def _is_title(line: str) -> bool:
    bare = line.strip()
    return 0 < len(bare) <= _LONGEST_TITLE and bare[-1] not in ".!?,;"
