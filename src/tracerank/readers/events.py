"""The normal form of a transcript: what was asked, said, called and returned, in the order in which it was logged.

Every reader of a log yields these; ``assemble.py`` makes the rollout of them. An id pairs a return with its call, and
tells a message that is logged again from a new one. Without ids, returns answer the calls before them in order.
"""

from dataclasses import dataclass

from tracerank.readers.results import Result
from tracerank.readers.tools import CallKind


@dataclass(frozen=True, slots=True)
class UserTurn:
    """Words of the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the agent; those before further research are a plan and not the answer."""

    text: str
    cited: tuple[Result, ...] = ()
    """The sources that the words cite."""
    is_final: bool = True
    """False: said beside the answer, as a comment on the work."""
    id: str | None = None
    """Of the message. Of several texts under one id the longest counts."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a tool."""

    name: str
    """As logged."""
    arguments: object = None
    """As logged: an object, JSON, or text."""
    id: str | None = None
    turn: int = 0
    """Number of the message that makes the call; a return without an id answers the calls of the latest one."""
    kind: CallKind | None = None
    """What the tool does, where the format says so. None: its name and arguments say so."""
    results: tuple[Result, ...] | None = None
    """What a tool of the vendor is known to have shown. None: what it returned says so."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call brought back."""

    output: object
    """Text, parsed JSON or a list of content parts."""
    id: str | None = None
    """Of the call. None: the next call before it that waits."""
    name: str = ""
    """Of the tool; empty where the return does not name it."""
    is_error: bool = False
    """The log marks the return as a failure; it is then no evidence."""
    artifact: object = None
    """The return in structured form, where the log keeps it beside the text."""
    results: tuple[Result, ...] | None = None
    """The return as the reader has understood it. None: it is to be read."""


Event = UserTurn | Said | Called | Returned
