"""The inputs and outputs of spans: who asked what, what was said, and chat messages in any spelling.

Tracers log whatever a function was given: a text, JSON in a text, a state with messages, a wrapper around it. Each
function takes anything, bounded in depth, and never raises.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from tracerank.readers.results import flat_text
from tracerank.readers.sources.loose_json import NOT_JSON, load_json
from tracerank.readers.values import plain_text, text_of

_DEEPEST = 6
_ASKED_KEYS = (
    *(
        "question",
        "query",
        "user_query",
        "input",
        "task",
        "prompt",
        "user_input",
        "user_message",
        "user_prompt",
        "text",
    ),
    *(
        "instruction",
        "message",
        "new_message",
        "content",
        "inputs",
        "kwargs",
        "args",
        "request",
        "state",
        "value",
        "data",
        "goal",
    ),
)
_SAID_KEYS = (
    *("final_answer", "answer", "final_output", "output", "result", "response", "completion", "content", "text"),
    *("message", "return_values", "outputs", "generations", "kwargs", "value", "data", "final_result"),
)
_MESSAGE_KEYS = ("messages", "input_messages", "output_messages", "chat_history", "choices", "generations")
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "developer": "system"}
_TEXT_TYPES = ("text", "output_text", "input_text")
_CALL_TYPES = ("tool_call", "tool_use", "function_call", "server_tool_call")
_RETURN_TYPES = ("tool_call_response", "tool_result", "function_call_output", "server_tool_call_response")


def asked_text(value: object) -> str | None:
    """What the user asked, in the input of an agent, a model or a retriever; None: nothing that could be it."""
    return _found(value, _ASKED, _DEEPEST)


def said_text(value: object) -> str | None:
    """What was said last, in the output of an agent or a model; None: nothing, or only tool calls."""
    return _found(value, _SAID, _DEEPEST)


def stated_text(value: object) -> str | None:
    """An answer in fields of its own, as structured output gives it; None where it is something else."""
    plain = _plain(value)
    if not isinstance(plain, Mapping) or not plain or _is_message(plain) or "tool_calls" in plain:
        return None
    if any(key in plain for key in _MESSAGE_KEYS):
        return None
    return orjson.dumps(plain, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def structured(output: object) -> object:
    """What a tool returned, out of the message or wrapper in which the tracer logged it."""
    value = output
    for _ in range(4):
        value = _plain(value)
        if not isinstance(value, Mapping):
            break
        inner = value.get("kwargs") if "lc" in value else value.get("output") if len(value) == 1 else None
        if inner is None and value.get("type") in ("tool", "ToolMessage"):
            inner = value.get("content", value.get("data"))
        if inner is None:
            break
        value = inner
    return value


# ---- one text in a value


class _Side(NamedTuple):
    """What is looked for: the words of one side of a conversation."""

    keys: tuple[str, ...]
    role: str
    of_messages: Callable[[list[dict[str, Any]]], str | None]


def _found(value: object, side: _Side, depth: int) -> str | None:
    plain = _plain(value)
    if isinstance(plain, str):
        return plain if plain.strip() else None
    if depth == 0 or plain is None or isinstance(plain, bool):
        return None
    if isinstance(plain, list):
        if _are_messages(plain):
            return side.of_messages(chat_messages(plain, side.role))
        return _found(plain[0], side, depth - 1) if len(plain) == 1 else None
    if not isinstance(plain, Mapping):
        return plain_text(plain)
    if _is_message(plain):
        return side.of_messages(chat_messages([plain], side.role))
    for key in _MESSAGE_KEYS:
        inner = _plain(plain.get(key))
        if isinstance(inner, list) and (text := side.of_messages(chat_messages(inner, side.role))):
            return text
    return next(filter(None, (_found(plain[key], side, depth - 1) for key in side.keys if key in plain)), None)


def _plain(value: object) -> object:
    """JSON that was logged as text as what it says; any other text as it stands."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        decoded = load_json(value)
        return decoded if decoded is not NOT_JSON and isinstance(decoded, dict | list | str) else value
    return value


def _first_user(messages: list[dict[str, Any]]) -> str | None:
    users = (message["content"] for message in messages if message["role"] == "user")
    return next((text for text in users if isinstance(text, str) and text.strip()), None)


def _last_assistant(messages: list[dict[str, Any]]) -> str | None:
    for message in reversed(messages):
        if message["role"] == "tool":
            return None
        if message["role"] == "assistant" and not message.get("tool_calls"):
            text = message["content"]
            return text if isinstance(text, str) and text.strip() else None
    return None


