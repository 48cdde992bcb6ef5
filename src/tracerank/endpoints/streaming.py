"""Streamed chat replies (server-sent events), joined into the JSON that the server sends unstreamed.

Servers differ: some leave out the empty lines between events, some the mark at the end; some give every call the
index 0, some none; an error may come as data or in a field of its own.
"""

import json
import re
from typing import Any

from tracerank.endpoints.chat import REASONING_FIELDS

_FIELD = re.compile(rb"\s*(data|event|id|retry|error)?:")


def is_stream(body: bytes | bytearray) -> bool:
    """Whether these are events, comments included; JSON and pages do not begin so."""
    return _FIELD.match(body) is not None


def joined(stream: bytes) -> dict[str, Any] | None:
    """The reply, or ``{"error": …}``; None: the stream ends too early, or a part of it cannot be read."""
    message: dict[str, Any] = {"content": [], "tool_calls": []}
    whole: dict[str, Any] = {"choices": [{"message": message}]}
    is_complete = False
    for line in stream.splitlines():
        field, _, data = line.partition(b":")
        if field not in (b"data", b"error") or not data.strip():
            continue
        if data.strip() == b"[DONE]":
            return whole
        try:
            piece = json.loads(data)
            if field == b"error" or piece.get("error"):
                return {"error": piece.get("error") or piece}
            whole["usage"] = piece.get("usage") or whole.get("usage")  # the sum so far, or last of all
            for choice in piece.get("choices") or ():
                _add(whole["choices"][0], message, choice)
                is_complete = is_complete or bool(choice.get("finish_reason"))
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None
    return whole if is_complete else None


def _add(whole: dict[str, Any], message: dict[str, Any], choice: dict[str, Any]) -> None:
    whole["finish_reason"] = choice.get("finish_reason") or whole.get("finish_reason")
    if rows := (choice.get("logprobs") or {}).get("content"):
        whole.setdefault("logprobs", {"content": []})["content"].extend(rows)
    delta = choice.get("delta") or {}
    content = delta.get("content") or []
    message["content"] += [{"type": "text", "text": content}] if isinstance(content, str) else content
    for name in REASONING_FIELDS:
        if delta.get(name):
            message[name] = message.get(name, "") + delta[name]
    for piece in delta.get("tool_calls") or ():
        _add_call(message["tool_calls"], piece)


def _add_call(calls: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    index, identity, given = piece.get("index"), piece.get("id"), piece.get("function") or {}
    call = next((one for one in reversed(calls) if one["index"] == index), None)
    is_another = call is not None and (identity != call["id"] if identity else index is None)
    if call is None or (given.get("name") and is_another):
        call = {"index": index, "id": identity, "function": {"name": given.get("name"), "arguments": ""}}
        calls.append(call)
    arguments = given.get("arguments") or ""
    call["function"]["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)
