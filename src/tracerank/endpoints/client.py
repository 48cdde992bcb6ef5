"""One request to a server: address and key from what a user says, retries, and errors that say what to do.

Knows nothing of what is asked. The key is read for each request and kept nowhere.
"""

import email.utils
import json
import os
import random
import re
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

import httpx

from tracerank.endpoints.receiving import MILLION, Incoming, LateAnswer, Patience, UnfitAnswer
from tracerank.errors import TraceRankError

KEY_VARIABLE = "TRACERANK_API_KEY"
OPENAI_VARIABLE, OPENAI_DOMAIN = "OPENAI_API_KEY", "openai.com"
"""OpenAI's key is sent to OpenAI only: any other server could keep it."""


class Closing(ABC):
    """What is closed at the end of a ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Ends the connections; nothing can be asked afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Server:
    """One model behind one OpenAI-compatible server; holds the name of the key's variable, never the key."""

    path: ClassVar[str] = ""
    """What follows the version in the address of the endpoint."""
    error: ClassVar[type[TraceRankError]] = TraceRankError
    """What is raised when the server cannot be used."""
    kind: ClassVar[str] = "an OpenAI-compatible server"
    """What it should be, in words for the user."""
    form: ClassVar[str] = "http://HOST[:PORT][/v1]"
    """How its address is written."""
    usual_key: ClassVar[str] = KEY_VARIABLE
    """The variable whose key is sent if it is set."""

    url: str
    """Address of the server, with or without ``/v1`` or the whole endpoint; without user name or query."""
    model: str
    """The model's name as the server knows it; empty: it serves one thing only."""
    timeout: float = 60.0
    """Seconds without progress after which a request counts as failed."""
    retries: int = 5
    """Further attempts after 408, 429, 5xx, a timeout or a cut connection."""
    first_delay: float = 0.5
    """Seconds before the first retry; doubled each time, less up to half of it by chance."""
    longest_delay: float = 60.0
    """Seconds that any wait may take; a server that asks for more with Retry-After ends the attempt."""
    key_variable: str | None = None
    """Environment variable with the key, which must then be set; None takes ``usual_key`` if that is set."""
    concurrency: int = 4
    """Requests under way at once."""
    whole: float = 600.0
    """Seconds that one attempt may take, however busy the connection is."""

    most_bytes: ClassVar[int] = 256 * MILLION
    """Of an answer."""
    late_retries: ClassVar[int | None] = None
    """Of the further attempts, those after one that took too long; None: all of them."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            raise self.error(f"the server's address is damaged; expected {self.form}") from None
        if parts.username or parts.password or parts.query or parts.fragment:
            # The address is not repeated: it may hold a key.
            raise self.error(
                "the server's address must be without user, query and fragment; put the key in $"
                + (self.key_variable or self.usual_key)
            )
        if not is_server:
            raise self.error(f"{self.url!r} is no server; expected {self.form} or https://…")
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {self.concurrency}")
        if self.timeout <= 0 or self.whole <= 0 or self.retries < 0 or self.first_delay < 0 or self.longest_delay < 0:
            raise ValueError("timeout and whole must be positive; retries and delays must not be negative")

    @property
    def root(self) -> str:
        """The address up to and with its version: ``http://host/v1``."""
        address = self.url.rstrip("/")
        if self.path and address.endswith(f"/{self.path}"):
            return address.removesuffix(self.path).rstrip("/")
        return address if re.search(r"/v\d+$", address) else f"{address}/v1"

    @property
    def endpoint(self) -> str:
        return f"{self.root}/{self.path}"

    @property
    def key_source(self) -> str | None:
        """The variable that holds the key; None when no key is to be sent."""
        if self.key_variable is not None:
            return self.key_variable
        host = urlsplit(self.url).hostname or ""
        is_openai = host == OPENAI_DOMAIN or host.endswith(f".{OPENAI_DOMAIN}")
        names = (self.usual_key, OPENAI_VARIABLE) if is_openai else (self.usual_key,)
        return next((name for name in names if os.environ.get(name, "").strip()), None)

    def read_key(self) -> str | None:
        """The key as the environment has it now; None when the server is used without one."""
        if self.key_source is None:
            return None
        key = os.environ.get(self.key_source, "").strip()
        if not key:
            raise self.error(f"{self.endpoint}: ${self.key_source} is not set; put the server's key in it")
        if not re.fullmatch(r"[!-~]+", key):  # httpx would quote the key while complaining
            raise self.error(f"{self.endpoint}: the key in ${self.key_source} holds a character no key has")
        return key


_TOO_LONG = re.compile(r"too (long|large)|context (length|size|window)|larger than", re.I)
_OVER_A_LIMIT = re.compile(r"too many|longer than|exceed|maximum|batch size", re.I)
_NO_MODEL = re.compile(
    r"model\b.*\b(not found|not exist|unknown|invalid|not available|not supported)"
    r"|(unknown|invalid|no such|unsupported)\b.*\bmodel|model_not_found",
    re.I,
)


