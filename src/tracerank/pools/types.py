"""What the agents did, as frozen values: Question, Rollout, Search, Evidence, Document, View.

Holds no parsing and no vectors. Every object can be compared, hashed and shared between threads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from tracerank.endpoints.chat import ChatMessage, Usage

WEBQA = "webqa"
BROWSING = "browsing"
T = TypeVar("T")


def maker_of(kind: type[T]) -> Callable[..., T]:
    """What makes values of a frozen, slotted dataclass from their fields in order, in a third of the time.

    The class itself sets each field through ``object.__setattr__``. A twin with the same slots that is not frozen takes
    them as they come, and then becomes the value, as frozen as any other. For those that files hold by the million.
    """
    twin: Callable[..., Any] = make_dataclass(kind.__name__, [item.name for item in fields(kind)], slots=True)  # type: ignore[arg-type]

    def made(*values: object) -> T:
        value = twin(*values)
        value.__class__ = kind
        return value  # type: ignore[no-any-return]

    return made


@dataclass(frozen=True, slots=True)
class Document:
    """The identity that evidence occurrences share."""

    key: str
    """Equal keys within a pool mean the same source: ``url:…``, ``search-view:…`` or a private fallback."""
    verified: bool = True
    """False: the source could not be established, the key only groups what certainly belongs together."""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One occurrence of text that the agent saw."""

    text: str
    """NFC, white space collapsed, so that equal text is equal content; empty lines separate excerpts of a Find view."""
    title: str | None = None
    url: str | None = None
    rank: int | None = None
    """Position in the results of the search, from 1; None: a page that was opened or searched within."""
    tool: str = "search"
    """Which tool showed it: ``search``, ``open`` or ``find``."""
    document: Document | None = None
    """None: the transcript says nothing about sources (ranked chunks)."""
    event: int | None = None
    """Id of the tool event in the transcript; None where events have no ids."""
    status: str | None = None
    """How the document was established, in the words of ``pools/documents.py``."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search event and the evidence it led to."""

    query: str | None = None
    """None: an orphan, evidence without a search behind it. Empty: a search whose text was not logged."""
    evidence: tuple[Evidence, ...] = ()
    event: int | None = None

    @property
    def is_orphan(self) -> bool:
        return self.query is None


@dataclass(frozen=True, slots=True)
class View:
    """One tool event of a browsing transcript: what was requested, what came back, and its parent."""

    event: int
    tool: str
    """``search``, ``open`` or ``find``."""
    parent: int | None
    """Event whose view this one started from; None: no such event, or unknown."""
    cursor: int | None
    """Number printed in front of the returned view; None: nothing usable came back."""
    is_valid: bool
    """Arguments, order and cursors are consistent, so the view may establish a source."""
    continues: bool = False
    """An Open that names no new target: it pages on in its parent's view."""
    requested: str | None = None
    """URL that the call itself named, canonical under ``urls.OFFICIAL``, which loses nothing."""
    kind: str = "unknown"
    """What the returned header shows: ``document``, ``search``, ``find`` or ``unknown``."""
    url: str | None = None
    """URL established by the header, canonical under ``urls.OFFICIAL``."""
    displayed: str | None = None
    """URL exactly as the header displayed it."""
    url_field_agrees: bool = False
    """A ``URL:`` line below the header repeats the displayed URL."""
    header: str = "missing_returned_header"
    """How much the header says."""
    number: str | None = None
    """The N of a ``Doc N`` header."""
    fallback: str = ""
    """Group of a view whose source cannot be verified: a canonical URL, or ``event:N``, private to the rollout."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A parsed transcript: searches, evidence, answer, and what is known about its correctness."""

    sample_id: int
    answer: str | None
    """As the agent wrote it, byte for byte, or a contiguous part of that; the white space around it is gone, but not
    the indentation of code (``trimmed`` in ``answers/text_keys.py``). None: the transcript has no answer."""
    searches: tuple[Search, ...] = ()
    label: float | None = None
    """1 correct, 0 wrong, between for soft labels; None: unknown. Never an input of the model."""
    confidence: float | None = None
    """The agent's own estimate between 0 and 1."""
    setting: str = WEBQA
    """The search protocol of the transcript: ``webqa`` (ranked chunks) or ``browsing``."""
    views: tuple[View, ...] = ()
    """Tool events of a browsing transcript, in order; empty for ranked chunks."""
    problem: str | None = None
    """Why the transcript could not be parsed; such a rollout keeps its position but is never retained."""
    source: str | None = None
    """``file:line`` it came from."""
    messages: tuple[ChatMessage, ...] = ()
    """The conversation as it was held, for export; empty: not kept. Never an input of the model."""
    usage: Usage | None = None
    """Tokens that the rollout cost; None: unknown."""
    agent: str | None = None
    """Name of the model or agent that made it, where pools mix several; None: unknown."""

    @property
    def has_evidence(self) -> bool:
        return any(search.evidence for search in self.searches)


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked."""

    id: str
    text: str
    references: tuple[str, ...] = ()
    """Accepted answers; empty: unknown."""
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """Which rollouts may be chosen."""

    needs_evidence: bool
    """WebQA drops rollouts without retrieved evidence; browsing keeps every nonempty response (App. A.1)."""

    def reason_to_drop(self, rollout: Rollout) -> str | None:
        if rollout.problem is not None:
            return rollout.problem
        if not rollout.answer:
            return "no answer"
        if self.needs_evidence and not rollout.has_evidence:
            return "no evidence (WebQA rule)"
        return None


RETENTION_RULES: Mapping[str, RetentionRule] = MappingProxyType(
    {WEBQA: RetentionRule(needs_evidence=True), BROWSING: RetentionRule(needs_evidence=False)}
)


@dataclass(frozen=True, slots=True)
class Retained:
    """What a retention rule kept of a pool and why it dropped the rest."""

    kept: tuple[Rollout, ...]
    dropped: Mapping[int, str] = field(default_factory=dict)
    """Sample id to reason."""
