"""Search returns that are plain text: several results under marks that the tool wrote, one after the other.

``[1] …``, ``1. …``, ``Result 1: …``, ``Title: …`` blocks, ``<document>…</document>`` elements and parts between rules.
A text is split only when its very beginning is such a mark, and numbers must count on from one: a page that holds a
list of its own stays whole. Every step is linear in the length of the text.
"""

import re
from dataclasses import replace

from tracerank.pools.urls import canonical_url
from tracerank.readers.calls.results import Result

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
        for layout in (_elements, _numbered, _titled, _ruled):
            parts = layout(candidate)
            if 1 < len(parts) <= _MOST_RESULTS or (len(parts) == 1 and layout is _elements):
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
