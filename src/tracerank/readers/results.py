"""What a tool returned, piece by piece: one search result or page, read from the JSON shapes that tools use.

Reads structured values only; texts are read in ``returns.py``. Page text stands in string fields and is never searched
for structure here, so that it cannot pretend to be another result. Citations that hosted searches leave in an answer
are results, too: address, title, and the words that cite it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracerank.pools.urls import canonical_url
from tracerank.readers.values import encodable, plain_text, whole_number

_MAX_DEPTH = 6
_LIST_KEYS = (
    *("results", "result", "organic", "organic_results", "documents", "docs", "items", "hits", "search_results"),
    *("webPages", "web", "news", "data", "value", "retrieved_documents", "passages", "sources", "pages", "output"),
    *("matches", "points"),
)
_TEXT_KEYS = (
    *("text", "page_content", "raw_content", "extracted_info", "content", "contents", "markdown", "passage", "chunk"),
    *("snippet", "snippets", "extra_snippets", "highlights", "body", "description", "abstract", "summary", "answer"),
)
_TITLE_KEYS = ("title", "name", "heading", "filename")
_URL_KEYS = ("url", "link", "href", "uri", "source_url", "page_url", "source", "id")
_DOCUMENT_KEYS = ("docid", "doc_id", "document_id", "file_id")
_METADATA_KEYS = ("metadata", "meta", "kwargs", "document", "node", "extra", "_source", "payload", "entity")
# Boxes that a search engine shows beside its ranked results.
_BOX_KEYS = ("answerBox", "answer_box", "knowledgeGraph", "knowledge_graph")
_TITLE_WORD = re.compile(r"title|headline|heading|(?:^|_)name|keyword|subject$", re.I)
_TEXT_WORD = re.compile(
    r"text|content|snippet|abstract|description|summary|body|passage|paragraph|chunk|blurb|excerpt|extract|lead|quote",
    re.I,
)
_MIN_BLANKS = 5
"""In the words of a result under a key that says nothing."""
_TEXT_COLUMNS = frozenset(
    (
        *("documents", "docs", "texts", "contents", "passages", "bodies", "abstracts", "descriptions", "summaries"),
        *("chunks", "page_contents", "page_content", "text", "content", "passage", "snippet", "body", "snippets"),
    )
)
"""Lists of texts, as they stand beside lists of ids, titles and addresses."""
Named = tuple[str, str | None, str | None]
"""Words, title, address."""
_QUOTED_TITLE = re.compile(r'"([^"\n]{1,300}(?:""[^"\n]{0,300}){0,20})"[ \t]*\n')
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:(?!title:|---)[^\n]{0,500}\n){0,10}title:[ \t]*([^\n]{1,500})\n")


@dataclass(frozen=True, slots=True)
class Result:
    """One search result, or one page that was opened or searched within."""

    text: str = ""
    """What the agent saw of it, as logged. Empty: the tool shows sources without their text."""
    title: str | None = None
    url: str | None = None
    """As logged."""
    doc_id: str | None = None
    """Id in a fixed corpus, the same in every rollout; None also where ids only number the results of one return."""
    rank: int | None = None
    """1-based position in the return."""
    cited: tuple[str, ...] = ()
    """Spans that the answer quotes from it; they stand in where there is no text."""


def is_failure(value: object) -> bool:
    """Whether a structured return says that the call failed and holds nothing else."""
    if not isinstance(value, Mapping):
        return False
    failed = bool(value.get("error")) or value.get("success") is False or value.get("status") in ("error", "failed")
    return failed and not any(isinstance(value.get(key), list) and value[key] for key in _LIST_KEYS)


def blocks_of(value: object) -> tuple[tuple[Result, ...], ...]:
    """The results in a structured return, one block per query where it keeps them apart; empty: not understood."""
    return tuple(block for block in _blocks(value, _MAX_DEPTH) if block)


def _blocks(value: object, depth: int) -> list[tuple[Result, ...]]:
    if depth == 0 or is_failure(value):
        return []
    if isinstance(value, list):
        if value and all(isinstance(item, list) for item in value):
            return [block for item in value for block in _blocks(item, depth - 1)]
        if value and all(_holds_results(item) for item in value):
            # One object around the results of each query.
            return [block for item in value for block in _blocks(item, depth - 1)]
        return [_ranked(value)]
    if not isinstance(value, Mapping):
        return []
    if (columns := _columns(value)) is not None:
        return [_ranked(rows) for rows in columns]
    listed = _listing(value)
    if listed is None:
        return [_ranked([value])]
    blocks = _blocks(listed, depth - 1)
    boxes = [box for key in _BOX_KEYS if isinstance(box := value.get(key), Mapping)]
    if boxes and len(blocks) <= 1:
        blocks = [_ranked([*(listed if isinstance(listed, list) else ()), *boxes])]
    return blocks


def _columns(value: Mapping[str, Any]) -> list[list[dict[str, Any]]] | None:
    """The rows of lists that stand beside each other, ``{"titles": […], "urls": […]}``, per query or not."""
    names, rows = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        return [[dict(zip(map(str, names), row, strict=False)) for row in rows]]
    lists = {key: list(inner.values()) if isinstance(inner, Mapping) else inner for key, inner in value.items()}
    texts = next((lists[key] for key in lists if key in _TEXT_COLUMNS and isinstance(lists[key], list)), None)
    beside = {key: one for key, one in lists.items() if isinstance(one, list) and texts and len(one) == len(texts)}
    if len(beside) < 2:
        return None
    if all(isinstance(item, list) for inner in beside.values() for item in inner):  # a list a query
        queries = [_columns(dict(zip(beside, row, strict=True))) for row in zip(*beside.values(), strict=True)]
        return [rows for found in queries for rows in found or ()]
    if not all(isinstance(text, str) for text in texts or ()):
        return None
    plain = ["text" if beside[key] is texts else key.removesuffix("s") for key in beside]
    return [[dict(zip(plain, row, strict=True)) for row in zip(*beside.values(), strict=True)]]


def _listing(value: Mapping[str, Any]) -> object:
    """The list of results inside an object; None when the object itself is one."""
    for key in _LIST_KEYS:
        inner = value.get(key)
        if isinstance(inner, list) and any(isinstance(item, Mapping | list | str) for item in inner):
            return inner
        if isinstance(inner, Mapping) and (_holds_results(inner) or _columns(inner) or _result(inner, None)):
            return inner
        if isinstance(inner, Mapping) and (rows := _keyed_results(inner)) is not None:
            return rows
    if len(value) == 1:  # as in GraphQL's {"data": {"Get": {"Page": [...]}}}
        (only,) = value.values()
        if (isinstance(only, Mapping) and len(only) == 1) or (isinstance(only, list) and _are_objects(only)):
            return only
    if (rows := _keyed_results(value)) is not None:
        return rows
    own = _result(value, None)
    lists = [] if own is not None and own.text else list(_lists_of_results(value, _MAX_DEPTH))
    return lists[0] if len(lists) == 1 else None


def _keyed_results(value: Mapping[str, Any]) -> list[Any] | None:
    """Results as the values of an object, under numbers, ids, titles or addresses; None: it is something else."""
    if len(value) < 2:
        return None
    if all(isinstance(inner, str) and " " in inner.strip() for inner in value.values()):
        return [_keyed_text(key, text) for key, text in value.items()] if all(map(_names_result, value)) else None
    if not _are_objects(list(value.values())):
        return None
    rows = [{"url": key, **inner} if canonical_url(key) is not None else inner for key, inner in value.items()]
    found = [_result(row, None) for row in rows]
    return rows if all(one is not None and one.text and (one.title or one.url) for one in found) else None


def _names_result(key: str) -> bool:
    """Whether a key is an id, a title or an address rather than the name of a field."""
    return any(char.isdecimal() or char.isspace() or char.isupper() for char in key) or canonical_url(key) is not None


def _keyed_text(key: str, text: str) -> dict[str, str]:
    if canonical_url(key) is not None:
        return {"url": key, "text": text}
    is_id = not any(map(str.isspace, key)) and any(map(str.isdecimal, key))
    return {"id" if is_id else "title": key, "text": text}


def _lists_of_results(value: Mapping[str, Any], depth: int) -> Iterator[list[Any]]:
    """Lists inside an object, whatever they are called, of which every item has words and says whose they are."""
    for inner in value.values():
        if isinstance(inner, list) and _are_objects(inner):
            found = [_result(item, None) for item in inner]
            if all(one is not None and one.text and (one.title or one.url or one.doc_id) for one in found):
                yield inner
        elif isinstance(inner, Mapping) and depth:
            yield from _lists_of_results(inner, depth - 1)


def _are_objects(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, Mapping) for item in items)


def _holds_results(value: object) -> bool:
    return isinstance(value, Mapping) and any(isinstance(value.get(key), list) and value[key] for key in _LIST_KEYS)


def _ranked(items: Sequence[object]) -> tuple[Result, ...]:
    ids = [_plain_id(item) for item in items]
    # Ids that only count the results of one return would tie unrelated documents together.
    if ids in ([*map(str, range(len(ids)))], [*map(str, range(1, len(ids) + 1))]):
        ids = [None] * len(ids)
    results = (_result(item, rank, name) for rank, (item, name) in enumerate(zip(items, ids, strict=True), start=1))
    return tuple(result for result in results if result is not None)


def _plain_id(item: object) -> str | None:
    """What an item calls its id without saying whose."""
    holders = _holders(item) if isinstance(item, Mapping) else []
    return next(filter(None, (_first(holder, ("id", "_id")) for holder in holders)), None)


def _holders(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The item and the objects inside it that say more about it."""
    holders = [item, *(inner for key in _METADATA_KEYS if key in item and isinstance(inner := item[key], Mapping))]
    # LangChain keeps metadata inside its kwargs.
    return holders + [inner for holder in holders[1:] if isinstance(inner := holder.get("metadata"), Mapping)]


