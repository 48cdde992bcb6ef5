"""Tool calls to a rollout: searches with ranked evidence, and pages hung below the search that listed them.

The last step of every chat-like reader. Knows no transcript format and no record fields; documents are named here,
since such logs give addresses or ids outright and need no navigation to establish them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tracerank.answers.exact import normalize_excerpts, normalize_text
from tracerank.answers.text_keys import trimmed
from tracerank.pools.types import BROWSING, WEBQA, Document, Evidence, Rollout, Search
from tracerank.pools.urls import canonical_url
from tracerank.readers.results import Result, blocks_of, is_failure
from tracerank.readers.returns import read_pages, read_search, stated_queries, value_of, without_verdicts
from tracerank.readers.tools import (
    CallKind,
    Target,
    ToolCall,
    ToolNames,
    as_answer,
    asked_in,
    is_never_research,
    kind_of_call,
    names_in_use,
    proposed,
    queries_of,
    submitted_answer,
    targets_of,
)
from tracerank.readers.values import encodable

URL_ONLY = "url_only"
"""Status of evidence whose source is known but whose text the tool did not show."""
_MAX_SHOWN = 4
_MAX_ID = 200
_MIN_LETTERS = 200
"""Of a return that may be evidence."""


def rollout_of(
    calls: Iterable[ToolCall],
    answer: str | None,
    *,
    sample_id: int | None = None,
    label: float | None = None,
    confidence: float | None = None,
    source: str | None = None,
    names: ToolNames | None = None,
) -> Rollout:
    """The rollout of an agent that made these calls, in this order, and gave this answer."""
    searches = searches_of(calls, names)
    has_pages = any(seen.tool != "search" for search in searches for seen in search.evidence)
    return Rollout(
        sample_id=sample_id or 0,
        answer=None if answer is None else encodable(trimmed(answer)),
        searches=searches,
        label=label,
        confidence=confidence,
        setting=BROWSING if has_pages else WEBQA,
        source=source,
    )


def searches_of(calls: Iterable[ToolCall], names: ToolNames | None = None) -> tuple[Search, ...]:
    """The searches among the calls with the evidence that each led to."""
    trail = _Trail()
    for call, kind in _understood(tuple(calls), names):
        if kind == "search":
            trail.add_search(call)
        elif kind != "other":
            trail.add_pages(call, kind)
    return tuple(Search(found.query, tuple(found.evidence)) for found in trail.searches)


def kinds_of(calls: Sequence[ToolCall], names: ToolNames | None = None) -> tuple[CallKind, ...]:
    """What each call does; a tool of an unknown name is a search if it was given words and returned sources, once."""
    kinds = [call.kind or kind_of_call(call.name, call.arguments, names) for call in calls]
    if "other" not in kinds:
        return tuple(kinds)
    unknown = {
        call.name for call, kind in zip(calls, kinds, strict=True) if kind == "other" and _is_unknown(call, names)
    }
    proved = {call.name for call in calls if call.name in unknown and _lists_sources(call)}
    pairs = zip(calls, kinds, strict=True)
    return tuple("search" if kind == "other" and call.name in proved else kind for call, kind in pairs)


def _understood(calls: Sequence[ToolCall], names: ToolNames | None) -> list[tuple[ToolCall, CallKind]]:
    """Each call with what it does; one of an unknown tool opens a page if an earlier search lists what it is given."""
    pairs: list[tuple[ToolCall, CallKind]] = []
    for call, kind in zip(calls, kinds_of(calls, names), strict=True):
        given = _only_id(call.arguments) if kind == "other" and _is_unknown(call, names) else None
        if given and any(before == "search" and given in as_answer(made.output) for made, before in pairs):
            call, kind = replace(call, arguments={"docid": given}), "open"
        pairs.append((call, kind))
    return pairs


def _only_id(arguments: Mapping[str, object]) -> str | None:
    """The one argument of a call that may be an id; None: there is none, or another."""
    given = next(iter(arguments.values())) if len(arguments) == 1 else None
    if not isinstance(given, str) or not 3 < len(given) <= _MAX_ID:
        return None
    return given if any(map(str.isdecimal, given)) and not any(map(str.isspace, given)) else None


def unread(calls: Sequence[ToolCall], searches: Sequence[Search], names: ToolNames | None = None) -> str:
    """What to tell about calls that brought words back and count for nothing; empty: there are none."""
    pairs = _understood(calls, names)
    left = {call.name: call for call, kind in pairs if kind == "other" and _is_unknown(call, names) and _brought(call)}
    if left:
        line = ",".join(proposed(name, call.arguments) for name, call in list(left.items())[:_MAX_SHOWN])
        return f"--tools {line} if these calls are research: {_shown(left)} are not taken for it, here and elsewhere"
    if all(search.evidence for search in searches):
        return ""
    dark = {call.name: call for call, kind in pairs if kind in ("search", "open") and _is_dark(call)}
    return f"what {_shown(dark)} returned is not understood, here and elsewhere" if dark else ""


def _shown(calls: Mapping[str, ToolCall]) -> str:
    shown = [f"{name}({', '.join(list(call.arguments)[:_MAX_SHOWN])})" for name, call in calls.items()]
    return ", ".join(shown[:_MAX_SHOWN]) + (", …" if len(shown) > _MAX_SHOWN else "")


def _is_dark(call: ToolCall) -> bool:
    """Whether research brought back an object with many words in which no result was found."""
    if call.is_error or call.results is not None or call.artifact is not None:
        return False
    value = value_of(call.output)
    if isinstance(value, str) or is_failure(value) or _words_in(value, 6) < _MIN_LETTERS:
        return False
    return not any(_search_blocks(call, ())) and not _page_results(call, ())


def _words_in(value: object, depth: int) -> int:
    """Letters in all texts of a value that have several words."""
    if isinstance(value, str):
        return len(value) if " " in value.strip() else 0
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return sum(_words_in(one, depth - 1) for one in inner) if depth else 0


def _brought(call: ToolCall) -> bool:
    """Whether a call that hands nothing in brought back as many words as a page or its excerpts have."""
    if submitted_answer(call) is not None or call.is_error:
        return False
    return _words_in(value_of(call.output), 6) >= _MIN_LETTERS


def _is_unknown(call: ToolCall, names: ToolNames | None) -> bool:
    return (names or names_in_use()).kind(call.name) is None and not is_never_research(call.name)


def _lists_sources(call: ToolCall) -> bool:
    """Whether a call that was given words brought back several results with a source each, or one with an address."""
    if asked_in(call.arguments) is None or call.is_error or call.output is None:
        return False
    results = [result for block in _search_blocks(call, ()) for result in block]
    named = sum(result.url is not None or bool(result.title and result.text) for result in results)
    return named == len(results) > 1 or (len(results) == 1 and results[0].url is not None)


@dataclass(slots=True)
class _Found:
    """A search whose evidence is still being collected."""

    query: str | None
    evidence: list[Evidence] = field(default_factory=list)


class _Trail:
    """What a rollout has searched and listed so far."""

    def __init__(self) -> None:
        self.searches: list[_Found] = []
        self._listed: dict[str, int] = {}  # document key -> the latest search that listed it
        self._documents: dict[str, Document] = {}  # id in a corpus -> its document
        self._page: Document | None = None  # what an open or find without a target goes on with

    def add_search(self, call: ToolCall) -> None:
        queries = queries_of(call.arguments) or stated_queries(call.output)
        blocks = _search_blocks(call, queries)
        # A batch whose results cannot be told apart stays one search.
        asked = queries if len(blocks) == len(queries) > 1 else (" | ".join(queries),)
        for index, query in enumerate(asked):
            found = _Found(encodable(normalize_text(query)))
            self.searches.append(found)
            for result in blocks[index] if index < len(blocks) else ():
                self._list(result, found)

    def _list(self, result: Result, found: _Found) -> None:
        document = document_of(result)
        evidence = evidence_of(result, "search", document)
        if evidence is None:
            return
        if evidence.rank is None:
            evidence = replace(evidence, rank=len(found.evidence) + 1)
        found.evidence.append(evidence)
        if document is not None:
            self._listed[document.key] = len(self.searches) - 1
            if result.doc_id is not None:
                self._documents[result.doc_id] = document

    def add_pages(self, call: ToolCall, tool: str) -> None:
        targets = targets_of(call.arguments)
        for result in _page_results(call, targets):
            document = self._document(result, targets)
            evidence = evidence_of(result, tool, document)
            if evidence is not None:
                self._page = document
                self._parent(document).evidence.append(replace(evidence, rank=None))

    def _document(self, result: Result, targets: Sequence[Target]) -> Document | None:
        if not targets:
            return document_of(result) or self._page
        only = targets[0] if len(targets) == 1 else None
        if only is not None and only.is_document_id:
            result = replace(result, doc_id=only.value, url=None)
        if result.url is not None or result.doc_id is None:
            return document_of(result)
        # A bare number may be a place in a list: it names a document only where a search listed it as one.
        is_place = only is not None and not only.is_document_id and only.value == result.doc_id
        return self._documents.get(result.doc_id) or (None if is_place else document_of(result))

    def _parent(self, document: Document | None) -> _Found:
        if not self.searches:
            self.searches.append(_Found(None))
        return self.searches[-1 if document is None else self._listed.get(document.key, -1)]


def document_of(result: Result) -> Document | None:
    """The source of a result: its address, else its id in a fixed corpus; None where nothing identifies it."""
    url = canonical_url(result.url)
    if url is not None:
        return Document(f"url:{url}", url=url)
    return None if result.doc_id is None else Document(f"doc:{encodable(normalize_text(result.doc_id))}")


def evidence_of(result: Result, tool: str, document: Document | None) -> Evidence | None:
    """The result as evidence; None when there is nothing to it."""
    title = encodable(normalize_text(result.title)) if result.title else None
    collapse = normalize_excerpts if tool == "find" else normalize_text
    text = encodable(collapse(without_verdicts(result.text)))
    status = None
    if text and tool == "search" and title and not text.startswith("(Title:"):
        # As the paper's chunks show it.
        text = f'(Title: "{title}") {text}'
    if not text:
        cited = encodable(normalize_text(" ".join(dict.fromkeys(result.cited))))
        text = " ".join(filter(None, (title, cited))) or (document.url or "" if document else "")
        status = URL_ONLY
    if not text:
        return None
    url = document.url if document is not None else None
    return Evidence(text, title, url, result.rank, tool, document, status=status)


def _search_blocks(call: ToolCall, queries: Sequence[str]) -> tuple[tuple[Result, ...], ...]:
    if call.results is not None:
        return (call.results,)
    if call.is_error:
        return ()
    kept = blocks_of(call.artifact)
    return (kept[0],) if len(kept) == 1 else kept or read_search(call.output, queries)


def _page_results(call: ToolCall, targets: Sequence[Target]) -> tuple[Result, ...]:
    if call.results is not None:
        return call.results
    if call.is_error:
        return ()
    values = tuple(target.value for target in targets)
    kept = tuple(page for block in blocks_of(call.artifact) for page in block)
    return kept or read_pages(call.output, values)