class CutReply(Exception):
    """The body ends before the JSON does."""


def read_json(body: bytes) -> Any:
    """The reply's value; NaN is let through so that it can be named later."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("answered with JSON that is nested too deeply") from None
    except ValueError:
        if body.lstrip()[:1] in (b"", b"{", b"["):
            raise CutReply from None
    raise ValueError("answered something that is not JSON")


def server_words(body: bytes, secret: str | None) -> str:
    """The server's own error message on one short line, without the key even where the server repeats it."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    if value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
    if secret:
        text = text.replace(secret, "***")
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


SECRET_CHARACTERS = 8
"""A shorter key is none: servers that want no key are given "none" or "x", which also stand in answers."""


def without_secret(value: Any, secret: str | None) -> Any:
    """The reply, without the key where a server repeats it: replies are kept, and answers are shown."""
    if not secret or len(secret) < SECRET_CHARACTERS:
        return value
    root = [value]
    todo: list[Any] = [root]
    while todo:  # not by recursion: whoever answers decides how deep it is
        holder = todo.pop()
        if isinstance(holder, dict):
            for name in [name for name in holder if secret in name]:
                holder[name.replace(secret, "***")] = holder.pop(name)
        for place, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, str) and secret in item:
                holder[place] = item.replace(secret, "***")
            elif isinstance(item, dict | list):
                todo.append(item)
    return root[0]


def says_too_long(status: int, words: str) -> bool:
    """Whether fewer or shorter texts would help."""
    if status == 413:
        return True
    if "dimension" in words.lower():  # of the vectors, not of the text
        return False
    if status in (400, 422):
        return bool(_TOO_LONG.search(words) or _OVER_A_LIMIT.search(words))
    return status == 500 and bool(_TOO_LONG.search(words))  # llama.cpp says 500


def names_no_model(status: int, words: str, body: str) -> bool:
    """Whether the server does not have the model, or not for this key."""
    if status in (400, 422):
        return bool(_NO_MODEL.search(words)) and not says_too_long(status, words)
    return status == 404 or (status == 403 and "model_not_found" in body)


def retry_after(value: str | None) -> float:
    """Seconds of a Retry-After header, which is a number or a date; 0 when it says nothing."""
    if value is None:
        return 0.0
    if re.fullmatch(r"\d+(\.\d+)?", value.strip()):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


