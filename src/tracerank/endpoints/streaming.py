"""Streamed chat replies (server-sent events) put together again: the same JSON that the server sends unstreamed.

Servers differ. Some leave out the empty lines between events, so events are read line by line. Some give every call
the index 0, some give none; the id stands in the first piece only. The count of tokens comes last, with no choices
beside it. Errors come as data, or in a field of their own. ``[DONE]`` may be missing.
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
            yield from (line.removesuffix(b"\r") for line in lines)
    if held:
        yield bytes(held)


class Malformed(Exception):
    """A piece that is not a JSON object: something is missing, and the rest cannot be trusted."""


class Assembly:
    """A reply while its pieces come in."""

    def __init__(self) -> None:
        self.has_lines = False
        """Something has come, if only a sign of life."""
        self.is_finished = False
        """The reply is complete; the count of tokens may still follow."""
        self.is_closed = False
        """Nothing more comes."""
        self.error: dict[str, Any] | None = None
        """What the server says went wrong, as an unstreamed answer has it."""
        self._has_choice = False
        self._text: list[str] = []
        self._thoughts: dict[str, list[str]] = {name: [] for name in REASONING_FIELDS}
        self._calls: list[dict[str, Any]] = []
        self._call_at: dict[int, dict[str, Any]] = {}
        self._logprobs: list[Any] | None = None
        self._finish: str | None = None
        self._usage: dict[str, Any] | None = None

    def take(self, line: bytes) -> bool:
        """One line of the stream; whether it was data, not only a sign that the connection is alive."""
        self.has_lines = True
        field, _, rest = line.partition(b":")
        data = rest.strip()
        if field not in (b"data", b"error") or not data:
            return False
        if data == _DONE:
            self.is_finished = self.is_closed = True
            return True
        try:
            piece = json.loads(data)
        except (ValueError, RecursionError):
            raise Malformed from None
        if not isinstance(piece, dict):
            raise Malformed
        if field == b"error" or piece.get("error") or piece.get("object") == "error":
            self.error = {"error": piece.get("error") or piece}
            self.is_closed = True
            return True
        if isinstance(usage := piece.get("usage"), dict):
            self._usage = usage  # some servers send the sum so far with every piece
        choices = piece.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._add_choice(choice)
        return True

    def value(self) -> dict[str, Any]:
        """The reply as the server would have sent it in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        message |= {name: "".join(parts) for name, parts in self._thoughts.items() if parts}
        if self._calls:
            message["tool_calls"] = [_call_record(call) for call in self._calls]
        logprobs = None if self._logprobs is None else {"content": self._logprobs}
        choice = {"index": 0, "message": message, "finish_reason": self._finish, "logprobs": logprobs}
        return {"choices": [choice] if self._has_choice else [], "usage": self._usage}

    def _add_choice(self, choice: dict[str, Any]) -> None:
        self._has_choice = True
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._add_delta(delta)
        logprobs = choice.get("logprobs")
        rows = logprobs.get("content") if isinstance(logprobs, dict) else None
        if isinstance(rows, list):
            self._logprobs = self._logprobs or []
            self._logprobs.extend(rows)
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]
            self.is_finished = True

    def _add_delta(self, delta: dict[str, Any]) -> None:
        self._text.append(text_in(delta.get("content")))
        thoughts = {name: found for name in REASONING_FIELDS if (found := text_in(delta.get(name)))}
        if not thoughts and (found := reasoning_in(delta)):  # in parts of the content
            thoughts = {REASONING_FIELDS[0]: found}
        for name, found in thoughts.items():
            self._thoughts[name].append(found)
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._add_call(piece)

    def _add_call(self, piece: dict[str, Any]) -> None:
        given = piece.get("function")
        given = given if isinstance(given, dict) else {}
        identity, name, arguments = piece.get("id") or None, given.get("name"), given.get("arguments")
        index = piece["index"] if type(piece.get("index")) is int else None
        last = self._calls[-1] if self._calls else None
        call = last if index is None else self._call_at.get(index)
        if call is None or (name and _is_another(call, identity, index)):
            call = {"id": None, "name": "", "arguments": []}
            self._calls.append(call)
        if index is not None:
            self._call_at[index] = call
        call["id"] = call["id"] or (identity if isinstance(identity, str) else None)
        call["name"] = call["name"] or (name if isinstance(name, str) else "")  # some repeat it every time
        if arguments is not None:
            call["arguments"].append(arguments if isinstance(arguments, str) else json.dumps(arguments))


def _call_record(call: dict[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": "".join(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}


def _is_another(call: dict[str, Any], identity: object, index: int | None) -> bool:
    """Whether a piece with a name begins a call of its own: by its id, also at an index that is taken."""
    if identity:
        return call["id"] is not None and call["id"] != identity
    return index is None and bool(call["name"])
