"""Which source each browsing view showed, and so which evidence of a pool shares a document (App. A.1).

Works on parsed views only: it reads no page text and knows no transcript format. A source counts as verified when a
returned page header or the navigation behind the view establishes it; everything else stays in a group of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Document, Evidence, Rollout, Search, View
from tracerank.pools.urls import DEFAULT, OFFICIAL, UrlRules, refine_url


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """What counts as the same source."""

    urls: UrlRules = DEFAULT


DEFAULT_RULES = DocumentRules()
OFFICIAL_RULES = DocumentRules(OFFICIAL)


@dataclass(frozen=True, slots=True)
class _Source:
    """The document of one view, how it was established, and its URL before any rules were applied."""

    document: Document
    status: str
    url: str | None = None


def link_documents(rollouts: Sequence[Rollout], rules: DocumentRules = DEFAULT_RULES) -> tuple[Rollout, ...]:
    """The rollouts with the documents of their evidence resolved over exactly these rollouts."""
    if not any(rollout.views for rollout in rollouts):
        return tuple(rollouts)
    support = numbered_pages(rollouts, rules)
    return tuple(_linked(rollout, support, rules) if rollout.views else rollout for rollout in rollouts)


def numbered_pages(rollouts: Sequence[Rollout], rules: DocumentRules = DEFAULT_RULES) -> dict[str, str]:
    """The URL of every ``Doc N`` for which complete headers establish exactly one; keyed by N."""
    urls: dict[str, dict[str, str]] = {}
    for rollout in rollouts:
        for view in rollout.views:
            if view.number is not None and view.url is not None and view.kind == "document" and _may_establish(view):
                urls.setdefault(view.number, {}).setdefault(refine_url(view.url, rules.urls), view.url)
    return {number: next(iter(spellings.values())) for number, spellings in urls.items() if len(spellings) == 1}


def resolve_views(
    rollout: Rollout, support: Mapping[str, str], rules: DocumentRules = DEFAULT_RULES
) -> dict[int, tuple[Document, str]]:
    """Document and status of each view of one rollout; ``support`` maps the N of a bare ``Doc N`` to its URL."""
    sources: dict[int, _Source] = {}
    for view in rollout.views:
        parent = None if view.parent is None else sources.get(view.parent)
        sources[view.event] = _resolve(view, parent, rollout.sample_id, support, rules)
    return {event: (source.document, source.status) for event, source in sources.items()}


def fallback_key(view: View, sample_id: int, rules: DocumentRules = DEFAULT_RULES) -> str:
    """Key of the group that holds a view whose source cannot be verified."""
    if view.fallback.startswith("http"):
        return f"unresolved:{refine_url(view.fallback, rules.urls)}"
    # The sample id comes in here and not in the view: a reader may not know it yet.
    return f"unresolved:{sample_id}:{view.fallback or f'event:{view.event}'}"


def _may_establish(view: View) -> bool:
    return view.is_valid and view.cursor is not None


def _resolve(
    view: View, parent: _Source | None, sample_id: int, support: Mapping[str, str], rules: DocumentRules
) -> _Source:
    if not _may_establish(view):
        return _unresolved(view, sample_id, rules, "invalid_return_or_provenance")
    if view.tool == "search":
        return _listing(view, sample_id, "search_view_identity")
    if view.tool == "find" or view.continues:
        if parent is not None and parent.document.verified:
            if _agrees(view, parent, rules):
                return _Source(parent.document, f"{view.tool}_inherits_source", parent.url)
            return _unresolved(view, sample_id, rules, "returned_view_conflicts_with_parent")
        if view.tool == "find":
            return _unresolved(view, sample_id, rules, "unresolved")
    if view.kind == "search":
        return _listing(view, sample_id, "returned_search_view_identity")
    if view.kind == "document":
        return _page(view, sample_id, support, rules)
    return _unresolved(view, sample_id, rules, "unresolved")


def _listing(view: View, sample_id: int, status: str) -> _Source:
    # Scoped to the rollout: equal result lists must never link unrelated pages across rollouts.
    return _Source(Document(f"search-view:{sample_id}:{view.event}"), status)


def _unresolved(view: View, sample_id: int, rules: DocumentRules, status: str) -> _Source:
    return _Source(Document(fallback_key(view, sample_id, rules), verified=False), status)


def _page(view: View, sample_id: int, support: Mapping[str, str], rules: DocumentRules) -> _Source:
    url, status = view.url, view.header
    if url is None and status == "doc_id_without_url_header" and view.number is not None:
        url = support.get(view.number)
        status = status if url is None else "same_question_unique_doc_id_url_support"
    if url is None:
        return _unresolved(view, sample_id, rules, status)
    # A header shows the decoded address; the call that named the same page knows how it was encoded.
    if view.requested and view.displayed and not view.url_field_agrees and _shows(view.displayed, view.requested):
        url = view.requested
    key = refine_url(url, rules.urls)
    return _Source(Document(f"url:{key}", url=key), status, url)


def _agrees(view: View, parent: _Source, rules: DocumentRules) -> bool:
    """Whether what came back can be a part of the parent's source."""
    if view.kind == "search" and parent.url is not None:
        return False
    if view.url is None:
        return True
    if parent.url is None:
        return False
    if refine_url(view.url, rules.urls) == refine_url(parent.url, rules.urls):
        return True
    if view.displayed is None or view.url_field_agrees:
        return False
    displayed = view.displayed.rpartition("/find?pattern=")[0] if view.kind == "find" else view.displayed
    return _shows(displayed, parent.url) or _shows(displayed.partition("#")[0], parent.url)


def _shows(displayed: str, url: str) -> bool:
    return normalize_text(displayed) == normalize_text(unquote(url))


def _linked(rollout: Rollout, support: Mapping[str, str], rules: DocumentRules) -> Rollout:
    resolved = resolve_views(rollout, support, rules)
    searches = tuple(_linked_search(search, resolved) for search in rollout.searches)
    if all(new is old for new, old in zip(searches, rollout.searches, strict=True)):
        return rollout
    return replace(rollout, searches=searches)


def _linked_search(search: Search, resolved: Mapping[int, tuple[Document, str]]) -> Search:
    evidence = tuple(_linked_evidence(seen, resolved) for seen in search.evidence)
    if all(new is old for new, old in zip(evidence, search.evidence, strict=True)):
        return search
    return Search(search.query, evidence, search.event)


def _linked_evidence(evidence: Evidence, resolved: Mapping[int, tuple[Document, str]]) -> Evidence:
    found = None if evidence.event is None else resolved.get(evidence.event)
    if found is None:
        return evidence
    document, status = found
    if evidence.document == document and evidence.status == status and evidence.url == document.url:
        return evidence
    return replace(evidence, document=document, status=status, url=document.url)
