"""What a tool that no table knows does, and which of its arguments says what: by the words of its name and its keys.

``lookupDocs``, ``kb.query`` and ``ask-archive`` are split into words. A tool that writes, sends, counts or thinks is
never research, whatever else its name says.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from tracerank.pools.urls import canonical_url

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LONGEST = 200


def _words(*rows: str) -> frozenset[str]:
    return frozenset(word for row in rows for word in row.split())


_NEVER = _words(
    "append calc calculate calculator click code create delete edit email handoff insert install python remember",
    "remove rename save screenshot send shell sql submit summarise summarize think todo transfer update upload write",
)
_SELDOM = _words(
    "add assign book buy cancel compile compute count delegate execute finish message modify move order pay plan post",
    "press purchase reply run schedule scroll sell set sleep store translate type validate verify wait",
)
"""Never either, unless the name says that it searches, too."""
_SEARCHING = _words(
    "search searcher searching lookup query queries retrieve retriever retrieval google bing duckduckgo ddg tavily",
    "serper serp serpapi exa brave searxng perplexity wikipedia wiki arxiv pubmed rag",
)
_SOURCES = _words(
    "archive archives article articles catalog catalogue corpus database doc docs document documents encyclopedia",
    "facts index internet kb knowledge knowledgebase library literature news papers passages scholar sources",
    "web context",
)
"""What a tool may look into, if it is given words and no address."""
_OPENING = _words("open read fetch get load visit view browse download scrape crawl extract show")
_PAGES = _words("page pages url link article document doc webpage website site entry wiki wikipedia")
_ASKING = _words(
    "query queries question questions search term terms phrase keyword keywords topic subject text claim request",
    "inquiry prompt q entity statement input",
)
"""Words of a key that says what to look for."""
_ADDRESSED = ("http://", "https://", "www.")


@lru_cache(maxsize=4096)
def words_of(name: str) -> frozenset[str]:
    """The words of a name in any spelling, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(name[:_LONGEST]))


def is_never_research(name: str) -> bool:
    """Whether a tool's name says that it writes, sends, counts or thinks."""
    words = words_of(name)
    return bool(words & _NEVER) or (bool(words & _SELDOM) and not words & _SEARCHING)


def kind_by_words(name: str, arguments: Mapping[str, Any]) -> Literal["search", "open", "other"]:
    """What a tool does, by the words of its name and by whether it is given words or an address."""
    words = words_of(name)
    if is_never_research(name):
        return "other"
    if addresses_in(arguments):
        return "open"
    if not any(_is_words(value) for value in arguments.values()):
        return "other"
    if words & _OPENING and words & _PAGES:
        return "open"
    return "search" if words & (_SEARCHING | _SOURCES) or {"look", "up"} <= words else "other"


def addresses_in(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that are web addresses, whatever they are called."""
    given = (one for value in arguments.values() for one in (value if isinstance(value, list) else (value,)))
    return tuple(one for one in given if _is_address(one))


def asked_in(arguments: Mapping[str, Any]) -> object:
    """The argument that says what to look for: by the words of its key, else the only one in words; None: unclear."""
    spoken = {key: value for key, value in arguments.items() if _is_words(value)}
    named = [value for key, value in spoken.items() if words_of(key) & _ASKING]
    if len(named) == 1 or len(spoken) == 1:
        return (named or list(spoken.values()))[0]
    long = [value for value in named or spoken.values() if isinstance(value, list) or " " in value.strip()]
    return long[0] if len(long) == 1 else None


def _is_words(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_words(one) for one in value)
    return isinstance(value, str) and bool(value.strip()) and not _is_address(value)


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_ADDRESSED) and canonical_url(value.strip()) is not None
