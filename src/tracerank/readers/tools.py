"""Which calls are searches, which open pages, and what they are given: by the name of the tool and its arguments.

The table of names can be extended by the user. A tool that no table has is known by the words of its name and by the
keys of its arguments: ``lookupDocs``, ``kb.query`` and ``ask-archive``. One that writes, sends, counts or thinks is
never research, whatever else its name says. What a call returned is read in ``calls/returns.py``.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from tracerank.answers.text_keys import trimmed
from tracerank.errors import UsageError
from tracerank.pools.urls import canonical_url
from tracerank.readers import vocabulary as words
from tracerank.readers.results import Result
from tracerank.readers.sources.loose_json import NOT_JSON, load_after, load_json, load_loosely
from tracerank.readers.values import encodable, plain_text

CallKind = Literal["search", "open", "find", "other"]
_KINDS: tuple[CallKind, ...] = ("search", "open", "find", "other")
_MAIN: Mapping[CallKind, str] = {"search": "query", "open": "url", "find": "pattern"}
"""The argument that says what a call is about."""
_MAX_NAME = 200
_GLUED_JSON = re.compile(r"(?<=[a-z0-9])json\Z")
_SEPARATORS = re.compile(r"[\s-]+")
_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")
_LAST_PART = re.compile(r"(?<![^.:/])[^.:/]*+\Z")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ADDRESSED = ("http://", "https://", "www.")
_KNOWN_ARGUMENTS = frozenset(
    (*words.QUERY_ARGUMENTS, *words.URL_ARGUMENTS, *words.DOCUMENT_ARGUMENTS, "pattern", "id", "answer")
)


@dataclass(frozen=True, slots=True)
class ToolNames:
    """Clean tool names by what the tool does; a trailing ``*`` stands for any rest."""

    search: frozenset[str] = words.SEARCH_TOOLS
    open: frozenset[str] = words.OPEN_TOOLS
    find: frozenset[str] = words.FIND_TOOLS
    other: frozenset[str] = words.OTHER_TOOLS
    """Never research, whatever the arguments are called."""
    own: tuple[tuple[str, CallKind, str], ...] = ()
    """What the user says: clean names with their kind and the argument that is the query or the address, if named."""

    def extended(
        self, search: Iterable[str] = (), open: Iterable[str] = (), find: Iterable[str] = (), other: Iterable[str] = ()
    ) -> "ToolNames":
        """The table with further names; a name keeps only its new kind."""
        new = {"search": frozenset(search), "open": frozenset(open), "find": frozenset(find), "other": frozenset(other)}
        moved = frozenset[str]().union(*new.values())
        return replace(self, **{kind: (getattr(self, kind) - moved) | names for kind, names in new.items()})

    def with_tools(self, text: str) -> "ToolNames":
        """The table with what the user says, as in ``lookup=search:for_what,lift=open``."""
        rows: list[tuple[str, CallKind, str]] = []
        for part in filter(None, map(str.strip, text.split(","))):
            name, _, rest = part.partition("=")
            spelled, _, argument = rest.partition(":")
            kind = next((one for one in _KINDS if one == spelled.strip()), None)
            if kind is None or not clean_name(name):
                raise UsageError(
                    f"--tools: {part!r}: expected NAME=search, open, find or other, as lookup=search:for_what"
                )
            rows.append((clean_name(name), kind, argument.strip()))
        kinds = {kind: [name for name, its, _ in rows if its == kind] for kind in _KINDS}
        return replace(self.extended(**kinds), own=(*self.own, *rows))

    def applied(self, call: "ToolCall") -> "ToolCall":
        """The call as the user says that it is to be read."""
        clean = clean_name(call.name)
        for name, kind, argument in self.own:
            if name in (clean, clean.rpartition("__")[2], clean.rpartition(".")[2]):
                given = {_MAIN[kind]: call.arguments[argument]} if argument in call.arguments and kind in _MAIN else {}
                return replace(call, kind=kind, arguments={**call.arguments, **given})
        return call

    def kind(self, name: object) -> CallKind | None:
        """What the tool of this name does, as logged or clean; None: the name is not in the table."""
        return _kind(self, name) if isinstance(name, str) else None

    def _row(self, name: str) -> CallKind | None:
        for kind in _KINDS:
            if name in getattr(self, kind):
                return kind
        for kind in _KINDS:
            if any(row.endswith("*") and name.startswith(row[:-1]) for row in getattr(self, kind)):
                return kind
        return None


@lru_cache(maxsize=4096)
def _kind(names: ToolNames, name: str) -> CallKind | None:
    clean = clean_name(name)
    last = _LAST_PART.search(clean)
    # ``browser.search``, ``mcp__tavily__search``, ``server/tool``: the whole name first, then its last part.
    parts = (clean, last[0] if last else "", clean.rpartition("__")[2], clean.removeprefix("browser_"))
    return next((kind for part in parts if part and (kind := names._row(part)) is not None), None)


def clean_name(name: object) -> str:
    """A tool's name in lower case, without harmony tokens, ``functions.`` and a glued ``json``."""
    if not isinstance(name, str):
        return ""
    bare = name[:_MAX_NAME].partition("<|")[0].strip().lower().removeprefix("functions.")
    # Agents spell the same tool web-search, Web Search and web_search.
    return _GLUED_JSON.sub("", _SEPARATORS.sub("_", bare))


