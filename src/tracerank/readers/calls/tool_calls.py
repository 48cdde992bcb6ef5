"""One call of an agent's tool: what it was named, what it was given, what came back, and which kind of call it is.

Every chat-like format reduces to a list of these. A call is classified by a table of names, which a format may extend,
and by the keys of its arguments. What a return says is read in ``returns.py``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from tracerank.answers.text_keys import trimmed
from tracerank.readers.calls.tool_words import addresses_in, asked_in, is_never_research, kind_by_words
from tracerank.readers.files.loose_json import NOT_JSON, load_after, load_json, load_loosely
from tracerank.readers.results import Result
from tracerank.readers.values import encodable, plain_text

CallKind = Literal["search", "open", "find", "other"]
_KINDS: tuple[CallKind, ...] = ("search", "open", "find", "other")
_LONGEST_NAME = 200
_GLUED_JSON = re.compile(r"(?<=[a-z0-9])json\Z")
_SEPARATORS = re.compile(r"[\s-]+")
_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")
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
        "search_agent web_search_agent conductresearch conduct_research",
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
        "final_answer final_result submit submit_answer provide_answer finish answer ask_user ask_human",
        "structuredoutput structured_output",
        "image_search search_image* video_search",
    ),
)
"""The names that the known agents use."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call and its return, as logged."""

    name: str
    """As logged, dirt included."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Read by ``parse_arguments``."""
    output: object = None
    """Text, parsed JSON or a list of content parts. None: nothing came back."""
    is_error: bool = False
    """The log itself marks the return as a failure; it is then no evidence."""
    artifact: object = None
    """The return in structured form (documents), where the log keeps it beside the text; preferred to ``output``."""
    results: tuple[Result, ...] | None = None
    """The return as the reader has understood it; preferred to everything else. None: it is to be read."""
    kind: CallKind | None = None
    """None: by name and arguments."""


_QUERY_KEYS = ("query", "queries", "q", "user_query", "search_query", "search_queries", "query_list")
# Enough to read the query of a tool that is known to search, too vague to call a tool a search.
_LOOSE_QUERY_KEYS = (
    *("keyword", "keywords", "search_term", "search_terms", "term", "terms", "question", "topic", "entity", "title"),
    *("text", "input", "__arg1", "arg", "content", "action_input", "prompt", "research_topic", "task"),
)
_URL_KEYS = ("url", "urls", "link", "links", "href", "page_url", "webpage_url", "website", "uri")
_DOCUMENT_KEYS = ("docid", "doc_id", "docids", "doc_ids", "document_id", "document_ids")
# Of a tool that is known to open pages; anything else may have an id, too.
_LOOSE_TARGET_KEYS = (
    "id",
    "ids",
    "page",
    "title",
    "path",
    "source",
    "target",
    "input",
    "__arg1",
    "arg",
    "action_input",
)
_KNOWN_KEYS = frozenset((*_QUERY_KEYS, *_URL_KEYS, *_DOCUMENT_KEYS, "pattern", "id", "answer"))

_SUBMISSIONS = frozenset(
    (
        *("final_answer", "finish", "submit", "submit_answer", "answer", "provide_answer"),
        *("final_result", "structuredoutput", "structured_output"),
    )
)
_OWN_FIELDS = ("answer", "final_answer")
_ANSWER_KEYS = ("answer", "final_answer", "response", "result", "output", "text", "input", "__arg1", "action_input")


def kind_of_call(name: object, arguments: Mapping[str, Any], names: ToolNames = TOOL_NAMES) -> CallKind:
    """What a call does, by the name of its tool and, where that leaves room, by the keys of its arguments."""
    known = names.kind(name)
    if known == "other":
        return "other"
    arguments = _plainly_keyed(arguments)
    has_query = any(key in arguments for key in _QUERY_KEYS)
    has_target = any(key in arguments for key in (*_URL_KEYS, *_DOCUMENT_KEYS))
    if known is None:
        if _hands_in(name, arguments):
            return "other"
        # A query beside an address says what the page is read for.
        if has_target or has_query:
            return "open" if has_target else "search"
        return kind_by_words(name, arguments) if isinstance(name, str) else "other"
    if known == "search" and has_target and not has_query:
        return "open"
    if known == "open" and has_query and not has_target and "id" not in arguments:
        return "search"
    return known


def is_underway(name: object, arguments: Mapping[str, Any], names: ToolNames = TOOL_NAMES) -> bool:
    """Whether words before the call are a plan and no answer: it is research, or may be for all that is known of it."""
    if kind_of_call(name, arguments, names) != "other":
        return True
    is_unknown = isinstance(name, str) and names.kind(name) is None and not is_never_research(name)
    return is_unknown and not _hands_in(name, arguments)


