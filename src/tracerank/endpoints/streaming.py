"""Streamed chat replies (server-sent events) put together again: the same JSON that the server sends unstreamed.

Servers differ. Events are read line by line, because some servers leave out the empty lines between them. Calls come
in pieces by index; some servers give every call the index 0, some give none; the id stands in the first piece only.
Thinking comes under one of two names, or both. The count of tokens comes last, with no choices beside it. Errors come
as data, or in a field of their own. ``[DONE]`` may be missing.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tracerank.endpoints.chat import REASONING_FIELDS, reasoning_in, text_in

_FIELD = re.compile(rb"(data|event|id|retry|error)?:")
_DONE = b"[DONE]"


def is_event_line(line: bytes) -> bool:
    """Whether the line belongs to a stream of events, comments included; JSON and pages do not begin so."""
    return _FIELD.match(line) is not None


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines in pieces of bytes, each without its end; work in proportion to the bytes."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(held).split(b"\n")
            held = bytearray(rest)
            for line in lines:
                yield line.removesuffix(b"\r")
    if held:
        yield bytes(held)


class Malformed(Exception):
    """A piece that is no JSON object: something is missing, and what came cannot be trusted."""


class Assembly:
    """A reply while its pieces come in."""

    def __init__(self) -> None:
        self.has_lines = False
        """Something has come, if only a sign of life."""
        self.is_begun = False
        """A token has come: a word, a thought or a piece of a call."""
        self.is_finished = False
        """The server has said that nothing more comes."""
        self.error: dict[str, Any] | None = None
        """What the server says went wrong, as an unstreamed answer has it."""
        self._has_choice = False
        self._text: list[str] = []
        self._thoughts: dict[str, list[str]] = {name: [] for name in REASONING_FIELDS}
        self._calls = _Calls()
        self._logprobs: list[Any] | None = None
        self._finish: str | None = None
        self._usage: dict[str, Any] | None = None

    def take(self, line: bytes) -> bool:
        """One line of the stream; whether it was data, not a sign that the connection is alive."""
        self.has_lines = True
        field, _, rest = line.partition(b":")
        data = rest.strip()
        if field not in (b"data", b"error") or not data:
            return False
        if data == _DONE:
            self.is_finished = True
            return True
        try:
            piece = json.loads(data)
        except (ValueError, RecursionError):
            raise Malformed from None
        if not isinstance(piece, dict):
            raise Malformed
        if field == b"error" or piece.get("error") or piece.get("object") == "error":
            self.error = {"error": piece.get("error") or piece}
        else:
            self._add(piece)
        return True

    def value(self) -> dict[str, Any]:
        """The reply as the server would have sent it in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        message |= {name: "".join(parts) for name, parts in self._thoughts.items() if parts}
        if self._calls.made:
            message["tool_calls"] = self._calls.records()
        logprobs = None if self._logprobs is None else {"content": self._logprobs}
        choice = {"index": 0, "message": message, "finish_reason": self._finish, "logprobs": logprobs}
        return {"choices": [choice] if self._has_choice else [], "usage": self._usage}

    def _add(self, piece: dict[str, Any]) -> None:
        usage, choices = piece.get("usage"), piece.get("choices")
        if isinstance(usage, dict):
            self._usage = usage  # some servers send the sum so far with every piece
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._has_choice = True
                self._add_choice(choice)

    def _add_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._add_delta(delta)
        logprobs = choice.get("logprobs")
        rows = logprobs.get("content") if isinstance(logprobs, dict) else None
        if isinstance(rows, list):
            self._logprobs = [] if self._logprobs is None else self._logprobs
            self._logprobs.extend(rows)
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]
            self.is_finished = True

    def _add_delta(self, delta: dict[str, Any]) -> None:
        text = text_in(delta.get("content"))
        self._text.append(text)
        thoughts = {name: found for name in REASONING_FIELDS if (found := text_in(delta.get(name)))}
        if not thoughts and (found := reasoning_in(delta)):  # in parts of the content
            thoughts = {REASONING_FIELDS[0]: found}
        for name, found in thoughts.items():
            self._thoughts[name].append(found)
        calls = delta.get("tool_calls")
        pieces = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        for call in pieces:
            self._calls.add(call)
        self.is_begun = self.is_begun or bool(text or thoughts or pieces)


class _Call:
    """One call while its pieces come in."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.name = ""
        self.arguments: list[str] = []

    def add(self, identity: object, name: object, arguments: object) -> None:
        if self.id is None and isinstance(identity, str) and identity:
            self.id = identity
        if not self.name and isinstance(name, str):
            self.name = name  # some servers repeat it with every piece
        if isinstance(arguments, str):
            self.arguments.append(arguments)
        elif arguments is not None:
            self.arguments.append(json.dumps(arguments))

    def record(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


class _Calls:
    """Calls in the order in which they began."""

    def __init__(self) -> None:
        self.made: list[_Call] = []
        self._at: dict[int, _Call] = {}

    def add(self, piece: dict[str, Any]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        identity, name, index = piece.get("id"), function.get("name"), piece.get("index")
        place = index if type(index) is int else None
        call = self._at.get(place) if place is not None else (self.made[-1] if self.made else None)
        if call is None or (name and _is_another(call, identity, place)):
            call = _Call()
            self.made.append(call)
        if place is not None:
            self._at[place] = call
        call.add(identity, name, function.get("arguments"))

    def records(self) -> list[dict[str, Any]]:
        return [call.record() for call in self.made]


def _is_another(call: _Call, identity: object, place: int | None) -> bool:
    """Whether a piece with a name begins a call of its own: by its id, also at a place that is taken."""
    if identity:
        return call.id is not None and call.id != identity
    return place is None and bool(call.name)
