"""The words that logs are written in: roles, keys, types and states of messages, and the names of tools.

Keys, roles and types are compared in plain form: lower case without dashes, underscores and blanks, so that
``toolCallId``, ``tool-call-id`` and ``tool_call_id`` are one. Names of tools are compared as ``tools.clean_name`` gives
them; a trailing ``*`` stands for any rest.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_PLAIN: dict[str, str] = {}
_MAX_KEYS = 4096
"""Keys whose plain form is kept."""


def plain_key(key: object) -> str:
    """A key in lower case without dashes, underscores and blanks; empty for what is no text."""
    if not isinstance(key, str):
        return ""
    found = _PLAIN.get(key)
    if found is None:
        found = _NOT_PLAIN.sub("", key.lower()) or key
        if len(_PLAIN) < _MAX_KEYS:
            _PLAIN[key] = found
    return found


def plain_fields(value: Mapping[Any, Any]) -> dict[str, Any]:
    """An object under its plain keys; the first of two that come out the same stays."""
    fields: dict[str, Any] = {}
    for key, inner in value.items():
        fields.setdefault(plain_key(key), inner)
    return fields


Role = Literal["user", "agent", "tool", "system", "hidden"]


def word_set(*rows: str) -> frozenset[str]:
    """The words of some lines."""
    return frozenset(word for row in rows for word in row.split())


def word_list(*rows: str) -> tuple[str, ...]:
    """The same in their order."""
    return tuple(word for row in rows for word in row.split())


# ---- who speaks

ROLE_KEYS = word_list("role partkind type kind author source from sender")
SPEAKER_KEYS = word_list("author source sender")
ROLES: Mapping[str, Role] = {
    **dict.fromkeys(word_list("user human userprompt humanmessage usermessage humanmessagechunk modelrequest"), "user"),
    **dict.fromkeys(word_list("assistant ai model gpt agent bot aimessage aimessagechunk assistantmessage"), "agent"),
    **dict.fromkeys(word_list("agentmessage chatbot modelresponse"), "agent"),
    **dict.fromkeys(word_list("tool function observation ipython toolmessage environment toolresultsevent"), "tool"),
    **dict.fromkeys(word_list("system developer systemprompt systemmessage instructions"), "system"),
    **dict.fromkeys(word_list("reasoning thinking thought redactedthinking toolcallsummarymessage"), "hidden"),
    **dict.fromkeys(word_list("memoryqueryevent thoughtevent reasoningmessage streamingchunkevent"), "hidden"),
}

UNSPOKEN = ("analysis", "commentary")
"""Channels in which an agent does not speak to the user."""

CHAT_KEYS = word_set("role content tool_calls tool_call_id name reasoning reasoning_content")
"""As the usual chat messages spell them; anything else in one calls for a closer look."""
CALLEES = ("functions.", "browser.")
"""How recipients begin that are tools."""

# ---- what an object is

KIND_KEYS = word_list("partkind type kind blocktype")
TEXT_KINDS = word_list("text outputtext inputtext message")
CALL_KINDS = word_set(
    "toolcall tooluse functioncall mcptooluse customtoolcall mcptoolcall mcpcall dynamictool",
    "toolinvocation invalidtoolcall tool",
)
RETURN_KINDS = word_set(
    "toolresult toolreturn functioncalloutput customtoolcalloutput toolresponse toolmessage functionresponse",
    "functionexecutionresult retryprompt toolerror mcptoolresult tool toolcallresponse servertoolcallresponse",
    "toolresultevent toolerrorevent toolnotfoundevent builtintoolresultevent",
)
ERROR_KINDS = word_set("retryprompt toolerror errortext errorjson executiondenied toolerrorevent toolnotfoundevent")
ERROR_STATES = word_set("error failed failure outputerror")
ERROR_FLAGS = word_list("iserror toolcallerror haserror")
PASSING_ENDS = ("delta", "chunkevent")
"""How kinds end of pieces whose whole is logged as well."""
PIECES = word_set("textdelta runcontent")
"""Pieces of words whose whole may not be logged."""
ENDS_OF_PIECES = word_set("textend runcontentcompleted runcompleted")

# ---- calls and returns

NAME_KEYS = word_list("toolname functionname name tool function action recipientname")
ARGUMENT_KEYS = word_list(
    "arguments args toolargs toolkwargs toolinput actioninput functionargs input kwargs parameters params rawinput"
)
LOOSE_ARGUMENT_KEYS = word_set("input kwargs parameters params")
"""Keys that spans and settings have, too."""
OUTPUT_KEYS = word_list(
    "output result response observation observations toolresult tooloutput toolresponse returnvalue content value",
    "outputs blocks",
)
INLINE_KEYS = word_list("output result observation observations toolresult tooloutput toolresponse")
"""Where a call keeps its own return; ``content`` and ``response`` beside a call are words."""
CLASS_TAGS = ("__event__", "__dataclass__", "__pydantic__")
"""Under which ag2 keeps the class of what it dumps."""
TAGGED_KEYS = ("data", "content", "parts")
BOXES = ("result", "output", "ok", "success", "structuredcontent")
"""Names of the one value of a return that hold nothing else."""
FLAGS = word_set("status success ok error errormessage code statuscode")
WENT_WELL = word_set("success ok completed complete done found")
"""What stands under flags beside the value of a return."""
ID_KEYS = word_list("toolcallid callid tooluseid toolid functioncallid sourcecallid")
WRAPPED_CALLS = word_list("function functioncall toolcall tooluse custom toolinvocation action")
WRAPPED_RETURNS = word_list("toolresult functionresponse toolcallresult toolresponse functionresult")
CALL_LISTS = word_list("toolcalls calls functioncalls toolinvocations actions")
MODEL_KEYS = word_set("finishreason stopreason")
"""What only the words of a model end with."""
RETURN_LISTS = word_list("tooloutputs toolresults toolresponses observations outputs results returns")
BARE_PART = word_set("id name input type")
"""All that a call has where a part of a message does not say its kind."""

# ---- where things stand in a record

WORD_KEYS = word_list("content text message value parts blocks")
ASIDE_KEYS = word_set(
    "usage metadata meta tools tooldefinitions reasoning thinking thought thoughts reasoningcontent config settings",
    "modelsettings annotations citations tokenusage logprobs providermetadata responseformat instructions auto_judge",
    "autojudge judge scores gold toolfailures systemprompt tooluseresult availabletools toolspecs warnings request",
    "sources labels groundingmetadata",
)
"""What stands beside the transcript or is not said aloud."""
FIRST_KEYS = word_set("prompt input inputs question task userprompt")
LAST_KEYS = word_set("output response finaloutput result")
ENCODED_KEYS = word_set("toolcalls toolcall functioncall messages events steps payload trajectory history")
"""Fields that tables keep as JSON."""
STRUCTURED_KEYS = word_list("structuredresponse structuredoutput finaloutput")
"""Where a run keeps its answer as an object."""
STATED_KEYS = ("answer", "final_answer", "finalAnswer", "exact_answer", "short_answer")
"""Its fields that are the answer."""

# ---- tools

SEARCH_TOOLS = word_set(
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
)
OPEN_TOOLS = word_set(
    "open open_page open_url visit visit_page visit_webpage visit_url visit_website fetch fetch_url fetch_page",
    "fetch_webpage fetch_content web_fetch webfetch get_document get_document_bcp get_page get_content get_webpage",
    "get_contents read_page read_url read_webpage read_document load_page load_url crawl* scrape* browse browse_page",
    "browse_url go_to_url goto navigate click click_link page_down page_up extract extract_content extract_page",
    "tavily_extract tavily_crawl exa_get_contents exa_contents exa_crawl* jina_read* url_context firecrawl_scrape*",
    "serper_scrape* wikipedia_page get_wikipedia_page",
)
FIND_TOOLS = word_set("find find_in_page find_on_page find_in_document search_in_page page_find")
SUBMIT_TOOLS = word_set(
    "final_answer finish submit submit_answer answer provide_answer final_result structuredoutput structured_output"
)
OTHER_TOOLS = SUBMIT_TOOLS | word_set(
    "python* shell* bash* terminal* code_interpreter execute* run_code run_python jupyter* calculator calculate think",
    "plan memory* todo* write_* edit_* create_* delete_* update_* image_generation sql* run_sql* send_* ask_user",
    "ask_human image_search search_image* video_search",
)

# Words of a tool's name that no table has.
NEVER_WORDS = word_set(
    "append calc calculate calculator click code create delete edit email handoff insert install python remember",
    "remove rename save screenshot send shell sql submit summarise summarize think todo transfer update upload write",
)
SELDOM_WORDS = word_set(
    "add assign book buy cancel compile compute count delegate execute finish message modify move order pay plan post",
    "press purchase reply run schedule scroll sell set sleep store translate type validate verify wait",
)
"""Never research either, unless the name says that it searches, too."""
SEARCH_WORDS = word_set(
    "search searcher searching lookup query queries retrieve retriever retrieval google bing duckduckgo ddg tavily",
    "serper serp serpapi exa brave searxng perplexity wikipedia wiki arxiv pubmed rag",
)
SOURCE_WORDS = word_set(
    "archive archives article articles catalog catalogue corpus database doc docs document documents encyclopedia",
    "facts index internet kb knowledge knowledgebase library literature news papers passages scholar sources web",
    "context",
)
"""What a tool may look into, if it is given words and no address."""
OPEN_WORDS = word_set("open read fetch get load visit view browse download scrape crawl extract show")
PAGE_WORDS = word_set("page pages url link article document doc webpage website site entry wiki wikipedia")
ASK_WORDS = word_set(
    "query queries question questions search term terms phrase keyword keywords topic subject text claim request",
    "inquiry prompt q entity statement input",
)
"""Words of an argument that says what to look for."""

# Arguments, as they are written in snake case.
QUERY_ARGUMENTS = word_list("query queries q user_query search_query search_queries query_list")
LOOSE_QUERY_ARGUMENTS = word_list(
    "keyword keywords search_term search_terms term terms question topic entity title text input __arg1 arg content",
    "action_input prompt research_topic task",
)
"""Enough to read the query of a tool that is known to search, too vague to call a tool a search."""
URL_ARGUMENTS = word_list("url urls link links href page_url webpage_url website uri")
DOCUMENT_ARGUMENTS = word_list("docid doc_id docids doc_ids document_id document_ids")
LOOSE_TARGET_ARGUMENTS = word_list("id ids page title path source target input __arg1 arg action_input")
"""Of a tool that is known to open pages; anything else may have an id, too."""
ANSWER_ARGUMENTS = word_list("answer final_answer response result output text input __arg1 action_input")
OWN_ANSWER_ARGUMENTS = ("answer", "final_answer")
"""Those that make an unknown tool the form in which an SDK wants the answer."""
