"""OpenAI's two APIs for text: chat completions, and responses.

A reply of either is read as the message of an assistant. A call of the function that a request forces is the answer,
not a step: its arguments are compared by their fields. A stream carries the whole reply in a few pieces.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracerank.endpoints.chat import text_in

Reply = Mapping[str, Any]
CHAT, RESPONSES = "chat/completions", "responses"
"""Paths, which identify the API."""
MAX_CHOICES = 16
"""Choices in a reply to a request for one; more are refused."""
OWN_FIELD = "tracerank"
"""Field of the reply that says how it was sampled."""
_ENVELOPE = ("id", "created", "model", "system_fingerprint", "service_tier")
"""What every piece of a stream repeats."""


def messages_of(body: Mapping[str, Any]) -> list[Any]:
    """The conversation that a request continues."""
    given = body["input"] if "input" in body else body["messages"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def message_in(reply: Reply) -> dict[str, Any] | None:
    """The message of a reply; None: it has none."""
    if "output" not in reply:
        choices = reply.get("choices")
        choice = choices[0] if isinstance(choices, list) and 0 < len(choices) <= MAX_CHOICES else None
        message = choice.get("message") if isinstance(choice, dict) else None
        return {**message, "role": "assistant"} if isinstance(message, dict) else None
    items = reply["output"]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    texts = "".join(text_in(item.get("content")) for item in items if item.get("type") == "message")
    calls = [{"type": "function", "function": item} for item in items if item.get("type") == "function_call"]
    return {"role": "assistant", "content": texts, "tool_calls": calls}


def forced_function(body: Mapping[str, Any]) -> str | None:
    """The one function that a reply to the request must call; None: there is none."""
    choice, tools = body.get("tool_choice"), body.get("tools")
    if choice in ("required", "any") and isinstance(tools, Sequence) and len(tools) == 1:
        choice = tools[0]
    if not isinstance(choice, Mapping) or choice.get("type") != "function":
        return None
    function = choice.get("function")
    name = choice.get("name") or (function.get("name") if isinstance(function, Mapping) else None)
    return name if isinstance(name, str) else None


def chat_pieces(completion: Reply, wants_usage: bool) -> Iterator[dict[str, Any]]:
    """A completion as a server streams it: the message, the finish reason with all that comes once, the usage."""
    about = {name: completion[name] for name in _ENVELOPE if name in completion}
    about = {"id": "chatcmpl-tracerank", "created": 0, "model": "", **about, "object": "chat.completion.chunk"}
    choice = completion["choices"][0]
    delta = {**{name: value for name, value in choice["message"].items() if value is not None}, "role": "assistant"}
    if isinstance(calls := delta.get("tool_calls"), list):
        known = [call for call in calls if isinstance(call, dict)]
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(known)]
    logprobs = {"logprobs": choice["logprobs"]} if choice.get("logprobs") else {}
    yield {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None, **logprobs}]}
    once = {name: value for name, value in completion.items() if name not in ("choices", "usage", "object")}
    finish: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason") or "stop"}
    yield {**once, **about, "choices": [finish]}
    if wants_usage:
        yield {**about, "choices": [], "usage": completion.get("usage")}


def response_events(response: Reply) -> Iterator[dict[str, Any]]:
    """A response as a server streams it: each item empty, then its text, then whole; at the end the response."""
    begun = {**response, "output": [], "status": "in_progress"}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        at, content = {"output_index": index, "item_id": item.get("id")}, item.get("content")
        parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        empty: dict[str, Any] = {"content": [{**part, "text": ""} for part in parts]} if parts else {}
        empty |= {"arguments": ""} if "arguments" in item else {}
        events.append({"type": "response.output_item.added", **at, "item": {**item, **empty}})
        for number, text in enumerate(part.get("text") for part in parts):
            if isinstance(text, str):
                delta = {"content_index": number, "delta": text, "logprobs": []}
                events.append({"type": "response.output_text.delta", **at, **delta})
        if isinstance(arguments := item.get("arguments"), str):
            events.append({"type": "response.function_call_arguments.delta", **at, "delta": arguments})
        events.append({"type": "response.output_item.done", **at, "item": item})
    events.append({"type": "response.completed", "response": response})
    return ({**event, "sequence_number": number} for number, event in enumerate(events))
