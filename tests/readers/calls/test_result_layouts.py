"""What search tools return, in every layout that we know: each result is evidence of its own, with title and address.

The layouts are those of the tools; the two results are ours.
"""

import json
from typing import Any

import pytest

from tracerank.readers.calls.returns import read_search

RESULTS = (
    ("Vienna", "https://a.org/vienna", "Vienna lies on the Danube."),
    ("Inn river", "https://b.org/inn", "The Inn joins it at Passau."),
)


def both(between: str, layout: str) -> str:
    """Both results in a layout with ``{n}``, ``{t}``, ``{u}`` and ``{x}``."""
    return between.join(
        layout.format(n=number, t=title, u=url, x=text) for number, (title, url, text) in enumerate(RESULTS, start=1)
    )


def objects(title: str, url: str, text: str, **more: Any) -> list[dict[str, Any]]:
    """Both results under these names."""
    return [{title: one[0], url: one[1], text: one[2], **more} for one in RESULTS]


_ELEMENTS = "<result>\n<title>{t}</title>\n<url>{u}</url>\n<snippet>{x}</snippet>\n</result>"
_ANTHROPIC = (
    '<document index="{n}">\n<source>{u}</source>\n<title>{t}</title>\n<document_content>\n{x}\n</document_content>\n'
    "</document>"
)
_EXA = (
    "Title: {t}\nURL: {u}\nID: {u}\nScore: 0.2\nPublished Date: 2024\nAuthor: None\nImage: None\nFavicon: None\n"
    "Text: {x}\nHighlights: None\nHighlight Scores: None\nSummary: None\n"
)
_DOCUMENT = "Document(id='{n}', metadata={{'source': '{u}', 'title': '{t}', 'page': 3}}, page_content='{x}')"

