"""What search tools return as text or JSON: each result is evidence of its own, in every layout that we know.

The layouts are those of the tools; the two results are ours.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.readers.returns import read_search
from tracerank.readers.text_results import laid_out

RESULTS = (
    ("Vienna", "https://a.org/vienna", "Vienna lies on the Danube."),
    ("Inn river", "https://b.org/inn", "The Inn joins it at Passau."),
)


def both(between: str, layout: str) -> str:
    """Both results in a layout with ``{n}``, ``{t}``, ``{u}`` and ``{x}``."""
    return between.join(
        layout.format(n=number, t=title, u=url, x=text, q='"')
        for number, (title, url, text) in enumerate(RESULTS, start=1)
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
    # without addresses or titles, as people write them
    "a number under a heading that is no sentence": "Web search for rivers\n\n" + both("\n\n", "({n}) {t}\n{u}\n{x}"),
    "numbers under a heading of Markdown": "## Results\n" + both("\n", "({n}) {t} ({u}): {x}"),
    "numbered headings with a bracket": both("\n\n", "### {n}) {t}\n{u}\n{x}"),
    "hash and number": both("\n\n", "#{n} {t}\n{u}\n{x}"),
    "hits": both("\n\n", "Hit {n}: {t}\n{u}\n{x}"),
    "elements of one's own": "<hits>"
    + both("", "<hit><name>{t}</name><href>{u}</href><blurb>{x}</blurb></hit>")
    + "</hits>",
    "elements inside a response": "<?xml version='1.0'?>\n<response>\n <query>q</query>\n <results>\n"
    + both("\n", "<entry id='{n}'>\n <headline>{t}</headline>\n <link>{u}</link>\n <abstract>{x}</abstract>\n</entry>")
    + "\n </results>\n</response>",
    "elements with words under a name of one's own": both(
        "", "<hit><where>{u}</where><head>{t}</head><words>{x}</words></hit>"
    ).replace("head>", "heading>"),
    "titles and addresses between rules": both("\n---\n", "{t}\n{u}\n{x}"),
    "bold titles, a bare address last": both("\n\n", "**{t}**\n{x}\n{u}"),
    "a feed": "<feed>"
    + both("\n", '<entry><title>{t}</title><link href="{u}"/><summary>{x}</summary></entry>')
    + "</feed>",
    "YAML with block texts": "results:\n"
    + both("\n", "  - headline: {t}\n    permalink: {u}\n    blurb: >\n      {x}"),
    "YAML below the query": "query: q\nresults:\n" + both("\n", "- title: {t}\n  url: {u}\n  text: {x}"),
    "tab-separated values": "title\turl\ttext\n" + both("\n", "{t}\t{u}\t{x}"),
    "tab-separated values with ranks": "rank\ttitle\tlink\tsnippet\n" + both("\n", "{n}\t{t}\t{u}\t{x}"),
    "comma-separated values": "title,url,text\n" + both("\n", '{t},{u},"{x}"'),
    "comma-separated values with an index": ",title,url,text\n" + both("\n", '{n},{t},{u},"{x}"'),
    "an HTML list": f"<ul>\n{both(chr(10), '<li><a href={q}{u}{q}>{t}</a>: {x}</li>')}\n</ul>",
    "an HTML table": "<table><tr><th>Title</th><th>URL</th><th>Snippet</th></tr>"
    + both("\n", "<tr><td>{t}</td><td>{u}</td><td>{x}</td></tr>")
    + "</table>",
    "an HTML table with links": "<table>\n<thead><tr><th>Title</th><th>Snippet</th></tr></thead><tbody>"
    + both("\n", "<tr><td><a href={q}{u}{q}>{t}</a></td><td>{x}</td></tr>")
    + "</tbody></table>",
    "HTML blocks": both("\n", "<div class={q}hit{q}><h3><a href={q}{u}{q}>{t}</a></h3><p>{x}</p></div>"),
    "quotes with their sources behind": both("\n\n", '"{x}" — {t} ({u})'),
    "quotes with their sources below": both("\n\n", "> {x}\n— {t}, {u}"),
    "quotes with linked sources": both("\n\n", "> {x}\n> — [{t}]({u})"),
    "quotes with their sources above": both("\n\n", "{t} ({u}):\n> {x}"),
    "footnotes with words": "See [^1] and [^2].\n\n" + both("\n", "[^{n}]: {t}: {x} ({u})"),
    "bold titles with addresses behind": both("\n\n", "**{t}** ({u}) {x}"),
    "a data frame": "       title                    url                        text\n"
    "0     Vienna   https://a.org/vienna  Vienna lies on the Danube.\n"
    "1  Inn river      https://b.org/inn  The Inn joins it at Passau.",
    "a data frame without an index": f"{'title':>9} {'url':>20} {'text':>27}\n" + both("\n", "{t:>9} {u:>20} {x:>27}"),
    "a data frame in sections": "       title                   url  \\\n"
    "0     Vienna  https://a.org/vienna   \n1  Inn river     https://b.org/inn   \n\n"
    "                          text  \n0   Vienna lies on the Danube.  \n1  The Inn joins it at Passau.  ",
    "a data frame in a box": "shape: (2, 3)\n┌───────────┬──────────────────────┬────────────────────────────┐\n"
    "│ title     ┆ url                  ┆ text                       │\n"
    "│ ---       ┆ ---                  ┆ ---                        │\n"
    "│ str       ┆ str                  ┆ str                        │\n"
    "╞═══════════╪══════════════════════╪════════════════════════════╡\n"
    + both("\n", "│ {t} ┆ {u} ┆ {x} │")
    + "\n└───────────┴──────────────────────┴────────────────────────────┘",
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
    "a text part a result": [{"type": "text", "text": f"Title: {t}\nURL: {u}\n{x}"} for t, u, x in RESULTS],
    "text parts below one that announces them": {
        "content": [
            {"type": "text", "text": "Found 2 results"},
            *({"type": "text", "text": f"### {t}\n{u}\n{x}"} for t, u, x in RESULTS),
        ]
    },
    "parallel columns": {
        "titles": [t for t, _, _ in RESULTS],
        "urls": [u for _, u, _ in RESULTS],
        "snippets": [x for _, _, x in RESULTS],
    },
    "columns of a data frame": {
        "title": {"0": "Vienna", "1": "Inn river"},
        "url": {"0": RESULTS[0][1], "1": RESULTS[1][1]},
        "text": {"0": RESULTS[0][2], "1": RESULTS[1][2]},
    },
    "rows of a data frame": {
        "columns": ["title", "url", "text"],
        "index": [0, 1],
        "data": [list(one) for one in RESULTS],
    },
    "a report of a tool of Google's ADK": {"status": "success", "report": both("\n\n", "{n}. {t}\n{u}\n{x}")},
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


ONE, TWO = RESULTS[0][2], RESULTS[1][2]
_NAMED = [("Vienna", ONE), ("Inn river", TWO)]
_PLAIN = [(None, ONE), (None, TWO)]
WITHOUT_ADDRESSES: dict[str, tuple[object, list[tuple[str | None, str]]]] = {
    "brackets": (f"[1] Vienna\n{ONE}\n\n[2] Inn river\n{TWO}", _NAMED),
    "brackets from 0": (f"[0] Vienna\n{ONE}\n[1] Inn river\n{TWO}", _NAMED),
    "bold after numbers": (f"Search results:\n\n1. **Vienna**: {ONE}\n2. **Inn river**: {TWO}", _NAMED),
    "Result n": (f"Result 1:\nTitle: Vienna\nContent: {ONE}\n\nResult 2:\nTitle: Inn river\nContent: {TWO}", _NAMED),
    "labels between rules": (f"Title: Vienna\nContent: {ONE}\n---\nTitle: Inn river\nContent: {TWO}\n---", _NAMED),
    "bold labels": (f"**Title:** Vienna\n**Content:** {ONE}\n\n**Title:** Inn river\n**Content:** {TWO}", _NAMED),
    "headings between rules": (f"## Vienna\n{ONE}\n---\n## Inn river\n{TWO}", _NAMED),
    "announced headings": (f"Found 2 results:\n\n### Vienna\n{ONE}\n\n### Inn river\n{TWO}", _NAMED),
    "numbered elements": (f'<doc id="1">Vienna\n{ONE}</doc><doc id="2">Inn river\n{TWO}</doc>', _NAMED),
    "bold titles": (f"**Vienna**\n{ONE}\n\n**Inn river**\n{TWO}", _NAMED),
    "bold titles and dashes": (f"**Vienna** — {ONE}\n**Inn river** — {TWO}", _NAMED),
    "bold titles and colons": (f"- **Vienna:** {ONE}\n- **Inn river:** {TWO}", _NAMED),
    "sources that are no addresses": (f"Source: Vienna\nContent: {ONE}\n\nSource: Inn river\nContent: {TWO}", _NAMED),
    "a definition list": (f"<dl><dt>Vienna</dt><dd>{ONE}</dd><dt>Inn river</dt><dd>{TWO}</dd></dl>", _NAMED),
    "an ordered list": (f"<ol><li><b>Vienna</b> {ONE}</li><li><b>Inn river</b> {TWO}</li></ol>", _NAMED),
    "a table": (f"| Title | Text |\n|---|---|\n| Vienna | {ONE} |\n| Inn river | {TWO} |", _NAMED),
    "rules": (f"{ONE}\n\n---\n\n{TWO}", _PLAIN),
    "long rules": (f"{ONE}\n----------\n{TWO}\n----------", _PLAIN),
    "quotes": (f"> {ONE}\n\n> {TWO}", _PLAIN),
    "texts by id": ({"doc_12": ONE, "doc_15": TWO}, _PLAIN),
    "texts by title": ({"Vienna": ONE, "Inn river": TWO}, _NAMED),
    "texts by address": ({RESULTS[0][1]: ONE, RESULTS[1][1]: TWO}, _PLAIN),
    "texts by id inside": ({"results": {"d12": ONE, "d15": TWO}}, _PLAIN),
    "texts beside ids": ({"ids": ["d1", "d2"], "scores": [0.3, 0.2], "texts": [ONE, TWO]}, _PLAIN),
    "a data frame whose middle columns pandas leaves out": (
        f"       title  ...                        text\n0     Vienna  ...  {ONE}\n1  Inn river  ...  {TWO}"
        "\n\n[2 rows x 3 columns]",
        _NAMED,
    ),
    "texts by tab": (f"d_12\t{ONE}\nd_15\t{TWO}", [("d_12", ONE), ("d_15", TWO)]),
    "a part a text": ([{"type": "text", "text": ONE}, {"type": "text", "text": TWO}], _PLAIN),
}


@pytest.mark.parametrize("name", WITHOUT_ADDRESSES)
def test_results_without_addresses_are_told_apart(name: str) -> None:
    output, expected = WITHOUT_ADDRESSES[name]
    assert [(title, text) for title, _, text in found(output)] == expected


@pytest.mark.parametrize(
    "sources", ["[^1]: {}, {}\n[^2]: {}, {}", "[^1]: {}. {}\n[^2]: {}. {}", "Sources:\n[1] {} - {}\n[2] {} - {}"]
)
def test_footnotes_without_words_get_those_that_cite_them(sources: str) -> None:
    marks = ("[^1]", "[^2]") if "^" in sources else ("[1]", "[2]")
    listed = sources.format(*RESULTS[0][:2], *RESULTS[1][:2])
    text = f"Vienna lies on the Danube {marks[0]}. Passau is on the Inn {marks[1]}.\n\n{listed}"
    assert found(text) == [(*RESULTS[0][:2], ONE[:-1]), (*RESULTS[1][:2], "Passau is on the Inn")]


@pytest.mark.parametrize(
    "page",
    [
        ONE,
        f"{ONE}\n1. First they came.\n2. Then they went.",  # the page's own list
        f"[1] {ONE}",
        f"2. {ONE}\n3. {TWO}",
        f"1. {ONE}\n[2] {TWO}",  # two kinds of marks
        f"<document>{ONE}</document> and <document>{TWO}",
        f"Vienna\n---\n{ONE}\n\nRivers\n---\n{TWO}",  # underlined headings
        f"---\ntitle: Vienna\ndate: 2020\n---\n{ONE}",
        f"Title: Vienna\n{ONE}",
        f"# Vienna\n{ONE}\n## History\n{TWO}\n## Sights\n1. Opera\n2. Prater",
        f"### Vienna\n{ONE}\n\n### Inn river\n{TWO}",  # not announced
        f"**Vienna** is a city.\n{ONE}\n\n**Passau** is another.\n{TWO}",
        f"- {ONE}\n- {TWO}",
        f"Rivers\n\n1. Danube\n2. Inn\n{ONE}",
        f"City Guide (see {RESULTS[0][1]}) says: {ONE}\n\n{TWO}",
        f"{ONE}\n\nSee also:\n{RESULTS[0][1]}\n\nSources:\n{RESULTS[1][1]}",
        f"Date: Monday\n{ONE}\nSource: hearsay",
        f"{{{ONE}}}\n{{{TWO}}}",
        "| City | River |\n|---|---|\n| Vienna | Danube |\n| Innsbruck | Inn |",
        "City\tRiver\nVienna\tDanube\nInnsbruck\tInn",
        f"<p>{ONE}</p><p>{TWO}</p>",
        "[{'title': 'Vienna', __import__('os')}]",
    ],
)
def test_what_has_no_marks_of_the_tool_stays_whole(page: str) -> None:
    ((result,),) = read_search(page, ("q",))
    assert ONE.split(".")[0] in result.text or page in result.text or " ".join(page.split()) in result.text


@pytest.mark.parametrize(
    "output",
    [
        "| Title | URL |\n|---|---|",
        "title\turl\tsnippet",
        "Title,Text",
        "Empty DataFrame\nColumns: [title, url]\nIndex: []",
        "<results></results>",
        "(web_search completed with no output)",
        "Tool ran without output or errors",
    ],
)
def test_the_frame_of_results_without_results_is_no_evidence(output: str) -> None:
    assert found(output) == []


def test_one_numbered_link_is_a_result() -> None:
    assert found(f"1. [Vienna]({RESULTS[0][1]})\n{ONE}") == [RESULTS[0]]


def test_an_address_at_the_end_counts_only_where_every_result_has_one() -> None:
    text = both("\n\n", "Title: {t}\nDescription: {x}") + "\nURL: https://evil.org/"
    assert [url for _, url, _ in found(text)] == [None, None]


def test_a_title_with_a_dash_is_a_title() -> None:
    text = "1. Vienna - Wikipedia (https://a.org/vienna)\n2. Inn: a river (https://b.org/inn)"
    assert [title for title, _, _ in found(text)] == ["Vienna - Wikipedia", "Inn: a river"]


def test_what_is_said_about_a_result_is_no_text() -> None:
    first = f"[1] Title: Vienna\nURL: {RESULTS[0][1]}\nDate: 2020\nScore: 0.7\nSnippet: {ONE}"
    text = f"{first}\n\n[2] Title: Inn\nText: {TWO}"
    assert found(text) == [RESULTS[0], ("Inn", None, TWO)]


def test_what_a_page_lists_below_its_own_headings_belongs_to_the_page() -> None:
    page = f"{ONE}\n### History\nOld.\n- See Inn ({RESULTS[1][1]}): nice\n**Bold**\nSource: hearsay\nContent: none"
    text = f"### Vienna\nURL: {RESULTS[0][1]}\n{page}\n\n### Inn river\nURL: {RESULTS[1][1]}\n{TWO}"
    assert found(text) == [(*RESULTS[0][:2], page), RESULTS[1]]


def test_a_field_inside_a_page_renames_no_source() -> None:
    page = f"{ONE}\n<url>https://evil.org/</url>\nURL: https://evil.org/"
    ((one,),) = read_search(f"<result><title>Vienna</title><url>{RESULTS[0][1]}</url><text>{page}</text></result>")
    assert (one.title, one.url, one.text) == (*RESULTS[0][:2], page)


def test_a_page_that_counts_out_of_turn_begins_no_result() -> None:
    assert [title for title, _, _ in found(f"[1] Vienna\n{ONE}\n[7] {TWO}\n[2] Inn\n{TWO}")] == ["Vienna", "Inn"]


_WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäß", min_size=1, max_size=8)
_LINE = st.builds(
    lambda start, words: start + " ".join(words),
    st.sampled_from(("", "", "", "7. ", "- ", "# ", "> ", "note: ", "[9] ", "<b> ")),
    st.lists(_WORD, min_size=1, max_size=6),
)
_BODY = st.lists(_LINE, min_size=1, max_size=5).map(lambda lines: "\n".join(["It says", *lines, "the end."]))
_LAYOUTS = {
    "brackets": "[{n}] {t}\nURL: {u}\n{x}\n",
    "numbers": "{n}. {t}\n{u}\n{x}\n",
    "bold": "**{t}**\n{u}\n{x}\n",
    "headings": "### {t}\nURL: {u}\n{x}\n",
    "bullets": "- {t} ({u}): {x}",
    "elements": "<result><title>{t}</title><url>{u}</url>\n{x}\n</result>",
    "labels": "Source: {u}\nTitle: {t}\nContent: {x}\n",
}


@pytest.mark.parametrize("layout", _LAYOUTS)
@given(items=st.lists(st.tuples(_WORD, _BODY), min_size=2, max_size=5))
def test_what_a_tool_wrote_comes_out_whole_and_in_order(layout: str, items: list[tuple[str, str]]) -> None:
    named = [(title.capitalize(), f"https://a.org/{place}", text) for place, (title, text) in enumerate(items)]
    rows = (_LAYOUTS[layout].format(n=n, t=t, u=u, x=x) for n, (t, u, x) in enumerate(named, start=1))
    assert found("\n".join(rows)) == named


@given(st.text(alphabet=list("[]1234. \n#-<>/documentTitle:*Ab"), max_size=300))
def test_any_text_gives_ranked_results_made_of_its_own_words_in_its_own_order(text: str) -> None:
    results = laid_out(text)
    assert [result.rank for result in results] == list(range(1, len(results) + 1))
    rest = text
    for result in results:
        for line in filter(None, map(str.strip, (result.text or "").split("\n"))):
            before, found, rest = rest.partition(line)
            assert found, (before, line)


_MARKS = [*"|\t,;<\"'*-=\n :1aT.()│┆", "title", "text", "<li>", "</li>", "\n> ", "[^1]: ", "\n---\n", "**"]


@given(st.lists(st.sampled_from(_MARKS), max_size=60).map("".join))
def test_no_text_raises(text: str) -> None:
    found(text)