def result_in(fields: Mapping[str, Any]) -> Result | None:
    """The one result that an object is; None: neither words nor a source."""
    return _result(fields, None)


def _result(item: object, rank: int | None, plain_id: str | None = None) -> Result | None:
    if isinstance(item, str):
        return Result(encodable(item), rank=rank) if item.strip() else None
    if not isinstance(item, Mapping) or is_failure(item):
        return None
    holders = _holders(item)
    text = next(filter(None, (_text(holder) for holder in holders)), "")
    title = next(filter(None, (_first(holder, _TITLE_KEYS) for holder in holders)), None)
    url = next(filter(None, (_url(holder) for holder in holders)), None)
    doc_id = next(filter(None, (_first(holder, _DOCUMENT_KEYS) for holder in holders)), None)
    if doc_id is None and url is None:
        doc_id = plain_id
    if not text or url is None or title is None:
        text, title, url = _by_shape(item, text, title, url)
    if not text and url is None and doc_id is None:
        return None
    return with_title(Result(text, title, url, doc_id, rank))


def _by_shape(item: Mapping[str, Any], text: str, title: str | None, url: str | None) -> Named:
    """What an item says under names that no table has: an address is known by itself, words and titles by their key."""
    flat = list(_flattened(item, 3))
    url = url or next((one for _, one in flat if canonical_url(one.strip()) is not None), None)
    title = title or next((one.strip() for key, one in flat if _TITLE_WORD.search(key) and len(one) < 300), None)
    if not text and (title is not None or url is not None):
        spoken = [(key, one) for key, one in flat if " " in one.strip() and one.strip() != title]
        named = [one for key, one in spoken if _TEXT_WORD.search(key)]
        text = encodable(max(named or [one for _, one in spoken if one.count(" ") >= _MIN_BLANKS], key=len, default=""))
    return text, title, url


