"""Tool events turned into the domain's words: a view per event, and searches with the evidence they led to.

Where a view hangs is told here, too: its parent view, whether the record of it is consistent, its chain's root. What
pages showed is cut out of them in ``page_texts.py``. Resolves no documents; that needs the whole pool.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Evidence, Search, View, maker_of
from tracerank.pools.urls import OFFICIAL, canonical_url
from tracerank.readers.browser.events import ToolEvent
from tracerank.readers.browser.headers import PageHeader
from tracerank.readers.browser.page_texts import found_excerpts, opened_page
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
        [
            (event.returned_at, event.event, event.cursor)
            for event in events
            if event.returned_at is not None and event.cursor is not None
        ]
    )
    # A cursor or a message that returned twice says nothing about either view.
    cursors_twice = _repeated([cursor for _, _, cursor in returns])
    returned_twice = _repeated([index for index, _, _ in returns])
    owners: dict[int, int | None] = {}  # cursor -> the event that showed it so far; None: several did
    latest: int | None = None
    seen = 0
    provenance: dict[int, Provenance] = {}
    for number, tool, arguments, has_arguments, called_at, returned_at, own_cursor, _, _, claims in events:
        while seen < len(returns) and returns[seen][0] < called_at:
            _, owner, latest = returns[seen]
            owners[latest] = None if latest in owners else owner
            seen += 1
        parent = cursor = None
        is_clear = True
        if tool != "search":
            given = arguments.get("cursor", -1)
            is_clear = type(given) is int
            cursor = latest if given == -1 else given
            if is_clear and cursor in owners:
                parent = owners[cursor]
                is_clear = parent is not None
            if parent is None or not has_arguments:
                parent = cursor = None
        is_valid = (
            has_arguments
            and is_clear
            and returned_at is not None
            and returned_at > called_at
            and own_cursor not in cursors_twice
            and returned_at not in returned_twice
            and (not claims or _agrees(claims, parent, cursor))
        )
        provenance[number] = Provenance(parent, is_valid)
    return provenance


def _agrees(claims: Mapping[str, Any], parent: int | None, cursor: int | None) -> bool:
    """Whether an event says of itself what was found: which event it started from, and the number of that view."""
    stated = claims.get("source_event_id", parent), claims.get("source_cursor", cursor)
    return stated == (parent, cursor)


def _repeated(numbers: list[int]) -> Set[int]:
    """Those that occur more than once."""
    if len(set(numbers)) == len(numbers):
        return frozenset()
    return {number for number, count in Counter(numbers).items() if count > 1}


def chain_roots(provenance: Mapping[int, Provenance]) -> dict[int, int]:
    """The event at which each event's chain of parents starts: a search, or the first view of an orphan chain."""
    # None: the chain runs in a circle, as contradictory typed events can; each of its events then stands alone.
    roots: dict[int, int | None] = {}
    for event, (parent, _) in provenance.items():
        if parent is None or parent in roots:
            roots[event] = event if parent is None else roots[parent]
            continue
        climbed = {event: None}
        while parent is not None and parent not in roots and parent not in climbed:
            climbed[parent] = None
            parent = provenance[parent].parent
        root = next(reversed(climbed)) if parent is None else roots.get(parent)
        roots.update(dict.fromkeys(climbed, root))
    return {event: event if root is None else root for event, root in roots.items()}


_NO_HEADER = PageHeader()
# There is one for every event of a log.
_made_view, _made_evidence, _made_search = maker_of(View), maker_of(Evidence), maker_of(Search)


def read_views(events: Sequence[ToolEvent]) -> tuple[tuple[View, ...], tuple[Search, ...]]:
    """The views of a transcript and its searches, both in event order."""
    provenance = establish_provenance(events)
    roots = chain_roots(provenance)
    views: list[View] = []
    queries: dict[int, str | None] = {}
    evidence: dict[int, list[Evidence]] = {}
    groups: dict[int, str] = {}
    for event in events:
        number, tool = event.event, event.tool
        place = provenance[number]
        if tool == "search":
            queries[number] = _query(event.arguments)
            views.append(_view(event, place, _NO_HEADER, None))
            continue
        header, text = _shown(event)
        view = _view(event, place, header, None if place.parent is None else groups.get(place.parent))
        views.append(view)
        if text:
            groups[number] = view.fallback
            root = roots[number]
            queries.setdefault(root, None)
            evidence.setdefault(root, []).append(
                _made_evidence(text, header.title, None, None, tool, None, number, None)
            )
    searches = tuple([_made_search(queries[root], tuple(evidence.get(root, ())), root) for root in sorted(queries)])
    return tuple(views), searches


def _view(event: ToolEvent, place: Provenance, header: PageHeader, parent_group: str | None) -> View:
    """``parent_group`` is the fallback of the parent when that showed evidence."""
    arguments, tool = event.arguments, event.tool
    target = arguments["id"] if "id" in arguments else arguments.get("url", -1)
    continues = tool == "open" and target in (-1, None)
    requested = canonical_url(target, OFFICIAL) if isinstance(target, str) else None
    group = parent_group if continues or tool == "find" else None
    return _made_view(
        event.event,
        tool,
        place.parent,
        event.cursor,
        place.is_valid,
        continues,
        requested,
        header.kind,
        header.url,
        header.displayed,
        header.url_field_agrees,
        header.status,
        header.number,
        group or requested or f"event:{event.event}",
    )


def _query(arguments: Mapping[str, Any]) -> str:
    for name in ("query", "queries", "q"):
        value = arguments.get(name)
        if type(value) is str and value:
            return encodable(normalize_text(value))
        if value:
            asked = filter(None, map(plain_text, value if isinstance(value, list) else [value]))
            return encodable(normalize_text(" | ".join(asked)))
    return ""


def _shown(event: ToolEvent) -> tuple[PageHeader, str]:
    """The header of an opened page, and what an Open or Find showed: empty when it failed or matched nothing."""
    header, text = _NO_HEADER, ""
    if event.tool == "open" and event.text:
        header, text = opened_page(event.text)
    elif event.tool == "find" and event.observation is None:
        text = found_excerpts(event.text)
    if event.observation is not None:
        text = encodable(event.observation)
    return header, "" if event.cursor is None else text