TEXTS = {
    "a number in brackets, the address below": both("\n\n", "[{n}] {t}\nURL: {u}\n{x}"),
    "a number, the address indented": both("\n", "{n}. {t}\n   {u}\n   {x}"),
    "numbered bold titles": both("\n\n", "{n}. **{t}**\n   URL: {u}\n   {x}"),
    "numbered bold links": both("\n\n", "{n}. **[{t}]({u})**\n{x}"),
    "numbered bold titles, a dash and the address": both("\n\n", "{n}. **{t}** - {u}\n   {x}"),
    "numbered links, a dash and the words": both("\n", "{n}. [{t}]({u}) - {x}"),
    "numbered, the words before the address": both("\n", "{n}. {t} - {x} ({u})"),
    "bold titles": both("\n\n", "**{t}**\n{u}\n{x}"),
    "bullets": both("\n", "- {t} ({u}): {x}"),
    "bullets with links": both("\n", "* [{t}]({u}): {x}"),
    "bullets with links and dashes": both("\n", "- [{t}]({u}) - {x}"),
    "bullets with bold titles, the address last": both("\n", "- **{t}**: {x} ({u})"),
    "headings": both("\n\n", "### {t}\n{u}\n\n{x}"),
    "linked headings": both("\n\n", "### [{t}]({u})\n{x}"),
    "numbered headings": both("\n\n", "## {n}. {t}\n**URL:** {u}\n\n{x}"),
    "a title, a dash and the address": both("\n\n", "{t} - {u}\n{x}"),
    "Result n": both("\n\n", "Result {n}:\nTitle: {t}\nURL: {u}\nSnippet: {x}"),
    "Result n in rules": both("\n\n", "--- Result {n} ---\nTitle: {t}\nURL: {u}\nContent: {x}"),
    "elements": both("\n", _ELEMENTS),
    "elements in a wrapper": f"<results>\n{both(chr(10), _ELEMENTS)}\n</results>",
    "elements with attributes": both("\n", '<result index="{n}" title="{t}" url="{u}">\n{x}\n</result>'),
    "search_result elements": both("\n", _ELEMENTS.replace("result>", "search_result>")),
    "documents with sources": f"<documents>\n{both(chr(10), _ANTHROPIC)}\n</documents>",
    "documents between rules": both("\n\n---\n\n", '<Document href="{u}" title="{t}">\n{x}\n</Document>'),
    "JSON Lines": both("\n", '{{"title": "{t}", "url": "{u}", "snippet": "{x}"}}'),
    "DuckDuckGo's list": both(", ", "snippet: {x}, title: {t}, link: {u}"),
    "DuckDuckGo's list in brackets": both(", ", "[snippet: {x}, title: {t}, link: {u}]"),
    "DuckDuckGo's news": both(", ", "snippet: {x}, title: {t}, link: {u}, date: 2024-01-01T00:00:00, source: News"),
    "DuckDuckGo over MCP": "Found 2 search results:\n\n" + both("\n", "{n}. {t}\n   URL: {u}\n   Summary: {x}\n"),
    "DuckDuckGo of smolagents": "## Search Results\n\n" + both("\n\n", "[{t}]({u})\n{x}"),
    "Source and Content": both("\n\n", "Source: {u}\nTitle: {t}\nContent: {x}"),
    "Source with metadata": both("\n\n", "Source: {{'source': '{u}', 'title': '{t}'}}\nContent: {x}"),
    "Title, URL, Content": both("\n\n", "Title: {t}\nURL: {u}\nContent: {x}"),
    "Title, Link, Snippet between rules": both("\n---\n", "Title: {t}\nLink: {u}\nSnippet: {x}"),
    "Title and URL between long rules": both(f"\n{'=' * 50}\n", "Title: {t}\nURL: {u}\n\n{x}"),
    "Tavily over MCP": "Detailed Results:\n" + both("\n", "\nTitle: {t}\nURL: {u}\nContent: {x}"),
    "Tavily in open_deep_research": "Search results: \n\n"
    + both("\n\n", "\n\n--- SOURCE {n}: {t} ---\nURL: {u}\n\nSUMMARY:\n{x}\n\n" + "-" * 80 + "\n"),
    "Brave over MCP, the address last": both("\n\n", "Title: {t}\nDescription: {x}\nURL: {u}"),
    "Exa over MCP": both("\n\n", "Title: {t}\nAuthor: \nPublished Date: 2024-01-01\nURL: {u}\nText: {x}"),
    "Exa as it prints itself": both("\n\n", _EXA),
    "Jina's search": both("\n\n", "[{n}] Title: {t}\n[{n}] URL Source: {u}\n[{n}] Description: {x}"),
    "Jina's pages": both("\n\n", "Title: {t}\n\nURL Source: {u}\n\nMarkdown Content:\n{x}"),
    "a table": "| Title | URL | Snippet |\n|---|:---|---|\n" + both("\n", "| {t} | {u} | {x} |"),
    "LangChain's documents": f"[{both(', ', _DOCUMENT)}]",
    "LangChain's documents with scores": f"[{both(', ', f'({_DOCUMENT}, 0.87)')}]",
    "LangChain's documents, a line each": both("\n", "page_content='{x}' metadata={{'source': '{u}', 'title': '{t}'}}"),
    "a number in round brackets": both("\n", "({n}) {t}\n{u}\n{x}\n"),
    "a number and a dash": both("\n", "{n} - {t}\n{u}\n{x}"),
    "a number in brackets, then a link": both("\n\n", "[{n}] [{t}]({u})\n{x}"),
    "Document n with title and address in brackets": both("\n\n", "Document {n} (Title: {t}, URL: {u}):\n{x}"),
    "Passage n, the address last": both("\n\n", "Passage {n}: {t}\n{x}\nSource: {u}"),
    "arXiv's, the address last": both(
        "\n\n", "Published: 2020-01-01\nTitle: {t}\nAuthors: A, B\nSummary: {x}\nURL: {u}"
    ),
    "a heading that names the query": "Results for: x\n\n" + both("\n\n", "{n}. {t}\nURL: {u}\n{x}"),
    "YAML": both("\n", '- title: "{t}"\n  link: {u}\n  snippet: "{x}"'),
    "items with descriptions": "<search_results>"
    + both("", "<item><title>{t}</title><link>{u}</link><description>{x}</description></item>")
    + "</search_results>",
    "columns between bars": both("\n", "{t} | {u} | {x}"),
    "columns between tabs": both("\n", "{t}\t{u}\t{x}"),
    "JSON in a fence": f"```json\n{json.dumps(objects('title', 'url', 'content'))}\n```",
    "JSON that is announced": f"Here is what I found:\n{json.dumps(objects('title', 'url', 'content'))}",
    "a list as Python prints it": repr(objects("title", "href", "body")),
}
_CHROMA = {
    "ids": [["1", "2"]],
    "embeddings": None,
    "documents": [[text for _, _, text in RESULTS]],
    "metadatas": [[{"source": url, "title": title} for title, url, _ in RESULTS]],
    "distances": [[0.1, 0.2]],
}
_INDEXED = [{"_index": "web", "_id": str(n), "_source": one} for n, one in enumerate(objects("title", "url", "text"))]
_STORED = [{"id": f"v{n}", "score": 0.9, "payload": one} for n, one in enumerate(objects("title", "url", "text"))]
_ABOUT = [({"title": title, "url": url}, text) for title, url, text in RESULTS]
VALUES: dict[str, Any] = {
    "Tavily": {"query": "q", "answer": None, "images": [], "results": objects("title", "url", "content", score=0.9)},
    "Serper": {"searchParameters": {"q": "q"}, "organic": objects("title", "link", "snippet")},
    "SerpApi": {"search_metadata": {"id": "1"}, "organic_results": objects("title", "link", "snippet")},
    "Exa": {"requestId": "r", "results": objects("title", "url", "text", author=None, highlights=["h"])},
    "Brave": {"type": "search", "web": {"type": "search", "results": objects("title", "url", "description")}},
    "Brave in LangChain": objects("title", "link", "snippet"),
    "Brave, an object a part": [
        {"type": "text", "text": json.dumps(one)} for one in objects("title", "url", "description")
    ],
    "Bing": {"_type": "SearchResponse", "webPages": {"value": objects("name", "url", "snippet")}},
    "Google": {"kind": "customsearch#search", "items": objects("title", "link", "snippet", displayLink="a.org")},
    "SearXNG": {"query": "q", "results": objects("title", "url", "content", engine="g")},
    "Firecrawl": {"success": True, "data": {"web": objects("title", "url", "description")}},
    "You.com": {"hits": [{"title": t, "url": u, "description": "", "snippets": [x]} for t, u, x in RESULTS]},
    "Chroma": _CHROMA,
    "Elasticsearch": {"took": 3, "hits": {"total": {"value": 2}, "max_score": 1.0, "hits": _INDEXED}},
    "Qdrant": {"result": _STORED, "status": "ok", "time": 0.1},
    "Pinecone": {"matches": [{**one, "metadata": one["payload"]} for one in _STORED], "namespace": ""},
    "Weaviate": {"data": {"Get": {"Page": objects("title", "url", "content")}}},
    "LlamaIndex": [
        {"node": {"id_": text[:3], "metadata": about, "text": text}, "score": 0.8} for about, text in _ABOUT
    ],
    "haystack": {"documents": [{"id": text[:3], "content": text, "meta": about} for about, text in _ABOUT]},
    "MediaWiki": {
        "batchcomplete": "",
        "query": {"searchinfo": {"totalhits": 2}, "search": objects("title", "u", "snippet")},
    },
    "NewsAPI": {"status": "ok", "articles": objects("title", "url", "description", content="…")},
    "names of one's own": {"state": 200, "found": {"entries": objects("headline", "permalink", "blurb")}},
    "camel case": {"searchResults": objects("pageTitle", "pageUrl", "pageContent")},
    "Solr": {"response": {"numFound": 2, "docs": [{"title": [t], "url": [u], "text": [x]} for t, u, x in RESULTS]}},
    "Bedrock": {
        "retrievalResults": [
            {"content": {"text": x, "type": "TEXT"}, "location": {"web": {"url": u}}, "metadata": {"title": t}}
            for t, u, x in RESULTS
        ]
    },
    "Vertex": {
        "results": [
            {"document": {"derivedStructData": {"title": t, "link": u, "snippets": [{"snippet": x}]}}}
            for t, u, x in RESULTS
        ]
    },
    "by number": {str(n): one for n, one in enumerate(objects("title", "url", "text"))},
    "by address": {u: {"title": t, "content": x} for t, u, x in RESULTS},
}


