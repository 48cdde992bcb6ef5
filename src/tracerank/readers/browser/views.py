"""Tool events turned into the domain's words: a view per event, and searches with the evidence they led to.

Cuts evidence out of returned pages as the paper's graphs do (App. A.1): cursor, viewport marker and line numbers go,
Find keeps its matches only. Resolves no documents; that needs the whole pool.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Evidence, Search, View
from tracerank.pools.urls import OFFICIAL, canonical_url
from tracerank.readers.browser.events import ToolEvent
from tracerank.readers.browser.headers import PageHeader, read_header
from tracerank.readers.browser.provenance import Provenance, chain_roots, establish_provenance
from tracerank.readers.values import encodable, plain_text

_NO_HEADER = PageHeader()
_CURSOR = re.compile(r"\s*\[\d+\]\s*")
_VIEWPORT = re.compile(r"\*\*viewing lines \[\d+ - \d+\] of \d+\*\*")
# A line break with the margin of the next line, and the lines in between that hold nothing else. Starts with the break
# instead of ^: a literal is searched far faster than an anchor.
_MARGIN = re.compile(r"\n(?:(?:L\d++:)?\s*\n)*+(?:L\d++:)?[^\S\n]*+")
_PAGE_MARGIN = re.compile(
    r"\n(?:(?:L\d++:|\*\*viewing lines.*?\*\*)?\s*\n)*+(?:L\d++:|\*\*viewing lines.*?\*\*\s*\Z)?[^\S\n]*+"
)
_MATCH = re.compile(r"\nL\d+: # 【\d+†match at L\d+】[^\n]*")


def read_views(events: Sequence[ToolEvent]) -> tuple[tuple[View, ...], tuple[Search, ...]]:
    """The views of a transcript and its searches, both in event order."""
    provenance = establish_provenance(events)
    roots = chain_roots(events, provenance)
    views: list[View] = []
    queries: dict[int, str | None] = {}
    evidence: dict[int, list[Evidence]] = {}
    groups: dict[int, str] = {}
    for event in events:
        place = provenance[event.event]
        header = read_header(event.text) if event.tool == "open" and event.text else _NO_HEADER
        view = _view(event, place, header, None if place.parent is None else groups.get(place.parent))
        views.append(view)
        if event.tool == "search":
            queries[event.event] = _query(event.arguments)
            continue
        text = _evidence_text(event)
        if text:
            groups[event.event] = view.fallback
            root = roots[event.event]
            queries.setdefault(root, None)
            evidence.setdefault(root, []).append(Evidence(text, header.title, tool=event.tool, event=event.event))
    searches = tuple(Search(queries[root], tuple(evidence.get(root, ())), root) for root in sorted(queries))
    return tuple(views), searches


def _view(event: ToolEvent, place: Provenance, header: PageHeader, parent_group: str | None) -> View:
    """``parent_group`` is the fallback of the parent when that showed evidence."""
    target = event.arguments["id"] if "id" in event.arguments else event.arguments.get("url", -1)
    continues = event.tool == "open" and target in (-1, None)
    requested = canonical_url(target, OFFICIAL) if isinstance(target, str) else None
    group = parent_group if continues or event.tool == "find" else None
    return View(
        event=event.event,
        tool=event.tool,
        parent=place.parent,
        cursor=event.cursor,
        is_valid=place.is_valid,
        continues=continues,
        requested=requested,
        kind=header.kind,
        url=header.url,
        displayed=header.displayed,
        url_field_agrees=header.url_field_agrees,
        header=header.status,
        number=header.number,
        fallback=group or requested or f"event:{event.event}",
    )


def _query(arguments: Mapping[str, Any]) -> str:
    for name in ("query", "queries", "q"):
        value = arguments.get(name)
        if value:
            asked = filter(None, map(plain_text, value if isinstance(value, list) else [value]))
            return encodable(normalize_text(" | ".join(asked)))
    return ""


def _evidence_text(event: ToolEvent) -> str:
    """What an Open or Find showed; empty when it failed or matched nothing."""
    if event.cursor is None:
        return ""
    if event.observation is not None:
        return encodable(event.observation)
    if event.tool == "find":
        matches = _MATCH.split("\n" + event.text)[1:]
        return "\n\n".join(filter(None, (_normalised(_MARGIN.sub(" ", match)) for match in matches)))
    if not _VIEWPORT.search(event.text):
        return ""
    cursor = _CURSOR.match(event.text)
    page = event.text[cursor.end() :] if cursor else event.text
    return _normalised(_PAGE_MARGIN.sub(" ", "\n" + page))


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
