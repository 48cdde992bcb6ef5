"""One search result as a tool wrote it into a text: its title, its address, and the words.

Where a result begins and ends is settled in ``text_results.py``. Titles and addresses are taken from the head of a part
only, so that a page cannot rename its source further down. Linear in the length of the part.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from tracerank.pools.urls import canonical_url
from tracerank.readers.results import Result
from tracerank.readers.sources.loose_json import load_literal

_MAX_TITLE = 150
_ADDRESS = r"(?P<url>https?://(?:[^\s()<>\[\]]|\([^\s()<>]{0,200}\)){1,2000}+)"
_LABEL = re.compile(
    r"[ \t*_#-]{0,8}(title|name|page|url source|source url|url|link|href|source|(?:markdown )?contents?|text|snippets?"
    r"|summary|abstract|passage|description|body|highlights?|date(?: published)?|published(?: date)?|authors?|score"
    r"|relevance|rank|id|doc ?id|image|favicon|extras|subpages)"
    r"[*_ \t]{0,4}:[*_]{0,2}[ \t]*",
    re.I,
)
_ABOUT = frozenset(
    (
        *("date", "date published", "published", "published date", "author", "authors", "score", "relevance", "rank"),
        *("id", "docid", "doc id", "image", "favicon", "extras", "subpages"),
    )
)
_TITLES = frozenset(("title", "name", "page"))
_ADDRESSES = frozenset(("url", "link", "href", "source", "url source", "source url"))
_EMPTY_LABEL = re.compile(r"\s*(?:[A-Z][A-Za-z ]{1,30}: None\s*)?\Z")
"""A field that a library prints though there is nothing in it."""
_SAID_BEHIND = re.compile(r"[*_]{0,2}(?::|[ \t][-–—])[*_]{0,2}[ \t]+(?=[^\n]*[.!?…][\"”')]?\Z)")
"""Between a title and a sentence in one line."""
_TITLE_ADDRESS = re.compile(r"(?<![ \t])[ \t]*+(?:[-|–][ \t]*)?[(<]?(https?://[^\s()<>]{1,2000})[)>]?\Z")
_BOLD = re.compile(r"(?:[-*•] )?\*\*([^*\n]{1,150})\*\*:?[ \t]*")
_BARE_ADDRESS = re.compile(rf"[ \t]*[(<\[]?{_ADDRESS}[)>\]]?[ \t]*\Z")
_LINK = re.compile(rf"[ \t]*\[(?P<title>(?:[^\]\n]|\](?!\()){{1,300}}+)\]\({_ADDRESS}\)(?P<rest>[^\n]*)\Z")
_BESIDE = re.compile(rf"[ \t]*+(?P<title>[^\n]{{1,200}}?)[ \t]*[(<]{_ADDRESS}[)>](?P<rest>[^\n]*)\Z")
_BEHIND = re.compile(rf"[ \t]*+(?P<title>[^\n]{{1,200}}?)(?:[ \t]+[-–—|:]|[,:.])[ \t]+{_ADDRESS}(?P<rest>)[ \t]*\Z")
_BOTH = re.compile(
    rf"\(?title: ?\"?(?P<title>[^\n\"]{{1,200}}?)\"?, ?(?:url|source|link): ?{_ADDRESS}\)?:?(?P<rest>[^\n]*)\Z", re.I
)
_IN_BRACKETS = re.compile(r"\(title: ?\"?((?![^()\n]*://)[^\n\"()]{1,200})\"?\)[ \t]*", re.I)
_QUOTE = re.compile(r"[\"“”]")
_RULES_BELOW = re.compile(r"(?:\A|\n)[-=_*\s]*+\Z")
_HEAD_LINES = 4
"""Below a title, the lines among which its address stands."""


class Opening(NamedTuple):
    """A line that names a source with its address."""

    title: str
    url: str
    rest: str
    """The words that follow in the same line."""
    is_link: bool
    """As in Markdown."""


def opening(line: str) -> Opening | None:
    """Title and address of a line that begins with both, as markdown, in brackets or behind a dash; else None."""
    if "://" not in line:
        return None
    bare = line.rstrip(" \t*_").lstrip(" \t*_#-•")
    found = _BOTH.match(bare) or _LINK.match(bare) or _BESIDE.match(bare) or _BEHIND.match(bare)
    if found is None or canonical_url(found["url"]) is None:
        return None
    title, rest = _unquoted(found["title"].strip(" *_")), found["rest"].strip(" \t*_")
    is_marked = found.re is _LINK or line.lstrip(" \t-•").startswith("**")
    if rest and rest[0] not in ":-–—.|" and not is_marked:
        return None  # a sentence that mentions a page
    return Opening(title, found["url"], rest.lstrip(":-–—.| \t*_"), found.re is _LINK) if title else None


def address_of(line: str) -> str | None:
    """The address that a line consists of, bare or behind a label."""
    if "://" not in line:
        return None
    label = _LABEL.match(line)
    if label is not None and label[1].lower() not in _ADDRESSES:
        return None
    found = _BARE_ADDRESS.match(line[label.end() :].rstrip(" *_") if label is not None else line)
    return found["url"] if found is not None and canonical_url(found["url"]) is not None else None


def is_about(name: str) -> bool:
    """Whether a field says something about a result instead of what it says."""
    return name.replace("_", " ").lower() in _ABOUT


def label_of(line: str) -> str | None:
    """The label that a line begins with, such as ``title``; None: it has none."""
    found = _LABEL.match(line)
    return None if found is None else found[1].lower()


def names_source(lines: list[str], index: int) -> bool:
    """Whether the line at an index names a source: its address stands in it, or right below as a line of its own."""
    if opening(lines[index]) is not None:
        return True
    seen = 0
    for line in lines[index + 1 : index + 1 + 2 * _HEAD_LINES]:
        if not line.strip():
            continue
        if address_of(line) is not None:
            return True
        seen += 1
        if label_of(line) is None or seen >= _HEAD_LINES:
            return False
    return False


def result_of(part: str, title: str | None = None, url: str | None = None) -> Result | None:
    """What a part says, its title and its address, unless they are known; None: neither text nor address."""
    if title is None and (named := _IN_BRACKETS.match(part)) is not None:
        title, part = named[1].strip(), part[named.end() :]
    lines = part.strip().split("\n")
    if (opened := None if title else opening(lines[0])) is not None and label_of(lines[0]) is None:
        title, url, lines[0] = opened.title, url or opened.url, opened.rest
        if not any(map(str.strip, lines)) and (cut := _SAID_BEHIND.search(opened.title)) is not None:
            title, lines[0] = opened.title[: cut.start()].strip(" *_") or None, opened.title[cut.end() :]
    elif title is None and not label_of(lines[0]) and len(lines) > 1 and names_source(lines, 0):
        title = lines.pop(0).strip(" \t*_#-•:") or None
    elif bold := None if title or label_of(lines[0]) else _BOLD.match(lines[0]):
        title, lines[0] = bold[1].strip(" :") or None, lines[0][bold.end() :].lstrip("-–—|: \t")
    lines = lines if lines[0].strip() else lines[1:]
    head = _Head(title, url, is_linked=opened is not None and opened.is_link)
    kept: list[str] = []
    for line in lines:
        if kept or not head.takes(line, kept):
            kept.append(line)
    return head.result(kept)


class _Head:
    """The lines before the text of a result, which say whose text it is."""

    def __init__(self, title: str | None, url: str | None, *, is_linked: bool = False) -> None:
        self.title, self.url = title, url
        self._is_linked = is_linked
        self._is_over = False
        self._source: str | None = None

    def takes(self, line: str, kept: list[str]) -> bool:
        """Whether a line belongs to the head; what it says of the text itself goes to ``kept``."""
        if not line.strip():
            self._is_over = self._is_linked
            return True
        if self._is_over:
            return False
        if self.url is None and (address := address_of(line)) is not None:
            self.url = address
            return True
        label = _LABEL.match(line)
        if label is None:
            return False
        name, value = label[1].lower(), _unquoted(line[label.end() :].strip(" *_"))
        if name in _TITLES and self.title is None:
            self.title = value or None
        elif name in _ADDRESSES:
            self._names(value)
        elif name in _TITLES:
            return False
        elif not is_about(name) and value:
            kept.append(value)
        return True

    def _names(self, value: str) -> None:
        if canonical_url(value) is not None:
            self.url = self.url or value
        elif value.startswith("{") and isinstance(printed := load_literal(value), Mapping):
            texts = {key: text for key, text in printed.items() if isinstance(text, str) and text.strip()}
            self.url = self.url or next((text for text in texts.values() if canonical_url(text) is not None), None)
            self._source = texts.get("title") or texts.get("source")
        else:
            self._source = self._source or value or None

    def result(self, kept: list[str]) -> Result | None:
        """The result with the lines of its text."""
        title, url = self.title or self._source, self.url
        if title is None and len(kept) > 1 and _is_title(kept[0]):
            title = kept.pop(0).strip(" *_#")
        if (
            title
            and not self._is_linked
            and (found := _TITLE_ADDRESS.search(title))
            and canonical_url(found[1]) is not None
        ):
            title, url = title[: found.start()].strip() or None, url or found[1]
        while kept and _EMPTY_LABEL.match(kept[-1]):
            kept.pop()
        text = _RULES_BELOW.sub("", "\n".join(kept).strip())
        return Result(text, title if title != url else None, url) if text or url else None


def _unquoted(value: str) -> str:
    is_pair = len(value) > 1 and value[0] + value[-1] in ('""', "“”")
    return value[1:-1] if is_pair and not _QUOTE.search(value, 1, len(value) - 1) else value


def _is_title(line: str) -> bool:
    bare = line.strip()
    return 0 < len(bare) <= _MAX_TITLE and bare[-1] not in ".!?,;"
