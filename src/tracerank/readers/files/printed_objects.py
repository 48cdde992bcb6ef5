"""What Python prints of objects, ``Step(number=1, calls=[Call(name='search')])``, as plain values.

A class becomes the field ``type`` beside its own; what has no written form (``<Thing at 0x7f>``) becomes None. Nothing
is evaluated, imported or called. Linear in the length of the text and bounded in depth.
"""

import ast
import re
from typing import Any

from tracerank.readers.files.loose_json import NOT_JSON

_DEEPEST = 40
_LONGEST = 20_000_000
_BLANK, _SPACE = re.compile(r"\s*+"), re.compile(r"[\s,]*+")
_NAME = re.compile(r"[A-Za-z_][\w.]{0,200}+")
_STRING = re.compile(r"""[bru]{0,2}('[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")""", re.DOTALL | re.I)
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]{0,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,3})?|inf|nan)", re.I)
_ENUM = re.compile(r"<[\w.]{1,100}: ('[^'\n]{0,200}'|\d{1,18})>")
_OPAQUE = re.compile(r"<[^<>\n]{0,500}>")
_WORDS = {"None": None, "True": True, "False": False}
TYPE = "type"
"""Field under which an object keeps the name of its class, unless it has one of its own."""


def load_printed(text: str) -> Any:
    """The object or list that a text is as Python prints it; NOT_JSON for anything else."""
    if len(text) > _LONGEST:
        return NOT_JSON
    scan = _Scan(text)
    try:
        value = scan.value(_DEEPEST)
    except _Broken:
        return NOT_JSON
    return value if isinstance(value, dict | list) and scan.is_done() else NOT_JSON


class _Broken(Exception):
    """The text is no printed value."""


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def is_done(self) -> bool:
        self._pass()
        return self._at == len(self._text)

    def value(self, depth: int) -> Any:
        self._pass()
        if depth == 0:
            raise _Broken
        start = self._text[self._at : self._at + 1]
        if start in ("[", "("):
            self._at += 1
            return self._items("]" if start == "[" else ")", depth - 1)
        if start == "{":
            self._at += 1
            return self._pairs(depth - 1)
        if (enum := self._take(_ENUM)) is not None:
            return ast.literal_eval(enum[1])
        if self._take(_OPAQUE) is not None:
            return None
        if (string := self._take(_STRING)) is not None:
            return self._joined(string)
        if (number := self._take(_NUMBER)) is not None:
            return _number(number[0])
        return self._named(depth)

    def _joined(self, first: re.Match[str]) -> str:
        """A string, also one that was printed in several pieces."""
        pieces = [_string(first)]
        while (more := _STRING.match(self._text, _BLANK.match(self._text, self._at).end())) is not None:  # type: ignore[union-attr]
            self._at = more.end()
            pieces.append(_string(more))
        return "".join(pieces)

    def _named(self, depth: int) -> Any:
        name = self._take(_NAME)
        if name is None:
            raise _Broken
        if name[0] in _WORDS:
            return _WORDS[name[0]]
        if self._text[self._at : self._at + 1] != "(":
            return name[0]  # a constant by its name
        self._at += 1
        fields = self._fields(depth - 1)
        fields.setdefault(TYPE, name[0].rpartition(".")[2])
        return fields

    def _fields(self, depth: int) -> dict[str, Any]:
        """``name=value`` up to the bracket; values without a name are kept in order under ``args``."""
        fields: dict[str, Any] = {}
        while not self._closes(")"):
            key = _NAME.match(self._text, self._at)
            if key is not None and self._text[key.end() : key.end() + 1] == "=":
                self._at = key.end() + 1
                fields[key[0]] = self.value(depth)
            else:
                fields.setdefault("args", []).append(self.value(depth))
        return fields

    def _items(self, close: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while not self._closes(close):
            found.append(self.value(depth))
        return found

    def _pairs(self, depth: int) -> Any:
        """An object, or the items of a set."""
        found: dict[str, Any] = {}
        items: list[Any] = []
        while not self._closes("}"):
            key = self.value(depth)
            self._pass()
            if self._text[self._at : self._at + 1] == ":":
                self._at += 1
                found[str(key)] = self.value(depth)
            else:
                items.append(key)
        return found or items or {}

    def _closes(self, mark: str) -> bool:
        self._pass()
        if self._at >= len(self._text):
            raise _Broken
        is_end = self._text[self._at] == mark
        self._at += is_end
        return is_end

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._pass()
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _pass(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space is not None else self._at


def _string(found: re.Match[str]) -> str:
    try:
        value = ast.literal_eval(found[0].lstrip("bBrRuU"))  # one string constant and nothing else
    except (ValueError, SyntaxError, MemoryError):
        raise _Broken from None
    return str(value)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
