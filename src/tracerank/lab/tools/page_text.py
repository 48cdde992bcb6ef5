"""Foreign text made fit for a transcript: it must not pass for the marks of a tool, a chat or a page header.

Pages, titles, queries and patterns are hostile. What they could fake is replaced by look-alikes; nothing is left out.
"""

import re
import textwrap
from urllib.parse import unquote, urlsplit

from tracerank.answers.exact import normalize_text
from tracerank.pools.urls import canonical_url
from tracerank.readers.values import encodable

LINE_WIDTH = 80
MAX_NAME = 300
"""Characters of a title, query or pattern that are shown."""

_BRACKETS = str.maketrans("【】", "〖〗")
_CHAT_TOKEN = re.compile(r"<(?=\|)")
_TAG = re.compile(r"<(?=/?(?:search|information|answer|think|tool_call|tool_response)\b)", re.IGNORECASE)
_ADDRESS_IN_NAME = re.compile(r"\((?=(?:https?|web-search)://)")
_BROWSERS_OWN = re.compile(r"Find results for text:|L\d+:|\*\*viewing lines|\[\d+\]")
_OVERLONG_WORD = re.compile(rf"(\S{{{LINE_WIDTH}}})(?=\S)")


def disarmed(text: str) -> str:
    """The text without chat tokens, protocol tags and link brackets, each replaced by a look-alike."""
    text = encodable(text).translate(_BRACKETS)
    return _TAG.sub("‹", _CHAT_TOKEN.sub("‹", text)) if "<" in text else text


def one_line(text: str) -> str:
    """Disarmed, NFC and on one line."""
    return normalize_text(disarmed(text))


def shown_name(name: str) -> str:
    """A title, query or pattern as it stands in a page's header, where an address follows it in parentheses."""
    name = _ADDRESS_IN_NAME.sub("[", one_line(name))
    if _BROWSERS_OWN.match(name):
        name = f"“{name}”"
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1].rstrip()}…"


def shown_url(url: str) -> str:
    """A canonical address decoded for the eye, unless that would make it another address."""
    decoded = unquote(url)
    is_cut = decoded.endswith(("...", "…"))  # a reader would take it for one that was cut
    if decoded.isprintable() and not is_cut and canonical_url(decoded) == url:
        return decoded
    return f"{url[:-1]}%2E" if url.endswith("...") else url


def link(number: int, title: str, url: str) -> str:
    """A numbered link to a page of another site."""
    name = shown_name(title).replace("†", "‡") or "untitled"
    return f"【{number}†{name}†{urlsplit(url).hostname or url}】"


def wrapped(text: str) -> list[str]:
    """The lines of a page, 80 characters wide; empty lines stay."""
    lines: list[str] = []
    for line in text.split("\n"):
        # A word of a megabyte would cost textwrap quadratic time.
        short = _OVERLONG_WORD.sub(r"\1 ", normalize_text(line))
        lines += textwrap.wrap(short, LINE_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    return lines
