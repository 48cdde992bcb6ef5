"""Citations that hosted searches leave in an answer, as results: address, title, and the words that cite it.

Such tools never log the text of a page; what the answer cites is all there is to know about it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tracerank.pools.urls import canonical_url
from tracerank.readers.calls.results import Result
from tracerank.readers.values import encodable, whole_number

_LONGEST_SPAN = 300


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


def with_citations(results: Iterable[Result], cited: Iterable[Result]) -> tuple[Result, ...]:
    """The results with the spans that cite them; sources that only a citation names follow at the end."""
    rest = {canonical_url(result.url): result for result in cited}
    merged: list[Result] = []
    for result in results:
        also = rest.pop(canonical_url(result.url), None) if result.url else None
        if also is not None:
            result = replace(result, title=result.title or also.title, cited=(*result.cited, *also.cited))
        merged.append(result)
    return (*merged, *rest.values())


def _span(text: str, fields: Mapping[str, object]) -> str:
    """The quoted words of the page, else the sentence of the answer that the citation stands in."""
    quoted = fields.get("cited_text")
    if isinstance(quoted, str) and quoted.strip():
        return encodable(quoted.strip()[:_LONGEST_SPAN])
    bounds = (
        quoted
        if isinstance(quoted, list) and len(quoted) == 2
        else (fields.get("start_index"), fields.get("end_index"))
    )
    start, end = whole_number(bounds[0]), whole_number(bounds[1])
    if start is None or end is None or not 0 <= start <= end <= len(text):
        return ""
    before = text[max(0, start - _LONGEST_SPAN) : start]
    # From the end of the sentence before: the index range is often that of the link alone.
    cut = max(before.rfind(mark, 0, max(0, len(before.rstrip()) - 1)) for mark in (". ", "! ", "? ", "\n", ") "))
    link = text[start:end] if "](" not in text[start:end] else ""
    return encodable((before[cut + 1 :] + link).strip(" ([\n")[-_LONGEST_SPAN:])
