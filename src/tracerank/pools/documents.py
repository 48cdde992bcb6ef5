"""Which source each browsing view showed, and so which evidence of a pool shares a document (App. A.1).

Works on parsed views only: it reads no page text and knows no transcript format. A source counts as verified when a
returned page header or the navigation behind the view establishes it; everything else stays in a group of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import NamedTuple
from urllib.parse import unquote

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Document, Evidence, Rollout, Search, View
from tracerank.pools.urls import DEFAULT, UrlRules, refine_url


class _Source(NamedTuple):
    """The document of one view, how it was established, and its URL before any rules were applied."""

    key: str
    verified: bool
    status: str
    url: str | None = None
    """Before any rules."""
    refined: str | None = None
    """Under the rules: the document's own."""


_Sources = dict[int, _Source]
"""By event."""


def link_documents(rollouts: Sequence[Rollout], rules: UrlRules = DEFAULT) -> tuple[Rollout, ...]:
    """The rollouts with the documents of their evidence resolved over exactly these rollouts."""
    if not any(rollout.views for rollout in rollouts):
        return tuple(rollouts)
    linking = _Linking(rollouts, rules)
    return tuple([linking.linked(rollout) if rollout.views else rollout for rollout in rollouts])


def document_keys(rollouts: Sequence[Rollout], rules: UrlRules = DEFAULT) -> list[list[str | None]]:
    """The keys that ``link_documents`` would give the evidence of each rollout, without making rollouts anew.

    None: nothing is known about the source.
    """
    linking = _Linking(rollouts, rules)
    keys: list[list[str | None]] = []
    for rollout in rollouts:
        sources = linking.sources(rollout)
        keys.append([])
        for seen in (seen for search in rollout.searches for seen in search.evidence):
            found = sources.get(seen.event) if seen.event is not None else None
            keys[-1].append(found.key if found is not None else seen.document.key if seen.document else None)
    return keys


def _numbered_pages(rollouts: Iterable[Rollout], rules: UrlRules) -> Mapping[str, str]:
    """The URL of every ``Doc N`` for which complete headers establish exactly one; keyed by N."""
    urls: dict[str, dict[str, str]] = {}
    for rollout in rollouts:
        for view in rollout.views:
            is_page = view.is_valid and view.kind == "document" and view.cursor is not None
            if is_page and view.number is not None and view.url is not None:
                urls.setdefault(view.number, {}).setdefault(refine_url(view.url, rules), view.url)
    return {number: next(iter(spellings.values())) for number, spellings in urls.items() if len(spellings) == 1}


def fallback_key(view: View, sample_id: int, rules: UrlRules = DEFAULT) -> str:
    """Key of the group that holds a view whose source cannot be verified."""
    if view.fallback.startswith("http"):
        return f"unresolved:{refine_url(view.fallback, rules)}"
    # The sample id comes in here and not in the view: a reader may not know it yet.
    return f"unresolved:{sample_id}:{view.fallback or f'event:{view.event}'}"


class _Linking:
    """What the views of some rollouts say together."""

    def __init__(self, rollouts: Sequence[Rollout], rules: UrlRules) -> None:
        self.rules = rules
        self._numbered = _numbered_pages(rollouts, rules)
        self._pages: dict[tuple[object, ...], _Source | None] = {}
        """By what a header says: rollouts open the same pages."""

    def sources(self, rollout: Rollout) -> _Sources:
        """The source of each view of one rollout."""
        found: _Sources = {}
        for view in rollout.views:
            if not view.is_valid or view.cursor is None:
                found[view.event] = self._unresolved(view, rollout.sample_id, "invalid_return_or_provenance")
            elif view.tool == "search":
                found[view.event] = _listing(view.event, rollout.sample_id, "search_view_identity")
            else:
                found[view.event] = self._resolve(view, found, rollout.sample_id)
        return found

    def linked(self, rollout: Rollout) -> Rollout:
        sources = self.sources(rollout)
        searches = tuple([_linked_search(search, sources) for search in rollout.searches])
        return rollout if all(map(is_, searches, rollout.searches)) else replace(rollout, searches=searches)

    def _resolve(self, view: View, earlier: _Sources, sample_id: int) -> _Source:
        """The source of an Open or Find whose return may establish one."""
        if view.tool == "find" or view.continues:
            parent = earlier.get(view.parent) if view.parent is not None else None
            if parent is not None and parent.verified:
                if _agrees(view, parent, self.rules):
                    return parent._replace(status=f"{view.tool}_inherits_source")
                return self._unresolved(view, sample_id, "returned_view_conflicts_with_parent")
            if view.tool == "find":
                return self._unresolved(view, sample_id, "unresolved")
        if view.kind == "search":
            return _listing(view.event, sample_id, "returned_search_view_identity")
        if view.kind == "document":
            said = (view.url, view.header, view.number, view.requested, view.displayed, view.url_field_agrees)
            if said not in self._pages:
                self._pages[said] = self._named(view)
            return self._pages[said] or self._unresolved(view, sample_id, view.header)
        return self._unresolved(view, sample_id, "unresolved")

    def _named(self, view: View) -> _Source | None:
        """The page that a header names; None: it does not."""
        url, status = view.url, view.header
        if url is None and status == "doc_id_without_url_header" and view.number is not None:
            url = self._numbered.get(view.number)
            status = status if url is None else "same_question_unique_doc_id_url_support"
        if url is None:
            return None
        # A header shows the decoded address; the call that named the same page knows how it was encoded.
        if view.requested and view.displayed and not view.url_field_agrees and _shows(view.displayed, view.requested):
            url = view.requested
        refined = refine_url(url, self.rules)
        return _Source(f"url:{refined}", True, status, url, refined)

    def _unresolved(self, view: View, sample_id: int, status: str) -> _Source:
        return _Source(fallback_key(view, sample_id, self.rules), False, status)


def _linked_search(search: Search, sources: _Sources) -> Search:
    evidence = tuple([_linked_evidence(seen, sources) for seen in search.evidence])
    return search if all(map(is_, evidence, search.evidence)) else Search(search.query, evidence, search.event)


def _linked_evidence(seen: Evidence, sources: _Sources) -> Evidence:
    source = sources.get(seen.event) if seen.event is not None else None
    if source is None:
        return seen
    document = Document(source.key, source.verified, source.refined)
    if seen.document == document and seen.status == source.status and seen.url == document.url:
        return seen
    # By position: there is one for every occurrence, and ``replace`` takes three times as long.
    return Evidence(seen.text, seen.title, document.url, seen.rank, seen.tool, document, seen.event, source.status)


def _listing(event: int, sample_id: int, status: str) -> _Source:
    # Scoped to the rollout: equal result lists must never link unrelated pages across rollouts.
    return _Source(f"search-view:{sample_id}:{event}", True, status)


def _agrees(view: View, parent: _Source, rules: UrlRules) -> bool:
    """Whether what came back can be a part of the parent's source."""
    if view.kind == "search" and parent.url is not None:
        return False
    if view.url is None:
        return True
    if parent.url is None:
        return False
    if view.url == parent.url or refine_url(view.url, rules) == refine_url(parent.url, rules):
        return True
    if view.displayed is None or view.url_field_agrees:
        return False
    displayed = view.displayed.rpartition("/find?pattern=")[0] if view.kind == "find" else view.displayed
    return _shows(displayed, parent.url) or _shows(displayed.partition("#")[0], parent.url)


def _shows(displayed: str, url: str) -> bool:
    if displayed == url and "%" not in url:
        return True
    return normalize_text(displayed) == normalize_text(unquote(url))
