"""Tool events turned into the domain's words: a view per event, and searches with the evidence they led to.

Where a view hangs is told here, too: its parent view, whether the record of it is consistent, its chain's root. Cuts
evidence out of returned pages as the paper's graphs do (App. A.1): cursor, viewport marker and line numbers go, Find
keeps its matches only. Resolves no documents; that needs the whole pool.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Evidence, Search, View
from tracerank.pools.urls import OFFICIAL, canonical_url
from tracerank.readers.browser.events import ToolEvent
from tracerank.readers.browser.headers import PageHeader, read_header
from tracerank.readers.values import encodable, plain_text


class Provenance(NamedTuple):
    """How one event came about."""

    parent: int | None
    """Event whose view it started from; None: none, unknown or ambiguous."""
    is_valid: bool
    """Arguments, order, cursors and supplied claims do not contradict each other."""


def establish_provenance(events: Sequence[ToolEvent]) -> dict[int, Provenance]:
    """The provenance of every event; events are in the order of their ids."""
    returns = sorted(
        (event.returned_at, event.event, event.cursor)
        for event in events
        if event.returned_at is not None and event.cursor is not None
    )
    views_with = Counter(cursor for _, _, cursor in returns)
    views_at = Counter(index for index, _, _ in returns)
    owners: dict[int, list[int]] = {}
    latest: int | None = None
    seen = 0
    provenance: dict[int, Provenance] = {}
    for event in events:
        while seen < len(returns) and returns[seen][0] < event.called_at:
            _, owner, latest = returns[seen]
            owners.setdefault(latest, []).append(owner)
            seen += 1
        given = event.arguments.get("cursor", -1)
        is_cursor = isinstance(given, int) and not isinstance(given, bool)
        cursor: int | None = latest if given == -1 else given if is_cursor else None
        starts_from_view = event.tool != "search"
        candidates = owners.get(cursor, ()) if starts_from_view and is_cursor and cursor is not None else ()
        parent = candidates[0] if len(candidates) == 1 and event.has_arguments else None
        source_cursor = None if parent is None else cursor
        is_valid = (
            event.has_arguments
            and (is_cursor or not starts_from_view)
            and len(candidates) <= 1
            and event.returned_at is not None
            and event.returned_at > event.called_at
            # A cursor or a message that returned twice says nothing about either view.
            and (event.cursor is None or views_with[event.cursor] <= 1)
            and views_at[event.returned_at] <= 1
            and event.claims.get("source_event_id", parent) == parent
            and event.claims.get("source_cursor", source_cursor) == source_cursor
        )
        provenance[event.event] = Provenance(parent, is_valid)
    return provenance


def chain_roots(events: Sequence[ToolEvent], provenance: Mapping[int, Provenance]) -> dict[int, int]:
    """The event at which each event's chain of parents starts: a search, or the first view of an orphan chain."""
    searches = {event.event for event in events if event.tool == "search"}
    # None: the chain runs in a circle, as contradictory typed events can; each of its events then stands alone.
    roots: dict[int, int | None] = {}
    for event in events:
        climbed: dict[int, None] = {}
        current: int | None = event.event
        root: int | None = None
        while current is not None and current not in climbed:
            if current in roots:
                root = roots[current]
                break
            climbed[current] = None
            parent = None if current in searches else provenance[current].parent
            if parent is None:
                root = current
            current = parent
        roots.update(dict.fromkeys(climbed, root))
    return {event: event if root is None else root for event, root in roots.items()}


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
