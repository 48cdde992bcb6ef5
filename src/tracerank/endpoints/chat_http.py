"""Chat with any OpenAI-compatible server: OpenAI, vLLM, llama.cpp, Ollama.

Replies are streamed, so that a busy server is not taken for a stuck one, nor its connection for an idle one. Parts
of a request that a server refuses are left out from then on, streaming among them.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

from tracerank.endpoints.chat import (
    REASONING_FIELDS,
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
from tracerank.endpoints.client import EndpointClient
from tracerank.endpoints.server import MILLION, Server, read_address
from tracerank.errors import ChatError, TraceRankError, UsageError

CHAT_SECONDS = 3600.0
"""For a reply: 10,000 tokens, the paper's limit, at three a second, as llama.cpp writes them on two slow cores."""


@dataclass(frozen=True, slots=True)
class ChatConfig(Server):
    """One chat model behind one server."""

    path: ClassVar[str] = "chat/completions"
    error: ClassVar[type[TraceRankError]] = ChatError
    most_bytes: ClassVar[int] = 64 * MILLION
    """Of an answer: 10,000 tokens with their log probabilities are 20 million."""
    more_time: ClassVar[str] = "--chat-time"

    timeout: float = CHAT_SECONDS
    wants_logprobs: bool = False
    """Ask for the log probability of each token of the reply."""


def chat_config(address: str, time: str | None = None, **settings: Any) -> ChatConfig:
    """The model behind ``URL#MODEL``; ``time``: seconds for a reply, as ``--chat-time`` has them."""
    url, model = read_address(address)
    try:
        seconds = CHAT_SECONDS if time is None else float(time)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e7:
        raise UsageError(f"--chat-time {time!r}: expected the seconds that a reply may take, for example 3600")
    return ChatConfig(url, model, timeout=seconds, **settings)


class HttpChat:
    """A chat model behind a server; safe to share between threads."""

    def __init__(self, config: ChatConfig) -> None:
        self.config = config
        self._endpoint = EndpointClient(config)
        self._without: frozenset[str] = frozenset()
        """Parts of a request that the server has refused."""
        self._thinks_in = REASONING_FIELDS[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._endpoint.close()

    @property
    def name(self) -> str:
        """Server and model: one model's replies differ between servers."""
        return f"{self.config.root}#{self.config.model}"

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        """The model's reply; one that says nothing is an error, because nothing can be concluded from it."""
        while True:
            body = self._request(messages, sampling, tools)
            answer = self._endpoint.post(body)
            if answer.status == 200:
                return self._read(answer.value, sampling)
            if answer.status not in (400, 422):
                break
            if (unwanted := _unwanted(body, answer.words)) is not None:
                self._without |= unwanted
            elif (room := _room(answer.words, sampling.max_tokens)) is not None:
                sampling = replace(sampling, max_tokens=room)
            else:
                break
        error = self._endpoint.refusal(answer)
        if answer.says_miswritten:  # what the model wrote and what it cost is not reported
            raise EmptyReply(f"{error}; the model called a tool in a form of its own", ChatReply("", 0, 0))
        raise PromptTooLong(str(error)) if answer.says_too_long else error

    def _request(
        self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool]
    ) -> dict[str, Any]:
        is_newer = "max_tokens" in self._without
        parts = {
            "model": self.config.model,
            "messages": [self._turn(message) for message in messages],
            "max_completion_tokens" if is_newer else "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or None,
            "logprobs": self.config.wants_logprobs or sampling.top_logprobs > 0 or None,
            "top_logprobs": sampling.top_logprobs or None,
            "tools": [{"type": "function", "function": asdict(tool)} for tool in tools] or None,
            "parallel_tool_calls": False if sampling.one_call and tools else None,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return {name: value for name, value in parts.items() if value is not None and name not in self._without}

    def _turn(self, message: ChatMessage) -> dict[str, Any]:
        """The turn as the server takes it: with its thoughts if it calls a tool, for which some servers want them
        back, and which templates leave out of other turns."""
        record = message_to_record(message)
        thoughts = record.pop(REASONING_FIELDS[0], None)
        if thoughts and message.tool_calls and REASONING_FIELDS[0] not in self._without:
            record[self._thinks_in] = thoughts
        return record

    def _read(self, value: Any, sampling: Sampling) -> ChatReply:
        url = self.config.endpoint
        try:
            choice = value["choices"][0]
            message = dict(choice["message"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise ChatError(
                f"{url}: answered without a list 'choices' of messages; is it an OpenAI-compatible server?"
            ) from None
        self._thinks_in = next((name for name in REASONING_FIELDS if message.get(name)), self._thinks_in)
        usage, logprobs = value.get("usage"), choice.get("logprobs")
        counts = usage if isinstance(usage, dict) else {}
        rows = logprobs.get("content") if isinstance(logprobs, dict) else None
        said, is_cut = record_to_message(message), choice.get("finish_reason") == "length"
        reply = ChatReply(
            said.content,
            _count(counts.get("prompt_tokens")),
            _count(counts.get("completion_tokens")),
            _tokens(rows) if isinstance(rows, list) else None,
            said.tool_calls,
            is_cut,
            said.reasoning,
        )
        if not (reply.spoken if is_cut else reply.text).strip() and not reply.tool_calls:
            used = f" until the {sampling.max_tokens:,} tokens that a reply may have were used up"
            way_out = "; allow more (--max-tokens of rollouts, --chat-tokens of methods)"
            raise EmptyReply(f"{url}: the model said nothing{used + way_out if is_cut else ''}", reply)
        return reply


_OPTIONAL = {
    "stream_options": ("stream_options",),
    # llama.cpp refuses log probabilities with tools in a stream: they are worth more than the stream.
    "(?i:stream|streaming)": ("stream", "stream_options"),
    "parallel_tool_calls": ("parallel_tool_calls",),
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "seed": ("seed",),
    "top_logprobs": ("top_logprobs",),
    "logprobs": ("logprobs", "top_logprobs"),
}
"""Words by which a server refuses a part of a request, and what is then left out."""


def _unwanted(body: dict[str, Any], words: str) -> frozenset[str] | None:
    """What a stricter server wants left out of the request, in its words; None: nothing that could be."""
    if "max_tokens" in body and "max_completion_tokens" in words and "too large" not in words:
        return frozenset(("max_tokens",))
    for named, parts in _OPTIONAL.items():
        if parts[0] in body and re.search(rf"\b{named}\b", words):
            return frozenset(parts)
    is_thinking_sent = any(name in turn for turn in body["messages"] for name in REASONING_FIELDS)
    if is_thinking_sent and re.search(r"\breasoning(_content)?\b", words):
        return frozenset(REASONING_FIELDS)
    return None


_CONTEXT = re.compile(r"context length is (?:only )?([0-9]{1,9})")
_SENT = re.compile(r"([0-9]{1,9}) (?:input tokens|in the messages|tokens from the input)")
_LEAST_ROOM = 256
"""Tokens of a reply for which asking again is worth it."""


def _room(words: str, max_tokens: int) -> int | None:
    """Tokens that the context leaves for the reply, where the server says that we asked for more; None: it does not."""
    context, sent = _CONTEXT.search(words), _SENT.search(words)
    room = int(context[1]) - int(sent[1]) if context and sent else 0
    return room if _LEAST_ROOM <= room < max_tokens else None


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def _tokens(rows: object) -> tuple[TokenLogprob, ...]:
    return tuple(
        TokenLogprob(str(row.get("token", "")), float(row["logprob"]), _tokens(row.get("top_logprobs")))
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("logprob"), int | float)
    )