Pause = Callable[[Event, float], object]
"""Waits that many seconds, or until the event is set."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """An attempt that another one may repair."""

    reason: str
    delay: float = 0.0
    """Least seconds to wait, as the server asked."""
    is_late: bool = False
    """The server took too long: what was asked may be what keeps it busy."""
    is_unreached: bool = False
    """Nobody answered at all."""


class EndpointClient:
    """Posts JSON to one server; safe to share between threads."""

    def __init__(self, server: Server, pause: Pause = Event.wait, chance: Callable[[], float] = random.random) -> None:
        self.server = server
        self._pause = pause
        self._chance = chance
        self._has_answered = False
        limits = httpx.Limits(max_connections=server.concurrency, max_keepalive_connections=server.concurrency)
        # Nothing compressed: what comes is counted as it comes.
        self._http = httpx.Client(limits=limits, headers={"Accept-Encoding": "identity"})
        # Who asks through it may have no end of its own, as methods have none.
        self._end = weakref.finalize(self, self._http.close)

    def patience(self, body: dict[str, Any] | None) -> Patience:
        """How long the server may be silent before it begins to answer this."""
        return Patience(self.server.timeout, f"no answer within {self.server.timeout:g} s")

    def post(self, body: dict[str, Any], stop: Event | None = None) -> httpx.Response:
        """The first answer that is final, good or bad; ``stop`` ends the waiting for a better one."""
        stop = stop or Event()
        attempts = late = 0
        while True:
            answer = self._attempt(body)
            if isinstance(answer, httpx.Response):
                self._has_answered = self._has_answered or answer.status_code == 200
                return answer
            attempts += 1
            late += answer.is_late
            allowed = self.server.late_retries
            is_over = attempts > self.server.retries or (allowed is not None and late > allowed)
            if not is_over:
                self._pause(stop, self._delay(attempts - 1, answer))
            if is_over or stop.is_set():
                tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
                raise self._failed(f"gave up after {tries}: {answer.reason}", ends_all=answer.is_unreached)
            if answer.is_late:
                body = self.after_late(body, late)

    def after_late(self, body: dict[str, Any], late: int) -> dict[str, Any]:
        """What is asked after so many attempts that took too long."""
        return body

    def is_final(self, words: str) -> bool:
        """Whether a server that says so fails again if it is asked the same."""
        return False

    def value(self, reply: httpx.Response) -> Any:
        """The JSON of a good answer."""
        try:
            value = read_json(reply.content)
        except ValueError as error:
            raise self._failed(f"{error}; is it {self.server.kind}?") from None
        if isinstance(value, dict) and value.get("error"):
            raise self._failed(f"answered with an error: {self.words(reply)}")
        return without_secret(value, self.server.read_key())

    def words(self, reply: httpx.Response) -> str:
        """The server's own words in a bad answer, without the key."""
        return server_words(reply.content, self.server.read_key())

    def refusal(self, reply: httpx.Response) -> TraceRankError:
        """What a bad answer means for the user."""
        status, words = reply.status_code, self.words(reply)
        if self.server.model and names_no_model(status, words, reply.text):
            models = self._models()
            known = f"the server has: {', '.join(models)}" if models else "check the address and the model's name"
            return self._failed(f"no model {self.server.model!r} (HTTP {status}: {words}); {known}", ends_all=True)
        if status in (401, 403):
            source = self.server.key_source
            if source is None:
                wants = f"the server wants a key (HTTP {status}); put it in ${self.server.usual_key}"
                return self._failed(wants, ends_all=True)
            return self._failed(f"the server refuses the key in ${source} (HTTP {status})", ends_all=True)
        return self._failed(f"HTTP {status}: {words or reply.reason_phrase}")

    def close(self) -> None:
        self._end()

    def received(self, incoming: Incoming) -> tuple[int, bytes]:
        """Status and body of an answer that comes in."""
        body = bytearray()
        for chunk in incoming.chunks():
            incoming.expect(incoming.patience)
            body += chunk
        return incoming.reply.status_code, bytes(body)

    def _failed(self, what: str, ends_all: bool = False) -> TraceRankError:
        error = self.server.error(f"{self.server.endpoint}: {what}")
        # Who has answered once can be reached, and was content with key and model.
        error.ends_all = ends_all and not self._has_answered
        return error

    def _attempt(self, body: dict[str, Any]) -> httpx.Response | _Failure:
        try:
            reply = self._exchanged("POST", self.server.endpoint, body)
        except LateAnswer as error:
            return _Failure(str(error), is_late=True)
        except httpx.ConnectTimeout:
            return _Failure(f"no connection within {self.server.timeout:g} s", is_unreached=True)
        except httpx.TimeoutException:
            return _Failure(self.patience(body).otherwise, is_late=True)
        except CutReply:
            return _Failure("the answer was cut off")
        except UnfitAnswer as error:
            raise self._failed(str(error)) from None
        except httpx.RequestError as error:
            is_unreached = isinstance(error, httpx.ConnectError)
            reason = f"no connection or a cut one ({type(error).__name__}: {error})"
            return _Failure(reason, is_unreached=is_unreached)
        if reply.status_code == 200:
            try:
                self.value(reply)
            except CutReply:
                return _Failure("the answer was cut off")
            return reply
        words = self.words(reply)
        passing = reply.status_code in (408, 429) or reply.status_code >= 500
        hopeless = "insufficient_quota" in reply.text or reply.status_code == 501
        if passing and not hopeless and not says_too_long(reply.status_code, words) and not self.is_final(words):
            return _Failure(f"HTTP {reply.status_code}: {words}", retry_after(reply.headers.get("retry-after")))
        return reply

    def _exchanged(self, method: str, url: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """One request and its answer, all of it."""
        began = time.monotonic()
        patience = self.patience(body)
        timeout = httpx.Timeout(self.server.timeout, read=patience.seconds, pool=None)
        request = self._http.build_request(method, url, json=body, headers=self._headers(), timeout=timeout)
        with closing(self._opened(request)) as reply:
            with Incoming(reply, self.server.most_bytes, began, self.server.whole, patience) as incoming:
                status, content = self.received(incoming)
            after = reply.headers.get("retry-after")
            if not self._end.alive:  # closed while this connection was made, so that it was not among the closed ones
                reply.extensions["network_stream"].close()
        return httpx.Response(status, headers={} if after is None else {"retry-after": after}, content=content)

    def _opened(self, request: httpx.Request) -> httpx.Response:
        try:
            return self._http.send(request, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            # A kept connection that the server has closed just now, as llama.cpp does after a stream: a new one may do.
            return self._http.send(request, stream=True)

    def _delay(self, attempt: int, failure: _Failure) -> float:
        longest = self.server.longest_delay
        if failure.delay > longest:
            raise self._failed(f"asks to wait {failure.delay:.0f} s, more than {longest:g} s ({failure.reason})")
        backoff = min(longest, self.server.first_delay * 2.0**attempt)
        return max(failure.delay, backoff * (1.0 - 0.5 * self._chance()))

    def _models(self) -> list[str]:
        """Names of the server's models; empty when it does not tell."""
        try:
            reply = self._exchanged("GET", f"{self.server.root}/models")
            data = read_json(reply.content)["data"] if reply.status_code == 200 else []
            return sorted(str(model["id"]) for model in data)
        except (httpx.HTTPError, LateAnswer, UnfitAnswer, CutReply, ValueError, KeyError, TypeError):
            return []

    def _headers(self) -> dict[str, str]:
        key = self.server.read_key()
        return {} if key is None else {"Authorization": f"Bearer {key}"}
