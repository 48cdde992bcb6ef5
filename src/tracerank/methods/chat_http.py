"""Chat with any OpenAI-compatible server: OpenAI, vLLM, llama.cpp, Ollama.

Retries what may pass (408, 429, 5xx, timeouts, cut connections) and says of everything else what to do. The key is
read for each request and kept nowhere.
"""

import os
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from tracerank.embedding.http_config import KEY_VARIABLE, HttpConfig
from tracerank.embedding.http_reply import CutReply, names_no_model, read_json, retry_after, says_too_long, server_words
from tracerank.errors import ChatError, EmbeddingError
from tracerank.methods.chat import ChatMessage, ChatReply, TokenLogprob


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """One model behind one server; holds the name of the key's variable, never the key."""

    url: str
    """Address of the server, with or without ``/v1`` or ``/v1/chat/completions``; without user name or query."""
    model: str
    """The model's name as the server knows it."""
    timeout: float = 120.0
    """Seconds without progress after which a request counts as failed."""
    retries: int = 5
    """Further attempts after 408, 429, 5xx, a timeout or a cut connection."""
    first_delay: float = 0.5
    """Seconds before the first retry; doubled each time, less up to half of it by chance."""
    longest_delay: float = 60.0
    """Seconds that any wait may take; a server that asks for more with Retry-After ends the attempt."""
    wants_logprobs: bool = False
    """Ask for the log probability of each token of the reply."""
    key_variable: str | None = None
    """Environment variable with the key, which must then be set; None takes TRACERANK_API_KEY if that is set."""

    def __post_init__(self) -> None:
        try:
            _ = self._server
        except EmbeddingError as error:
            raise ChatError(str(error)) from None

    @property
    def _server(self) -> HttpConfig:
        """The same server as the embedding client sees it: it checks the address and finds the key."""
        return HttpConfig(
            self.url.rstrip("/").removesuffix("/chat/completions"),
            self.model,
            timeout=self.timeout,
            retries=self.retries,
            first_delay=self.first_delay,
            longest_delay=self.longest_delay,
            key_variable=self.key_variable,
        )

    @property
    def root(self) -> str:
        return self._server.root

    @property
    def endpoint(self) -> str:
        return f"{self.root}/chat/completions"

    @property
    def key_source(self) -> str | None:
        """The variable that holds the key; OpenAI's own is sent to OpenAI only."""
        return self._server.key_source


@dataclass(frozen=True, slots=True)
class _Failure:
    """An attempt that another one may repair."""

    reason: str
    delay: float = 0.0
    """Least seconds to wait, as the server asked."""


