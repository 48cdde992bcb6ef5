"""How the tools of the second scenario lay out what they return: as JSON of several services, or as text."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Hit:
    """One result, and the page behind it."""

    title: str
    url: str
    text: str
    """What the search shows."""
    page: tuple[str, ...]
    """Paragraphs of the page."""


Layout = Callable[[str, list[Hit]], object]
"""From a query and its hits to what the tool returns."""


def tavily(query: str, hits: list[Hit]) -> object:
    found = [
        {"title": one.title, "url": one.url, "content": one.text, "score": 0.9, "raw_content": None} for one in hits
    ]
    return {
        "query": query,
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": found,
        "response_time": 0.7,
        "request_id": "0c9a",
    }


def serper(query: str, hits: list[Hit]) -> object:
    found = [
        {"title": one.title, "link": one.url, "snippet": one.text, "position": place}
        for place, one in enumerate(hits, start=1)
    ]
    return {"searchParameters": {"q": query, "type": "search", "engine": "google"}, "organic": found, "credits": 1}


def brave(query: str, hits: list[Hit]) -> object:
    found = [{"title": one.title, "url": one.url, "description": one.text, "language": "en"} for one in hits]
    return {"type": "search", "query": {"original": query}, "web": {"type": "search", "results": found}}


def duckduckgo(query: str, hits: list[Hit]) -> object:
    return [{"title": one.title, "href": one.url, "body": one.text} for one in hits]


def passages(query: str, hits: list[Hit]) -> object:
    """A list of mere texts."""
    return [one.text for one in hits]


def hits_of_index(query: str, hits: list[Hit]) -> object:
    """A home-made knowledge base."""
    found = [{"doc_id": one.url.rsplit("/", 2)[-2], "score": 0.5, "passage": one.text} for one in hits]
    return {"status": "ok", "n": len(found), "hits": found}


def chroma(query: str, hits: list[Hit]) -> object:
    return {
        "ids": [[one.url for one in hits]],
        "documents": [[one.text for one in hits]],
        "metadatas": [[{"source": one.url, "title": one.title} for one in hits]],
        "distances": [[0.1 * place for place in range(len(hits))]],
    }


def langchain_documents(query: str, hits: list[Hit]) -> object:
    return [
        {"id": None, "metadata": {"source": one.url, "title": one.title}, "page_content": one.text, "type": "Document"}
        for one in hits
    ]


def haystack_documents(query: str, hits: list[Hit]) -> object:
    found = [
        {"id": "a1", "content": one.text, "meta": {"url": one.url, "title": one.title}, "score": 1.2} for one in hits
    ]
    return {"documents": found}


def openai_vector_store(query: str, hits: list[Hit]) -> object:
    found = [
        {
            "file_id": "file-1",
            "filename": f"{one.title}.md",
            "score": 0.8,
            "attributes": {"url": one.url},
            "content": [{"type": "text", "text": one.text}],
        }
        for one in hits
    ]
    return {"object": "vector_store.search_results.page", "search_query": [query], "data": found, "has_more": False}


def printed(query: str, hits: list[Hit]) -> object:
    """A list as Python prints it."""
    return str(duckduckgo(query, hits))


def markdown(query: str, hits: list[Hit]) -> object:
    """A heading of the tool, then numbered links."""
    listed = "\n\n".join(f"{place}. [{one.title}]({one.url})\n   {one.text}" for place, one in enumerate(hits, start=1))
    return f'Search results for "{query}":\n\n{listed}' if hits else "No results found."


def bullets(query: str, hits: list[Hit]) -> object:
    return "\n".join(f"- **{one.title}** ({one.url}): {one.text}" for one in hits) or "No results."


def headings(query: str, hits: list[Hit]) -> object:
    return "\n\n".join(f"### {one.title}\n**URL:** {one.url}\n\n{one.text}" for one in hits) or "Nothing was found."


def labelled(query: str, hits: list[Hit]) -> object:
    shown = [f"Title: {one.title}\nURL: {one.url}\nPublished: 2024-05-01\nHighlights: {one.text}" for one in hits]
    return "\n\n".join(shown) or "No results found for your query."


def xml(query: str, hits: list[Hit]) -> object:
    shown = [
        f'<document index="{place}">\n<source>{one.url}</source>\n<title>{one.title}</title>\n'
        f"<document_content>\n{one.text}\n</document_content>\n</document>"
        for place, one in enumerate(hits, start=1)
    ]
    return "<documents>\n" + "\n".join(shown) + "\n</documents>"


def sources(query: str, hits: list[Hit]) -> object:
    """Retrieved passages as many tutorials join them."""
    return "\n\n".join(f"Source: {one.url}\nContent: {one.text}" for one in hits) or "No documents found."


def ruled(query: str, hits: list[Hit]) -> object:
    return "\n\n---\n\n".join(f"[{one.title}]({one.url})\n{one.text}" for one in hits) or "0 results"


def wikipedia(query: str, hits: list[Hit]) -> object:
    return (
        "\n\n".join(f"Page: {one.title}\nSummary: {one.text}" for one in hits)
        or "No good Wikipedia Search Result was found"
    )


def as_json_text(layout: Layout) -> Layout:
    """The same as a JSON text, pretty-printed."""
    return lambda query, hits: json.dumps(layout(query, hits), ensure_ascii=False, indent=2)


def paragraphs(hit: Hit) -> object:
    """A page as markdown."""
    return f"# {hit.title}\n\n" + "\n\n".join(hit.page)


def page_object(hit: Hit) -> object:
    return {"url": hit.url, "title": hit.title, "content": "\n".join(hit.page), "status": 200}


def page_markdown(hit: Hit) -> object:
    """Of a scraper."""
    about: dict[str, Any] = {"title": hit.title, "sourceURL": hit.url, "statusCode": 200}
    return {"success": True, "data": {"markdown": paragraphs(hit), "metadata": about}}