# ---- arguments


def parse_arguments(raw: object) -> dict[str, Any]:
    """The arguments of a call from an object, JSON, or text that resembles it; plain text becomes ``input``."""
    for _ in range(3):  # JSON that was encoded twice, and the object in it
        if isinstance(raw, Mapping):
            return {key: value for key, value in raw.items() if isinstance(key, str)}
        if not isinstance(raw, str):
            break
        value = load_json(raw)
        if value is NOT_JSON:
            return _arguments_of_text(raw)
        raw = value
    if isinstance(raw, list):
        objects = [item for item in raw if isinstance(item, Mapping)]
        return dict(objects[0]) if len(objects) == 1 else {"input": raw} if raw else {}
    text = plain_text(raw)
    return {"input": text} if text else {}


def _arguments_of_text(text: str) -> dict[str, Any]:
    bare = text.partition("<|")[0].strip()
    found = load_loosely(bare)
    if not found.keys() & _KNOWN_KEYS:
        found = load_after(bare, _KNOWN_KEYS) or found
    # Plain text may hold a colon or an equals sign; only brackets show that an object was meant.
    if found and (bare[:1] in "{[(" or found.keys() & _KNOWN_KEYS):
        return found
    return {"input": bare} if bare and bare[0] not in "{[" else {}


def queries_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What a search call asked for; several for a batch, empty when it is not logged."""
    arguments = _plainly_keyed(arguments)
    return _texts(arguments, _QUERY_KEYS) or _texts(arguments, _LOOSE_QUERY_KEYS) or _listed(asked_in(arguments))


class Target(NamedTuple):
    """What a call asks to open."""

    value: str
    """A web address or an id."""
    is_document_id: bool
    """The argument's key says that the value is the id of a document, not a place in a list."""


def targets_of(arguments: Mapping[str, Any]) -> tuple[Target, ...]:
    """The pages or documents that an open or find call names; empty: the page at hand."""
    arguments = _plainly_keyed(arguments)
    for keys, is_document_id in ((_URL_KEYS, False), (_DOCUMENT_KEYS, True)):
        found = _texts(arguments, keys)
        if found:
            return tuple(Target(value, is_document_id) for value in found)
    return tuple(Target(value, False) for value in addresses_in(arguments) or _texts(arguments, _LOOSE_TARGET_KEYS))


def submitted_answer(call: ToolCall) -> str | None:
    """The answer that the call hands in; None when it is another kind of call."""
    if clean_name(call.name) not in _SUBMISSIONS and not _hands_in(call.name, call.arguments):
        return None
    for key in _ANSWER_KEYS:
        value = call.arguments.get(key)
        text = plain_text(value)
        if text is None:
            text = next(iter(_listed(value)), None)
        if text is not None and text.strip():
            return encodable(trimmed(text))
    # An output of one field under any name is the answer.
    only = plain_text(next(iter(call.arguments.values()))) if len(call.arguments) == 1 else None
    return encodable(trimmed(only)) if only is not None and only.strip() else None


def _hands_in(name: object, given: Mapping[str, Any]) -> bool:
    """Whether a tool that nobody knows is the form in which an SDK wants the answer: it has a field for it."""
    if not isinstance(name, str) or not any(plain_text(given.get(key)) for key in _OWN_FIELDS):
        return False
    is_other = any(key in given for key in (*_QUERY_KEYS, *_URL_KEYS, "question"))
    return not is_other and TOOL_NAMES.kind(name) is None and not is_never_research(name)


def _plainly_keyed(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with ``searchTerm`` as ``search_term``."""
    if not any(_HUMP.search(key) for key in arguments):
        return arguments
    return {_HUMP.sub(lambda hump: f"_{hump[0].lower()}", key): value for key, value in arguments.items()}


def _texts(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of the first of the keys that holds any."""
    for key in keys:
        found = _listed(arguments.get(key))
        if found:
            return found
    return ()


def _listed(value: object) -> tuple[str, ...]:
    if isinstance(value, str) and value[:1] == "[":
        decoded = load_json(value)
        value = decoded if isinstance(decoded, list) else value
    texts: list[str] = []
    for item in value if isinstance(value, list | tuple) else (value,):
        if isinstance(item, Mapping):
            item = next((item[key] for key in (*_QUERY_KEYS, *_URL_KEYS) if key in item), None)
        text = plain_text(item)
        if text is not None and text.strip():
            texts.append(encodable(text.strip()))
    return tuple(texts)
