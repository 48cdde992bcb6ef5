"""Where each browser view hangs: its parent view, whether the record of it is consistent, and its chain's root.

Cursors are resolved at the time of the call, against the views that had come back by then.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tracerank.readers.browser.events import ToolEvent


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
