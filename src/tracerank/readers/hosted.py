"""Tools that run at the vendor: what a hosted search looked for, which pages it showed, and which words rest on them.

OpenAI, Anthropic, Google and those who pass their replies on log neither a call of ours nor, mostly, the pages' texts:
evidence is a title, an address and the words that cite it. Takes one object at a time, under plain keys.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.pools.urls import canonical_url
from tracerank.readers.events import Called
from tracerank.readers.results import Result, blocks_of, cited_results, flat_text
from tracerank.readers.tools import CallKind, parse_arguments
from tracerank.readers.values import part_text, whole_number
from tracerank.readers.vocabulary import plain_fields

FILE_SEARCH = "file_search"
_KINDS: Mapping[str, CallKind] = {"web_search": "search", "web_fetch": "open"}
"""Hosted tools that research; the others run code or look for tools."""
_OPENED, _FOUND = ("open_page", "open"), ("find_in_page", "find")
_ASKED = ("type", "query", "queries", "url")
_FAILED = ("failed", "incomplete")
MAX_SPANS = 20
"""Of one page; every search that lists it repeats them."""


def hosted_call(kind: str, fields: Mapping[str, Any]) -> Called | None:
    """The call that an object of this kind is; None: it is none of a hosted tool."""
    name = fields.get("name")
    if kind in ("websearchcall", "websearch", "websearchend"):
        action = fields.get("action")
        asked = action if isinstance(action, Mapping) and any(map(action.get, _ASKED)) else fields
        if kind != "websearchcall" and not any(map(asked.get, _ASKED[1:])):
            return None  # where it only begins
        return _web_call(asked, fields.get("results"), is_error=fields.get("status") in _FAILED)
    if kind == "filesearchcall":
        shown = () if fields.get("status") in _FAILED else _flat(fields.get("results"))
        return Called(FILE_SEARCH, {"queries": fields.get("queries")}, kind="search", results=shown)
    if kind == "servertooluse" and isinstance(name, str):
        return Called(name, fields.get("input"), kind=_KINDS.get(name, "other"), results=())
    if kind == "servertoolcall" and isinstance(name, str):
        return _server_call(name, fields)
    return None


def _web_call(action: Mapping[str, Any], results: object = None, *, is_error: bool = False) -> Called:
    """A search, a page or a find by its action; logs without actions are of searches."""
    kind, url = action.get("type"), action.get("url")
    if kind in (*_OPENED, *_FOUND):
        page = (Result(url=url),) if not is_error and canonical_url(url) is not None else ()
        if kind in _OPENED:
            return Called("open_page", {"url": url}, kind="open", results=page)
        return Called("find_in_page", {"url": url, "pattern": action.get("pattern")}, kind="find", results=page)
    queries = action.get("queries")
    asked = queries if isinstance(queries, list) and queries else action.get("query")
    shown = () if is_error else _pages_in(results) or _pages_in(action.get("sources"))
    return Called("web_search", {"query": asked}, kind="search", results=shown)


def _server_call(name: str, fields: Mapping[str, Any]) -> Called:
    """LangChain's spelling of any vendor's call."""
    given, extras = fields.get("args"), fields.get("extras")
    if name == "web_search":
        return _web_call(given if isinstance(given, Mapping) else {})
    if name == "remote_mcp":
        extra = extras if isinstance(extras, Mapping) else {}
        called = extra.get("tool_name")
        return Called(called if isinstance(called, str) else "", given if given is not None else extra.get("arguments"))
    if name == FILE_SEARCH:
        return Called(name, parse_arguments(given), kind="search", results=())
    return Called(name, given, kind=_KINDS.get(name, "other"), results=())


# ---- what came back


def is_hosted_result(kind: str) -> bool:
    """Whether an object of this kind is what a hosted tool returned."""
    return kind.endswith("toolresult") and kind not in ("toolresult", "mcptoolresult")


def hosted_results(content: object) -> tuple[Result, ...] | None:
    """The pages that a hosted search listed or read; None: a text, which is read like any other return."""
    if isinstance(content, str):
        return None
    if isinstance(content, Mapping):
        if isinstance(content.get("sources"), list):
            return _pages_in(content["sources"])
        return (_fetched(content),) if content.get("type") == "web_fetch_result" else ()
    found = [item for item in content if isinstance(item, Mapping)] if isinstance(content, list) else []
    if any(isinstance(item.get("text"), str) for item in found):
        return None
    return tuple(
        Result(title=_string(item.get("title")), url=_string(item.get("url")), rank=rank)
        for rank, item in enumerate(found, start=1)
        if item.get("type") == "web_search_result"
    )


def plain_sources(content: list[Any]) -> list[Any]:
    """Parts of a return, with search results, documents and cited pages in the shape that all tools share."""
    if not any(isinstance(one, Mapping) and (one.get("type") in _SOURCES or _quoted(one)) for one in content):
        return content
    if quoted := [each for one in content if isinstance(one, Mapping) for each in _quoted(one)]:
        return quoted  # the pages are what came back, not the text about them
    return list(_plain(content))


_SOURCES = ("search_result", "document")


def _plain(content: list[Any]) -> Iterator[dict[str, Any]]:
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "search_result":
            source = _string(block.get("source"))
            key = "url" if canonical_url(source) is not None else "docid"
            yield {"title": _string(block.get("title")), key: source, "text": flat_text(block.get("content"))}
        elif kind == "document":
            text, url = _document(block)
            yield {"title": _string(block.get("title")), "url": url, "text": text}
        elif kind == "text":
            yield {"text": part_text(dict(block))}


def _quoted(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    cited = part.get("citations")
    return [
        {"title": each.get("title"), "url": each.get("url"), "text": each["cited_text"]}
        for each in (cited if isinstance(cited, list) else ())
        if isinstance(each, Mapping) and each.get("type") == "url" and isinstance(each.get("cited_text"), str)
    ]


def _fetched(content: Mapping[str, Any]) -> Result:
    document = content.get("content")
    page: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    return Result(_document(page)[0], _string(page.get("title")), _string(content.get("url")))


def _document(block: Mapping[str, Any]) -> tuple[str, str | None]:
    """Text and address of a document; files in base64 have no text that could be read here."""
    source = block.get("source")
    if not isinstance(source, Mapping):
        return "", None
    text = source.get("data") if source.get("type") == "text" else flat_text(source.get("content"))
    return text if isinstance(text, str) else "", _string(source.get("url"))


def _flat(results: object) -> tuple[Result, ...]:
    return tuple(found for block in blocks_of(results if isinstance(results, list) else None) for found in block)


def _pages_in(sources: object) -> tuple[Result, ...]:
    """The listed addresses; sources that are services, not pages, have none."""
    return tuple(found for found in _flat(sources) if found.url is not None)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


# ---- what the words of an answer cite


def cited_in(text: str, about: Mapping[str, Any]) -> tuple[Result, ...]:
    """The web pages and files that a text cites, according to the object that it stands in."""
    annotations = about.get("annotations") or about.get("citations")
    if not isinstance(annotations, list) or not annotations:
        return ()
    return (*cited_results(text, annotations), *_cited_files(annotations))


def _cited_files(annotations: list[Any]) -> Iterator[Result]:
    for annotation in annotations:
        if isinstance(annotation, Mapping) and annotation.get("type") == "file_citation":
            name, identity = annotation.get("filename"), annotation.get("file_id")
            if isinstance(identity, str) and identity:
                yield Result(title=name if isinstance(name, str) else None, doc_id=identity)


# ---- Google's grounding, which Gemini, Vertex AI and ADK keep beside the words of a message


def grounded_call(metadata: object) -> Called | None:
    """The search that a message rests on; None: there was none."""
    if not isinstance(metadata, Mapping):
        return None
    fields = plain_fields(metadata)
    queries = [one for one in _listed(fields.get("websearchqueries")) if isinstance(one, str) and one.strip()]
    pages = tuple(_grounding_pages(fields))
    return Called("google_search", {"queries": queries}, kind="search", results=pages) if queries or pages else None


def _grounding_pages(fields: Mapping[str, Any]) -> Iterator[Result]:
    cited = _supported(fields.get("groundingsupports"))
    for index, chunk in enumerate(_listed(fields.get("groundingchunks"))):
        # The key around it tells where the page is from.
        inner = chunk.values() if isinstance(chunk, Mapping) else ()
        about = plain_fields(next((one for one in inner if isinstance(one, Mapping)), {}))
        title, url, text = _string(about.get("title")), _string(about.get("uri", about.get("url"))), about.get("text")
        if title is not None or url is not None:
            spans = tuple(cited.get(index, ())[:MAX_SPANS])
            yield Result(text if isinstance(text, str) else "", title, url, rank=index + 1, cited=spans)


def _supported(supports: object) -> dict[int, list[str]]:
    """The sentences that rest on each chunk, by its index."""
    found: dict[int, list[str]] = {}
    for support in _listed(supports):
        fields = plain_fields(support) if isinstance(support, Mapping) else {}
        segment = fields.get("segment")
        text = segment.get("text") if isinstance(segment, Mapping) else None
        for index in _listed(fields.get("groundingchunkindices")):
            if isinstance(text, str) and (number := whole_number(index)) is not None:
                found.setdefault(number, []).append(text)
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
