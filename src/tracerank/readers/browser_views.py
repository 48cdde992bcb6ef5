"""Tool events turned into the domain's words: a view per event, and searches with the evidence they led to.

Cuts evidence out of returned pages as the paper's graphs do (App. A.1): cursor, viewport marker and line numbers go,
Find keeps its matches only. Resolves no documents; that needs the whole pool.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracerank.pools.answers import normalize_text
from tracerank.pools.types import Evidence, Search, View
from tracerank.pools.urls import OFFICIAL, canonical_url
from tracerank.readers.browser_events import ToolEvent, encodable
from tracerank.readers.browser_headers import PageHeader, read_header
from tracerank.readers.browser_provenance import chain_roots, establish_provenance

_NO_HEADER = PageHeader()
_CURSOR = re.compile(r"\s*\[\d+\]\s*")
_VIEWPORT = re.compile(r"\*\*viewing lines \[\d+ - \d+\] of \d+\*\*")
# Patterns start with the line break instead of ^: a literal is searched far faster than an anchor.
_MARKING = re.compile(r"\n(?:L\d+:|\*\*viewing lines.*?\*\*\s*$)", re.M)
_LINE_NUMBER = re.compile(r"\nL\d+:")
_MATCH = re.compile(r"\nL\d+: # 【\d+†match at L\d+】[^\n]*")


def read_views(events: Sequence[ToolEvent]) -> tuple[tuple[View, ...], tuple[Search, ...]]:
    """The views of a transcript and its searches, both in event order."""
    provenance = establish_provenance(events)
    roots = chain_roots(events, provenance)
    views: list[View] = []
    groups: dict[int, str] = {}
    evidence: dict[int, list[Evidence]] = {}
    queries: dict[int, str | None] = {}
    for event in events:
        place = provenance[event.event]
        is_open = event.tool == "open"
        header = read_header(event.text) if is_open and event.text else _NO_HEADER
        target = _target(event.arguments)
        continues = is_open and target in (-1, None)
        requested = canonical_url(target, OFFICIAL) if isinstance(target, str) else None
        text = _evidence_text(event)
        fallback = requested or f"event:{event.event}"
        if text and place.parent in groups and (continues or event.tool == "find"):
            fallback = groups[place.parent]
        view = View(
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
            fallback=fallback,
        )
        views.append(view)
        if event.tool == "search":
            queries[event.event] = _query(event.arguments)
        if text:
            groups[event.event] = fallback
            root = roots[event.event]
            queries.setdefault(root, None)
            evidence.setdefault(root, []).append(Evidence(text, title=header.title, tool=event.tool, event=event.event))
    searches = tuple(Search(queries[root], tuple(evidence.get(root, ())), root) for root in sorted(queries))
    return tuple(views), searches


def _target(arguments: Mapping[str, Any]) -> object:
    return arguments["id"] if "id" in arguments else arguments.get("url", -1)


def _query(arguments: Mapping[str, Any]) -> str:
    for name in ("query", "queries", "q"):
        value = arguments.get(name)
        if isinstance(value, list):
            value = " | ".join(str(item) for item in value)
        if value:
            return encodable(normalize_text(str(value)))
    return ""


def _evidence_text(event: ToolEvent) -> str:
    """What an Open or Find showed; empty when it failed, matched nothing or was a search."""
    if event.tool == "search" or event.cursor is None:
        return ""
    if event.observation is not None:
        return event.observation
    if event.tool == "find":
        matches = _MATCH.split("\n" + event.text)[1:]
        return "\n\n".join(filter(None, (normalize_text(_LINE_NUMBER.sub("\n", match)) for match in matches)))
    if not _VIEWPORT.search(event.text):
        return ""
    cursor = _CURSOR.match(event.text)
    page = event.text[cursor.end() :] if cursor else event.text
    return normalize_text(_MARKING.sub("\n", "\n" + page))