def _flattened(item: Mapping[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    """All texts of an item with their keys; a list of one text is that text."""
    for key, value in item.items():
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str):
            yield str(key), value
        elif isinstance(value, Mapping) and depth:
            yield from _flattened(value, depth - 1)


def with_title(result: Result) -> Result:
    """The result with the title that its text begins with: a quoted first line, or front matter."""
    if result.title is not None:
        return result
    if quoted := _QUOTED_TITLE.match(result.text):
        return replace(result, title=quoted[1].replace('""', '"').strip(), text=result.text[quoted.end() :])
    front = _FRONT_MATTER.match(result.text)
    return result if front is None else replace(result, title=front[1].strip())


def _text(holder: Mapping[str, Any]) -> str:
    for key in _TEXT_KEYS:
        if key in holder:
            text = flat_text(holder[key])
            if any(map(str.isalnum, text)):
                return encodable(text)
    return ""


def flat_text(value: object, depth: int = 3) -> str:
    """All text of a string, a content part or a list of them, in order."""
    if isinstance(value, str):
        return value
    if depth == 0:
        return ""
    if isinstance(value, Mapping):
        return next(filter(None, (flat_text(value.get(key), depth - 1) for key in ("text", "content", "data"))), "")
    if isinstance(value, list):
        return "\n".join(filter(None, (flat_text(item, depth - 1) for item in value)))
    return ""


def _first(holder: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        text = plain_text(holder[key]) if key in holder else None
        if text is not None and text.strip():
            return encodable(text.strip())
    return None


def _url(holder: Mapping[str, Any]) -> str | None:
    for key in _URL_KEYS:
        value = holder.get(key)
        if isinstance(value, str) and canonical_url(value.strip()) is not None:
            return value.strip()
    return None


_MAX_SPAN = 300


def cited_results(text: str, annotations: object) -> tuple[Result, ...]:
    """One result per cited address, in order of first citation; ``text`` is what the annotations belong to."""
    found: dict[str, Result] = {}
    for annotation in annotations if isinstance(annotations, list) else ():
        if not isinstance(annotation, Mapping):
            continue
        nested = annotation.get("url_citation")
        fields = nested if isinstance(nested, Mapping) else annotation
        url = fields.get("url")
        key = canonical_url(url)
        if key is None or not isinstance(url, str):
            continue
        title = fields.get("title")
        known = found.get(key) or Result(title=title if isinstance(title, str) else None, url=url)
        span = _span(text, fields)
        found[key] = replace(known, cited=(*known.cited, span)) if span else known
    return tuple(found.values())


def _span(text: str, fields: Mapping[str, object]) -> str:
    """The quoted words of the page, else the sentence of the answer that the citation stands in."""
    quoted = fields.get("cited_text")
    if isinstance(quoted, str) and quoted.strip():
        return encodable(quoted.strip()[:_MAX_SPAN])
    bounds = (
        quoted
        if isinstance(quoted, list) and len(quoted) == 2
        else (fields.get("start_index"), fields.get("end_index"))
    )
    start, end = whole_number(bounds[0]), whole_number(bounds[1])
    if start is None or end is None or not 0 <= start <= end <= len(text):
        return ""
    before = text[max(0, start - _MAX_SPAN) : start]
    # From the end of the sentence before: the index range is often that of the link alone.
    cut = max(before.rfind(mark, 0, max(0, len(before.rstrip()) - 1)) for mark in (". ", "! ", "? ", "\n", ") "))
    link = text[start:end] if "](" not in text[start:end] else ""
    return encodable((before[cut + 1 :] + link).strip(" ([\n")[-_MAX_SPAN:])
