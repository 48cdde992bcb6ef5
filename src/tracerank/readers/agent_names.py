"""What made a rollout, as its record says: the field ``agent``, ``model`` or ``generator``, whatever the format.

Names are kept as they are written: ``gpt-4o_run3`` may be a third agent or a third run, and only the user knows.
"""

from collections.abc import Mapping

from tracerank.readers.base import Record

_FIELDS = ("agent", "agent_name", "model", "model_name", "generator")
"""The first that holds a name counts."""
_SETTINGS = ("metadata", "config")
"""Objects inside a record that may have these fields, too."""
_UNKNOWN = frozenset(("", "agent", "assistant", "default", "model", "n/a", "none", "null", "unknown"))
_MAX_NAME = 200
"""Characters; a longer text is no name."""


def agent_of(record: Record) -> str | None:
    """The name that a record gives to its agent; None: it gives none."""
    for place in (record, *map(record.get, _SETTINGS)):
        if place and isinstance(place, Mapping):
            for name in _FIELDS:
                if name in place and (found := _name(place[name])) is not None:
                    return found
    return None


def _name(value: object) -> str | None:
    if isinstance(value, Mapping):  # ATIF: {"name": …, "version": …, "model_name": …}
        parts = (_name(value.get(name)) for name in ("name", "model_name"))
        return " ".join(dict.fromkeys(filter(None, parts))) or None
    if not isinstance(value, str) or len(value) > _MAX_NAME or not value.isprintable():
        return None
    name = value.strip()
    return None if name.lower() in _UNKNOWN else name