TOOL_NAMES = ToolNames()
"""The names that the known agents use."""
_names_in_use: ContextVar[ToolNames] = ContextVar("tool names", default=TOOL_NAMES)


def names_in_use() -> ToolNames:
    """The table, with what the user says about tools of his own."""
    return _names_in_use.get()


@contextmanager
def using(names: ToolNames) -> Iterator[None]:
    """Records that are read inside are read with this table."""
    token = _names_in_use.set(names)
    try:
        yield
    finally:
        _names_in_use.reset(token)


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


def kind_of_call(name: object, arguments: Mapping[str, Any], names: ToolNames | None = None) -> CallKind:
    """What a call does, by the name of its tool and, where that leaves room, by the keys of its arguments."""
    known = (names or names_in_use()).kind(name)
    if known == "other":
        return "other"
    arguments = _plainly_keyed(arguments)
    has_query = not arguments.keys().isdisjoint(words.QUERY_ARGUMENTS)
    has_target = not arguments.keys().isdisjoint((*words.URL_ARGUMENTS, *words.DOCUMENT_ARGUMENTS))
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


def is_underway(name: object, arguments: Mapping[str, Any], names: ToolNames | None = None) -> bool:
    """Whether words before the call are a plan and no answer: it is research, or may be for all that is known of it."""
    if kind_of_call(name, arguments, names) != "other":
        return True
    is_unknown = isinstance(name, str) and (names or names_in_use()).kind(name) is None and not is_never_research(name)
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
    if not found.keys() & _KNOWN_ARGUMENTS:
        found = load_after(bare, _KNOWN_ARGUMENTS) or found
    # Plain text may hold a colon or an equals sign; only brackets show that an object was meant.
    if found and (bare[:1] in "{[(" or found.keys() & _KNOWN_ARGUMENTS):
        return found
    return {"input": bare} if bare and bare[0] not in "{[" else {}


def queries_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What a search call asked for; several for a batch, empty when it is not logged."""
    arguments = _plainly_keyed(arguments)
    return (
        _texts(arguments, words.QUERY_ARGUMENTS)
        or _texts(arguments, words.LOOSE_QUERY_ARGUMENTS)
        or _listed(asked_in(arguments))
    )


class Target(NamedTuple):
    """What a call asks to open."""

    value: str
    """A web address or an id."""
    is_document_id: bool
    """The argument's key says that the value is the id of a document, not a place in a list."""


def targets_of(arguments: Mapping[str, Any]) -> tuple[Target, ...]:
    """The pages or documents that an open or find call names; empty: the page at hand."""
    arguments = _plainly_keyed(arguments)
    for keys, is_document_id in ((words.URL_ARGUMENTS, False), (words.DOCUMENT_ARGUMENTS, True)):
        found = _texts(arguments, keys)
        if found:
            return tuple(Target(value, is_document_id) for value in found)
    return tuple(
        Target(value, False) for value in addresses_in(arguments) or _texts(arguments, words.LOOSE_TARGET_ARGUMENTS)
    )