class HttpChat:
    """A chat model behind a server; safe to share between threads."""

    def __init__(
        self,
        config: ChatConfig,
        pause: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.config = config
        self._pause = pause
        self._chance = chance
        self._http = httpx.Client(timeout=httpx.Timeout(config.timeout, pool=None))

    def __repr__(self) -> str:
        return f"HttpChat({self.name!r})"

    @property
    def name(self) -> str:
        """Server and model: one model's replies differ between servers."""
        return f"{self.config.root}#{self.config.model}"

    def reply(
        self, messages: Sequence[ChatMessage], *, max_tokens: int, temperature: float = 0.0, seed: int | None = None
    ) -> ChatReply:
        """The model's reply; an empty one is an error, because nothing can be concluded from it."""
        body: dict[str, Any] = {
            "model": self.config.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        if seed is not None:
            body["seed"] = seed
        if self.config.wants_logprobs:
            body["logprobs"] = True
        reply = self._post(body)
        while reply.status_code == 400 and (other := _understood(body, self._words(reply))) is not None:
            body = other
            reply = self._post(body)
        if reply.status_code != 200:
            raise self._refusal(reply)
        return _read_reply(self._value(reply), self.config.endpoint)

    def close(self) -> None:
        """Ends the connections; the model cannot be asked afterwards."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _post(self, body: dict[str, Any]) -> httpx.Response:
        """The first answer that is final, good or bad."""
        attempts = 0
        while True:
            answer = self._attempt(body)
            if isinstance(answer, httpx.Response):
                return answer
            attempts += 1
            if attempts > self.config.retries:
                tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
                raise ChatError(f"{self.config.endpoint}: gave up after {tries}: {answer.reason}")
            self._pause(self._delay(attempts - 1, answer))

    def _attempt(self, body: dict[str, Any]) -> httpx.Response | _Failure:
        try:
            reply = self._http.post(self.config.endpoint, json=body, headers=self._headers())
        except httpx.TimeoutException:
            return _Failure(f"no answer within {self.config.timeout:g} s")
        except httpx.RequestError as error:
            return _Failure(f"no connection or a cut one ({type(error).__name__}: {error})")
        if reply.status_code == 200:
            try:
                self._value(reply)
            except CutReply:
                return _Failure("the answer was cut off")
            return reply
        passing = reply.status_code in (408, 429) or reply.status_code >= 500
        hopeless = "insufficient_quota" in reply.text or reply.status_code == 501
        words = self._words(reply)
        if passing and not hopeless and not says_too_long(reply.status_code, words):
            return _Failure(f"HTTP {reply.status_code}: {words}", retry_after(reply.headers.get("retry-after")))
        return reply

    def _delay(self, attempt: int, failure: _Failure) -> float:
        longest = self.config.longest_delay
        if failure.delay > longest:
            asked = f"asks to wait {failure.delay:.0f} s, more than {longest:g} s"
            raise ChatError(f"{self.config.endpoint}: {asked} ({failure.reason})")
        backoff = min(longest, self.config.first_delay * 2.0**attempt)
        return max(failure.delay, backoff * (1.0 - 0.5 * self._chance()))

    def _refusal(self, reply: httpx.Response) -> ChatError:
        status, words, url = reply.status_code, self._words(reply), self.config.endpoint
        if names_no_model(status, words, reply.text):
            hint = "check the address and the model's name"
            return ChatError(f"{url}: no model {self.config.model!r} (HTTP {status}: {words}); {hint}")
        if status in (401, 403):
            source = self.config.key_source
            if source is None:
                return ChatError(f"{url}: the server wants a key (HTTP {status}); put it in ${KEY_VARIABLE}")
            return ChatError(f"{url}: the server refuses the key in ${source} (HTTP {status})")
        return ChatError(f"{url}: HTTP {status}: {words or reply.reason_phrase}")

    def _key(self) -> str | None:
        source = self.config.key_source
        if source is None:
            return None
        key = os.environ.get(source, "").strip()
        if not re.fullmatch(r"[!-~]+", key):  # httpx would quote the key while complaining
            state = "holds a character no key has" if key else "is not set; put the server's key in it"
            raise ChatError(f"{self.config.endpoint}: ${source} {state}")
        return key

    def _headers(self) -> dict[str, str]:
        key = self._key()
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def _words(self, reply: httpx.Response) -> str:
        return server_words(reply.content, self._key())

    def _value(self, reply: httpx.Response) -> Any:
        try:
            value = read_json(reply.content, self.config.endpoint)
        except EmbeddingError as error:
            raise ChatError(str(error)) from None
        if isinstance(value, dict) and value.get("error"):
            raise ChatError(f"{self.config.endpoint}: answered with an error: {self._words(reply)}")
        return value


def _understood(body: dict[str, Any], words: str) -> dict[str, Any] | None:
    """The request as a stricter server wants it; None when nothing is left to change."""
    if "max_tokens" in body and "max_completion_tokens" in words:
        return {name: value for name, value in body.items() if name != "max_tokens"} | {
            "max_completion_tokens": body["max_tokens"]
        }
    for name in ("temperature", "seed", "logprobs"):
        if name in body and re.search(rf"\b{name}\b", words):
            return {other: value for other, value in body.items() if other != name}
    return None


def _read_reply(value: Any, url: str) -> ChatReply:
    choices = value.get("choices") if isinstance(value, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ChatError(f"{url}: answered without a list 'choices' of messages; is it an OpenAI-compatible server?")
    text = _text(message.get("content"))
    if not text.strip():
        why = " before max_tokens were used up; allow more" if choice.get("finish_reason") == "length" else ""
        raise ChatError(f"{url}: the model said nothing{why}")
    usage = value.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return ChatReply(
        text, _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")), _logprobs(choice)
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def _logprobs(choice: dict[str, Any]) -> tuple[TokenLogprob, ...] | None:
    given = choice.get("logprobs")
    rows = given.get("content") if isinstance(given, dict) else None
    if not isinstance(rows, list):
        return None
    return tuple(
        TokenLogprob(str(row.get("token", "")), float(row["logprob"]))
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("logprob"), int | float)
    )