_ASKED = _Side(_ASKED_KEYS, "user", _first_user)
_SAID = _Side(_SAID_KEYS, "assistant", _last_assistant)


# ---- messages


def chat_messages(value: object, role: str = "user") -> list[dict[str, Any]]:
    """The messages in a value, in the spelling of ``chat.py``; ``role`` is whose words a bare text is."""
    plain = _plain(value)
    if isinstance(plain, Mapping):
        inner = next((found for key in _MESSAGE_KEYS if isinstance(found := _plain(plain.get(key)), list)), None)
        plain = [plain] if inner is None else inner
    if isinstance(plain, str):
        return [{"role": role, "content": plain}] if plain.strip() else []
    return [made for item in _flat(plain, 2) for made in _messages(item, role)]


def _flat(value: object, depth: int) -> Iterator[object]:
    """The items of a list; LangChain logs a list of conversations."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and depth:
            yield from _flat(item, depth - 1)
        else:
            yield item


def _messages(item: object, role: str) -> Iterator[dict[str, Any]]:
    if not isinstance(item, Mapping):
        return
    for key in ("message", "kwargs", "data"):  # choices of OpenAI and LangChain, LangChain's constructors
        inner = item.get(key)
        if isinstance(inner, Mapping) and ("content" in inner or "role" in inner or "kwargs" in inner):
            inner = inner["kwargs"] if isinstance(inner.get("kwargs"), Mapping) else inner
            item = {"type": item.get("type"), **inner}
            break
    parts = item.get("parts", item.get("content"))
    parts = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    if item.get("type") in (*_CALL_TYPES, *_RETURN_TYPES):  # an item of the Responses API
        parts, speaker = [item], "assistant"
    else:
        speaker = _role(item, role)
    calls = [_call(call) for call in _calls_of(item) if isinstance(call, Mapping)]
    calls += [_call(part) for part in parts if part.get("type") in _CALL_TYPES]
    returns = [part for part in parts if part.get("type") in _RETURN_TYPES]
    content = _text(item, parts, "" if speaker == "assistant" else "\n")
    if speaker == "tool" and not returns:
        name, call_id = item.get("name"), item.get("tool_call_id", item.get("id"))
        yield {"role": "tool", "name": name, "tool_call_id": call_id, "content": content or item.get("content")}
    elif content or calls or not returns:
        yield {"role": speaker, "content": content, "tool_calls": calls}
    for part in returns:
        yield _return(part)


def _role(item: Mapping[str, Any], role: str) -> str:
    said = item.get("role") or item.get("type")
    named = said.lower().removesuffix("messagechunk").removesuffix("message") if isinstance(said, str) else ""
    named = _ROLES.get(named, named)
    return named if named in ("user", "assistant", "tool", "system") else role


def _calls_of(item: Mapping[str, Any]) -> list[Any]:
    found = item.get("tool_calls")
    extra = item.get("additional_kwargs")
    if not found and isinstance(extra, Mapping):
        found = extra.get("tool_calls")
    return found if isinstance(found, list) else []


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    inner = call.get("function")
    function = inner if isinstance(inner, Mapping) else call
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    identity = call.get("call_id") or call.get("id")
    return {"id": identity, "function": {"name": function.get("name"), "arguments": arguments}}


def _return(part: Mapping[str, Any]) -> dict[str, Any]:
    identity = next((part[key] for key in ("tool_use_id", "call_id", "id") if part.get(key)), None)
    keys = ("response", "result", "output", "content")
    output = next((part[key] for key in keys if part.get(key) is not None), None)
    return {"role": "tool", "tool_call_id": identity, "content": output, "is_error": part.get("is_error") is True}


def _text(item: Mapping[str, Any], parts: list[Mapping[str, Any]], between: str) -> str:
    content = item.get("content", item.get("text"))
    if isinstance(content, str):
        return content
    texts = (part for part in parts if part.get("type") in _TEXT_TYPES or ("type" not in part and "text" in part))
    found = [text_of(dict(part)) or flat_text(part.get("content")) for part in texts]
    return between.join(text for text in found if text)


def _are_messages(value: list[Any]) -> bool:
    return any(_is_message(item) for item in _flat(value, 2))


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    if "lc" in value or isinstance(value.get("message"), Mapping):
        return True
    is_typed = value.get("type") in ("human", "ai", "tool", "system", *_CALL_TYPES, *_RETURN_TYPES)
    has_parts = "parts" in value and isinstance(value["parts"], list)  # Gemini's first messages name no role
    return has_parts or ("role" in value and "content" in value) or (is_typed and len(value) > 1)