def submitted_answer(call: ToolCall) -> str | None:
    """The answer that the call hands in; None when it is another kind of call."""
    if clean_name(call.name) not in words.SUBMIT_TOOLS and not _hands_in(call.name, call.arguments):
        return None
    for key in words.ANSWER_ARGUMENTS:
        value = call.arguments.get(key)
        text = plain_text(value)
        if text is None:
            text = next(iter(_listed(value)), None)
        if text is not None and text.strip():
            return encodable(trimmed(text))
    # An output of one field under any name is the answer, and one of several is it as a whole.
    given = list(call.arguments.values())
    said = plain_text(given[0]) if len(given) == 1 else as_answer(call.arguments) if given else None
    return encodable(trimmed(said)) if said is not None and said.strip() else None


def as_answer(value: object) -> str:
    """A structured answer as JSON, a text or a number as it is."""
    text = plain_text(value)
    return text if text is not None else json.dumps(value, ensure_ascii=False, default=str)


def _hands_in(name: object, given: Mapping[str, Any]) -> bool:
    """Whether an unknown tool is the form in which an SDK wants the answer: it has a field for it."""
    if not isinstance(name, str) or not any(plain_text(given.get(key)) for key in words.OWN_ANSWER_ARGUMENTS):
        return False
    is_other = any(key in given for key in (*words.QUERY_ARGUMENTS, *words.URL_ARGUMENTS, "question"))
    return not is_other and names_in_use().kind(name) is None and not is_never_research(name)


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
            item = next((item[key] for key in (*words.QUERY_ARGUMENTS, *words.URL_ARGUMENTS) if key in item), None)
        text = plain_text(item)
        if text is not None and text.strip():
            texts.append(encodable(text.strip()))
    return tuple(texts)


# ---- tools of unknown names


@lru_cache(maxsize=4096)
def words_of(name: str) -> frozenset[str]:
    """The words of a name in any spelling, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(name[:_MAX_NAME]))


def is_never_research(name: str) -> bool:
    """Whether a tool's name says that it writes, sends, counts or thinks."""
    spoken = words_of(name)
    return bool(spoken & words.NEVER_WORDS) or (bool(spoken & words.SELDOM_WORDS) and not spoken & words.SEARCH_WORDS)


def kind_by_words(name: str, arguments: Mapping[str, Any]) -> Literal["search", "open", "other"]:
    """What a tool does, by the words of its name and by whether it is given words or an address."""
    spoken = words_of(name)
    if is_never_research(name):
        return "other"
    if addresses_in(arguments):
        return "open"
    if not any(_is_words(value) for value in arguments.values()):
        return "other"
    if spoken & words.OPEN_WORDS and spoken & words.PAGE_WORDS:
        return "open"
    return "search" if spoken & (words.SEARCH_WORDS | words.SOURCE_WORDS) or {"look", "up"} <= spoken else "other"


def addresses_in(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that are web addresses, whatever they are called."""
    given = (one for value in arguments.values() for one in (value if isinstance(value, list) else (value,)))
    return tuple(one for one in given if _is_address(one))


def proposed(name: str, arguments: Mapping[str, Any]) -> str:
    """How a user may say what a tool of an unknown name does: ``lookup=search:for_what``."""
    kind = "open" if addresses_in(arguments) else "search"
    asked = addresses_in(arguments)[0] if kind == "open" else asked_in(arguments)
    key = next((key for key, value in arguments.items() if value == asked), None) if asked is not None else None
    return f"{clean_name(name)}={kind}" + (f":{key}" if key and key not in _KNOWN_ARGUMENTS else "")


def asked_in(arguments: Mapping[str, Any]) -> object:
    """The argument that says what to look for: by the words of its key, else the only one in words; None: unclear."""
    spoken = {key: value for key, value in arguments.items() if _is_words(value)}
    named = [value for key, value in spoken.items() if words_of(key) & words.ASK_WORDS]
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
