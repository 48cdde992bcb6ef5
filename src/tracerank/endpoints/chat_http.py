"""Chat with any OpenAI-compatible server: OpenAI, vLLM, llama.cpp, Ollama."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar

from tracerank.endpoints.chat import (
    ChatMessage,
    ChatReply,
    ChatTool,
    EmptyReply,
    PromptTooLong,
    Sampling,
    TokenLogprob,
    message_to_record,
    record_to_message,
)
from tracerank.endpoints.client import Closing, EndpointClient, Pause, Server, says_too_long
from tracerank.errors import ChatError, TraceRankError


@dataclass(frozen=True, slots=True)
class ChatConfig(Server):
    """One chat model behind one server."""

    path: ClassVar[str] = "chat/completions"
    error: ClassVar[type[TraceRankError]] = ChatError

    timeout: float = 120.0
    """Seconds without progress after which a request counts as failed."""
    wants_logprobs: bool = False
    """Ask for the log probability of each token of the reply."""


class HttpChat(Closing):
    """A chat model behind a server; safe to share between threads."""

    def __init__(
        self, config: ChatConfig, pause: Pause = Event.wait, chance: Callable[[], float] = random.random
    ) -> None:
        self.config = config
        self._endpoint = EndpointClient(config, pause, chance)

    def __repr__(self) -> str:
        return f"HttpChat({self.name!r})"

    @property
    def name(self) -> str:
        """Server and model: one model's replies differ between servers."""
        return f"{self.config.root}#{self.config.model}"

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        """The model's reply; one that says nothing is an error, because nothing can be concluded from it."""
        body = _request(self.config, messages, sampling, tools)
        reply = self._endpoint.post(body)
        while reply.status_code == 400 and (other := _understood(body, self._endpoint.words(reply))) is not None:
            body = other
            reply = self._endpoint.post(body)
        if reply.status_code != 200:
            error = self._endpoint.refusal(reply)
            is_long = says_too_long(reply.status_code, self._endpoint.words(reply))
            raise PromptTooLong(str(error)) if is_long else error
        return _read_reply(self._endpoint.value(reply), self.config.endpoint)

    def close(self) -> None:
        """Ends the connections; the model cannot be asked afterwards."""
        self._endpoint.close()


def _request(
    config: ChatConfig, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool]
) -> dict[str, Any]:
    optional = {
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
        "logprobs": config.wants_logprobs or sampling.top_logprobs > 0 or None,
        "top_logprobs": sampling.top_logprobs or None,
        "tools": [{"type": "function", "function": _function(tool)} for tool in tools] or None,
        "parallel_tool_calls": False if sampling.one_call and tools else None,
    }
    return {
        "model": config.model,
        "messages": [message_to_record(message) for message in messages],
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
    } | {name: value for name, value in optional.items() if value is not None}


def _function(tool: ChatTool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _understood(body: dict[str, Any], words: str) -> dict[str, Any] | None:
    """The request as a stricter server wants it; None when nothing is left to change."""
    if "max_tokens" in body and "max_completion_tokens" in words:
        return {name: value for name, value in body.items() if name != "max_tokens"} | {
            "max_completion_tokens": body["max_tokens"]
        }
    for name in ("temperature", "top_p", "seed", "top_logprobs", "logprobs", "parallel_tool_calls"):
        if name in body and re.search(rf"\b{name}\b", words):
            unwanted = ("logprobs", "top_logprobs") if name == "logprobs" else (name,)
            return {other: value for other, value in body.items() if other not in unwanted}
    return None


def _read_reply(value: Any, url: str) -> ChatReply:
    choices = value.get("choices") if isinstance(value, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ChatError(f"{url}: answered without a list 'choices' of messages; is it an OpenAI-compatible server?")
    usage = value.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    said = record_to_message(message)
    reply = ChatReply(
        said.content,
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        _logprobs(choice),
        said.tool_calls,
        choice.get("finish_reason") == "length",
    )
    if not reply.text.strip() and not reply.tool_calls:
        why = " before max_tokens were used up; allow more" if reply.is_cut else ""
        raise EmptyReply(f"{url}: the model said nothing{why}", reply)
    return reply


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def _logprobs(choice: dict[str, Any]) -> tuple[TokenLogprob, ...] | None:
    given = choice.get("logprobs")
    rows = given.get("content") if isinstance(given, dict) else None
    return _tokens(rows) if isinstance(rows, list) else None


def _tokens(rows: object) -> tuple[TokenLogprob, ...]:
    return tuple(
        TokenLogprob(str(row.get("token", "")), float(row["logprob"]), _tokens(row.get("top_logprobs")))
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("logprob"), int | float)
    )
