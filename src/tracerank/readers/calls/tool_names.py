"""What agents call their tools, and what the tools do: the table by which a call is a search, an open or a find.

Holds names only; the keys of the arguments have their say in ``tool_calls.py``. A format with names of its own
extends the table and passes it on.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

CallKind = Literal["search", "open", "find", "other"]
_KINDS: tuple[CallKind, ...] = ("search", "open", "find", "other")
_LONGEST_NAME = 200
_GLUED_JSON = re.compile(r"(?<=[a-z0-9])json\Z")
_SEPARATORS = re.compile(r"[\s-]+")
_LAST_PART = re.compile(r"[^.:/]*\Z")


@dataclass(frozen=True, slots=True)
class ToolNames:
    """Clean tool names by what the tool does; a trailing ``*`` stands for any rest."""

    search: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    find: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()
    """Never a search, whatever the arguments are called."""

    def extended(
        self, search: Iterable[str] = (), open: Iterable[str] = (), find: Iterable[str] = (), other: Iterable[str] = ()
    ) -> "ToolNames":
        """The table with further names; a name keeps only its new kind."""
        new = {"search": frozenset(search), "open": frozenset(open), "find": frozenset(find), "other": frozenset(other)}
        moved = frozenset[str]().union(*new.values())
        return replace(self, **{kind: (getattr(self, kind) - moved) | names for kind, names in new.items()})

    def kind(self, name: object) -> CallKind | None:
        """What the tool of this name does, as logged or clean; None: the name is not in the table."""
        clean = clean_name(name)
        last = _LAST_PART.search(clean)
        # ``browser.search``, ``mcp__tavily__search``, ``server/tool``: the whole name first, then its last part.
        parts = (clean, last[0] if last else "", clean.rpartition("__")[2], clean.removeprefix("browser_"))
        return next((kind for part in parts if part and (kind := self._row(part)) is not None), None)

    def _row(self, name: str) -> CallKind | None:
        for kind in _KINDS:
            if name in getattr(self, kind):
                return kind
        for kind in _KINDS:
            if any(row.endswith("*") and name.startswith(row[:-1]) for row in getattr(self, kind)):
                return kind
        return None


def clean_name(name: object) -> str:
    """A tool's name in lower case, without harmony tokens, ``functions.`` and a glued ``json``."""
    if not isinstance(name, str):
        return ""
    bare = name[:_LONGEST_NAME].partition("<|")[0].strip().lower().removeprefix("functions.")
    # Agents spell the same tool web-search, Web Search and web_search.
    return _GLUED_JSON.sub("", _SEPARATORS.sub("_", bare))


def _names(*rows: str) -> frozenset[str]:
    return frozenset(name for row in rows for name in row.split())


TOOL_NAMES = ToolNames(
    search=_names(
        "search web_search websearch search_web internet_search google google_search search_google bing bing_search",
        "duckduckgo* ddg_search search_bcp local_search wiki_search wikipedia wikipedia_search search_wikipedia",
        "search_query retrieve retrieval retriever retrieve_documents local_knowledge_base_retrieval knowledge_search",
        "file_search paper_search search_papers pubmed_search arxiv arxiv_search google_scholar google_scholar_search",
        "scholar_search news_search serper* serpapi* tavily* brave brave_* exa exa_* searxng* you_search jina_search",
        "web_search_preview web_search_call firecrawl_search search_documents search_docs search_corpus search_index",
        "search_passages search_articles search_engine search_knowledge_base search_kb kb_search query_kb",
        "query_knowledge_base query_documents query_index query_corpus knowledge_base knowledge_base_search rag rag_*",
        "vector_search vector_store* semantic_search hybrid_search dense_search bm25* get_passages get_documents",
        "get_relevant_documents retrieve_passages retrieve_context retrieve_docs document_search passage_search wiki",
    ),
    open=_names(
        "open open_page open_url visit visit_page visit_webpage visit_url visit_website fetch fetch_url fetch_page",
        "fetch_webpage fetch_content web_fetch webfetch get_document get_document_bcp get_page get_content get_webpage",
        "get_contents read_page read_url read_webpage read_document load_page load_url crawl* scrape* browse",
        "browse_page browse_url go_to_url goto navigate click click_link page_down page_up extract extract_content",
        "extract_page tavily_extract tavily_crawl exa_get_contents exa_contents exa_crawl* jina_read* url_context",
        "firecrawl_scrape* serper_scrape* wikipedia_page get_wikipedia_page",
    ),
    find=_names("find find_in_page find_on_page find_in_document search_in_page page_find"),
    other=_names(
        "python* shell* bash* terminal* code_interpreter execute* run_code run_python jupyter* calculator calculate",
        "think plan memory* todo* write_* edit_* create_* delete_* update_* image_generation sql* run_sql* send_*",
        "final_answer submit submit_answer provide_answer finish answer ask_user ask_human",
        "image_search search_image* video_search",
    ),
)
"""The names that the known agents use."""
