"""JSON as agents and loggers really write it: strict first, then Python-ish, cut off or with stray quotes.

Nothing is ever evaluated and nothing raises. Every scan is linear in the length of the text and bounded in depth.
"""

import ast
import json
import re
from typing import Any

import orjson

NOT_JSON = object()
"""What ``load_json`` gives for a text that is no JSON; None would be the JSON ``null``."""

MAX_LITERAL = 1_000_000
"""Characters; what Python printed beyond that is read as text."""
_MAX_DEPTH = 16
_SPACE = re.compile(r"\s*+")
_BETWEEN_OBJECTS = re.compile(r"[\s,]*+")
_STOP = re.compile(r"[\"'\\]")
_AFTER_STRING = re.compile(r"\s*+(?:[,:}\])]|\Z)")
_KEY = re.compile(r"\s*+[,;(]*+\s*+(?:([\"'])(\w[\w .$-]{0,60}+)\1|(\w[\w.$-]{0,60}+))\s*+[:=](?!/)\s*+")
_BARE = re.compile(r"[^,}\])\n]*+")
_BARE_OPENING = re.compile(r"\s*+(?:\[\s*+)?\{[ \t]*+\n\s*+[A-Za-z_]\w{0,60}+: ")
_BARE_FIELD = re.compile(r"(?m)^[ \t]*+([A-Za-z_]\w{0,60}+): (.*+)$")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?")


def load_json(text: str) -> Any:
    """The JSON value that the text is; NOT_JSON for anything else."""
    try:
        return orjson.loads(text)
    except ValueError:  # also lone surrogates, which only the standard library reads
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON


def load_literal(text: str) -> Any:
    """The lists, objects and strings that a text is as Python prints them; NOT_JSON for anything else."""
    if len(text) > MAX_LITERAL:
        return NOT_JSON
    try:
        value = ast.literal_eval(text.strip())  # parses constants and runs nothing
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return NOT_JSON
    return value if isinstance(value, list | dict | str) else NOT_JSON


def decoded_value(value: object) -> object:
    """The list or the object that a text spells, in JSON or as Python prints it; else the value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    found = load_json(value)
    if found is NOT_JSON and value[:2] in ("{'", "[{"):
        found = load_literal(value)
    return value if found is NOT_JSON else found


def load_objects(text: str) -> Any:
    """The objects that a text is, one after the other as in JSON Lines; NOT_JSON for anything else or only one."""
    found = _values(text)
    are_objects = found is not None and len(found) > 1 and all(isinstance(value, dict) for value, _ in found)
    return [value for value, _ in found] if found is not None and are_objects else NOT_JSON


def json_texts(text: str) -> list[str] | None:
    """The lists and objects that a text is, one after the other, each as it is written; None: it is something else."""
    found = _values(text)
    return None if found is None else [written for _, written in found]


def _values(text: str) -> list[tuple[Any, str]] | None:
    decoder = json.JSONDecoder()
    found: list[tuple[Any, str]] = []
    at = _BETWEEN_OBJECTS.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        if text[at] not in "{[":
            return None
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.append((value, text[at:end]))
        at = _BETWEEN_OBJECTS.match(text, end).end()  # type: ignore[union-attr]
    return found


def load_bare(text: str) -> Any:
    """The value that LlamaIndex of TypeScript prints without quotes, a field a line; NOT_JSON for anything else."""
    return load_json(_BARE_FIELD.sub(_quoted_field, text)) if _BARE_OPENING.match(text) else NOT_JSON


def _quoted_field(field: re.Match[str]) -> str:
    key, value = field[1], field[2]
    bare = value.removesuffix(",")
    return f'"{key}": ' + (value if bare in ("[", "{", "[]", "{}") else json.dumps(bare) + value[len(bare) :])


def load_loosely(text: str) -> dict[str, Any]:
    """The keys and values of an object, or of ``key=value`` pairs, as far as they can be made out."""
    scan = _Scan(text)
    scan.at = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text.startswith("{", scan.at):
        scan.at += 1
    return scan.pairs(0)


def load_after(text: str, keys: frozenset[str]) -> dict[str, Any]:
    """The values behind the first mention of each of these keys, wherever it stands."""
    found: dict[str, Any] = {}
    for mention in re.finditer(r"(?<![\w$])[\"']?(\w{1,40}+)[\"']?\s*+[:=](?!/)\s*+", text):
        if mention[1] in keys and mention[1] not in found:
            scan = _Scan(text)
            scan.at = mention.end()
            value = scan.value(0)
            if value not in (None, ""):
                found[mention[1]] = value
            if len(found) == len(keys):
                break
    return found


class _Scan:
    """A position in a text, moved forward by what is read."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def pairs(self, depth: int) -> dict[str, Any]:
        """``key: value`` until the object or the text ends; stops at what is neither."""
        found: dict[str, Any] = {}
        while key := _KEY.match(self.text, self.at):
            self.at = key.end()
            found.setdefault(key[2] or key[3], self.value(depth))
        self._pass("}")
        return found

    def value(self, depth: int) -> Any:
        start = self.text[self.at : self.at + 1]
        if start and start in "\"'":
            return self._string(start)
        if start and start in "{[" and depth < _MAX_DEPTH:
            self.at += 1
            return self.pairs(depth + 1) if start == "{" else self._items(depth + 1)
        bare = _BARE.match(self.text, self.at)
        self.at = bare.end() if bare else len(self.text)
        return _scalar(bare[0].strip() if bare else "")

    def _items(self, depth: int) -> list[Any]:
        found: list[Any] = []
        while True:
            self._pass(",")
            if self.at >= len(self.text) or self.text[self.at] in "]})":
                self._pass("]")
                return found
            before = self.at
            found.append(self.value(depth))
            if self.at == before:  # a character that no value begins with
                self.at += 1

    def _string(self, quote: str) -> str:
        # A quote inside the text, as in 'it's', is not followed by what may follow a string.
        start = at = self.at + 1
        while stop := _STOP.search(self.text, at):
            at = stop.end()
            if stop[0] == "\\":
                at += 1
            elif stop[0] == quote and _AFTER_STRING.match(self.text, at):
                self.at = at
                return _unescaped(self.text[start : at - 1])
        self.at = len(self.text)
        return _unescaped(self.text[start:])

    def _pass(self, mark: str) -> None:
        space = _SPACE.match(self.text, self.at)
        at = space.end() if space else self.at
        if self.text.startswith(mark, at):
            at += 1
            space = _SPACE.match(self.text, at)
            at = space.end() if space else at
        self.at = at


def _scalar(word: str) -> Any:
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    number = _NUMBER.fullmatch(word)
    if number is None:
        return word
    return float(word) if number[1] else int(word)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda seen: chr(int(seen[1], 16)) if seen[1] else _ESCAPED.get(seen[2], seen[2]), text)