def found(output: object) -> list[tuple[str | None, str | None, str]]:
    return [(one.title, one.url, one.text.strip()) for block in read_search(output) for one in block]


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_results_laid_out_in_a_text_are_told_apart(name: str) -> None:
    assert found(TEXTS[name]) == list(RESULTS)


@pytest.mark.parametrize("name", sorted(VALUES))
@pytest.mark.parametrize("encode", [json.dumps, repr, lambda value: value])
def test_results_in_the_json_of_a_tool_are_told_apart(name: str, encode: Any) -> None:
    assert found(encode(VALUES[name])) == list(RESULTS)


def test_an_address_at_the_end_counts_only_where_every_result_has_one() -> None:
    text = both("\n\n", "Title: {t}\nDescription: {x}") + "\nURL: https://evil.org/"
    assert [url for _, url, _ in found(text)] == [None, None]


def test_a_title_with_a_dash_is_a_title() -> None:
    text = "1. Vienna - Wikipedia (https://a.org/vienna)\n2. Inn: a river (https://b.org/inn)"
    assert [title for title, _, _ in found(text)] == ["Vienna - Wikipedia", "Inn: a river"]


def test_a_table_without_addresses_is_text() -> None:
    text = "| City | River |\n|---|---|\n| Vienna | Danube |\n| Innsbruck | Inn |"
    assert len(found(text)) == 1
