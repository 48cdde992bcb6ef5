"""Google's grounding: what a hosted search looked for, the pages that it listed, and which words rest on them.

Gemini's replies, Vertex AI and ADK's events keep it beside the words of a message, in either spelling. The pages' texts
are not logged: evidence is a title, an address and the sentences that cite it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.readers.events import Called
from tracerank.readers.results import Result
from tracerank.readers.shapes import fields_of
from tracerank.readers.values import whole_number

_NAME = "google_search"
_MOST_SPANS = 20
"""Of one page."""


def grounded_call(metadata: object) -> Called | None:
    """The search that a message rests on; None: there was none."""
    if not isinstance(metadata, Mapping):
        return None
    fields = fields_of(metadata)
    queries = [one for one in _listed(fields.get("websearchqueries")) if isinstance(one, str) and one.strip()]
    pages = list(_pages(fields))
    if not queries and not pages:
        return None
    return Called(_NAME, {"queries": queries}, kind="search", results=tuple(pages))


def _pages(fields: Mapping[str, Any]) -> Iterator[Result]:
    cited = _cited(fields.get("groundingsupports"))
    for place, chunk in enumerate(_listed(fields.get("groundingchunks"))):
        about = _page(chunk)
        title, url = about.get("title"), about.get("uri", about.get("url"))
        if isinstance(title, str) or isinstance(url, str):
            yield Result(
                text=text if isinstance(text := about.get("text"), str) else "",
                title=title if isinstance(title, str) else None,
                url=url if isinstance(url, str) else None,
                rank=place + 1,
                cited=tuple(cited.get(place, ())[:_MOST_SPANS]),
            )


def _page(chunk: object) -> Mapping[str, Any]:
    """What a chunk says about its page; the key around it tells where the page is from."""
    if not isinstance(chunk, Mapping):
        return {}
    inner = next((one for one in chunk.values() if isinstance(one, Mapping)), chunk)
    return fields_of(inner)


def _cited(supports: object) -> dict[int, list[str]]:
    """The sentences that rest on each chunk, by its place."""
    found: dict[int, list[str]] = {}
    for support in _listed(supports):
        fields = fields_of(support) if isinstance(support, Mapping) else {}
        segment = fields.get("segment")
        text = segment.get("text") if isinstance(segment, Mapping) else None
        for place in _listed(fields.get("groundingchunkindices")):
            if isinstance(text, str) and (number := whole_number(place)) is not None:
                found.setdefault(number, []).append(text)
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
