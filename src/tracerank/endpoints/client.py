"""One request to a server: the one retry policy, limits of time and size, and errors that say what to do.

Knows nothing of what is asked. The key is read for each request and kept nowhere.
"""

import json
import re
import socket
import time
import weakref
from contextlib import closing, suppress
from threading import Event, Thread
from typing import Any, NamedTuple

import httpx
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_any,
    stop_when_event_set,
    wait_exponential,
    wait_random,
)
from tenacity.nap import sleep_using_event

from tracerank.endpoints.server import MILLION, Server
from tracerank.endpoints.streaming import is_stream, joined
from tracerank.errors import TraceRankError

MAX_CONNECT_SECONDS = 60.0
FIRST_DELAY, MAX_DELAY = 0.5, 60.0
"""Seconds before the first retry, doubled each time, with jitter; and that any wait may take."""


class PassingFailure(Exception):
    """A failed attempt after which another one may succeed."""

    def __init__(self, reason: str, delay: float = 0.0, *, is_unreached: bool = False) -> None:
        super().__init__(reason)
        self.delay = delay
        """Least seconds to wait, as the server asked."""
        self.is_unreached = is_unreached
        """There was no connection at all."""


class Answer(NamedTuple):
    """What a server answered, without the key where it repeats that."""

    status: int
    value: Any
    """The JSON of a good answer."""
    words: str = ""
    """The server's own words in a bad one."""
    code: str = ""
    """``insufficient_quota`` or ``model_not_found`` where it says so."""
    delay: float = 0.0
    """Seconds that the server asks to wait."""

    @property
    def says_too_long(self) -> bool:
        """Whether fewer or shorter texts would help."""
        if self.status == 413:
            return True
        if "dimension" in self.words.lower():  # of the vectors, not of the text
            return False
        if self.status in (400, 422):
            return bool(_TOO_LONG.search(self.words) or _OVER_A_LIMIT.search(self.words))
        return self.status == 500 and bool(_TOO_LONG.search(self.words))  # llama.cpp says 500

    @property
    def says_miswritten(self) -> bool:
        """Whether the server could not read what its model wrote: asked the same, it fails again."""
        return _MISWRITTEN.search(self.words) is not None

    @property
    def names_no_model(self) -> bool:
        """Whether the server does not have the model, or not for this key."""
        if self.status in (400, 422):
            return bool(_NO_MODEL.search(self.words)) and not self.says_too_long
        return self.status == 404 or (self.status == 403 and self.code == "model_not_found")

    @property
    def may_pass(self) -> bool:
        """Whether the same request may be answered later."""
        hopeless = self.code == "insufficient_quota" or self.status == 501 or self.says_miswritten
        return (self.status in (408, 429) or self.status >= 500) and not hopeless and not self.says_too_long


_MISWRITTEN = re.compile(r"model produced output that does not match|failed to parse (?:tool call|input at pos)", re.I)
"""What llama.cpp says with HTTP 500 where the model has called a tool in a form that it cannot read."""
_TOO_LONG = re.compile(r"too (long|large)|context (length|size|window)|larger than", re.I)
_OVER_A_LIMIT = re.compile(r"too many|longer than|exceed|maximum|batch size", re.I)
_NO_MODEL = re.compile(
    r"model\b.*\b(not found|not exist|unknown|invalid|not available|not supported)"
    r"|(unknown|invalid|no such|unsupported)\b.*\bmodel|model_not_found",
    re.I,
)


class EndpointClient:
    """Posts JSON to one server; safe to share between threads."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._has_answered = False
        limits = httpx.Limits(max_connections=server.concurrency, max_keepalive_connections=server.concurrency)
        timeout = httpx.Timeout(server.timeout, connect=min(server.timeout, MAX_CONNECT_SECONDS), pool=None)
        # Nothing compressed: what comes is counted as it comes.
        self._http = httpx.Client(limits=limits, timeout=timeout, headers={"Accept-Encoding": "identity"})
        self.close = weakref.finalize(self, self._http.close)  # methods that ask through it are never closed

    def post(self, body: dict[str, Any], stop: Event | None = None) -> Answer:
        """The first answer that is final, good or bad; ``stop`` ends the waiting for a better one."""
        stop = stop or Event()
        policy = Retrying(
            retry=retry_if_exception_type(PassingFailure),
            stop=stop_any(stop_after_attempt(self.server.retries + 1), stop_when_event_set(stop)),
            wait=self._wait,
            sleep=sleep_using_event(stop),
            reraise=True,
        )
        try:
            return policy(self._attempt, body)
        except PassingFailure as failure:
            attempts = policy.statistics["attempt_number"]
            tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
            raise self._failed(f"gave up after {tries}: {failure}", ends_all=failure.is_unreached) from None

    def refusal(self, answer: Answer) -> TraceRankError:
        """What a bad answer means for the user."""
        said = f"HTTP {answer.status}: {answer.words or 'without a reason'}"
        if self.server.model and answer.names_no_model:
            models = self._models()
            known = f"the server has: {', '.join(models)}" if models else "check the address and the model's name"
            return self._failed(f"no model {self.server.model!r} ({said}); {known}", ends_all=True)
        if answer.status in (401, 403):
            source = self.server.key_source
            if source is None:
                wants = f"the server wants a key (HTTP {answer.status}); put it in ${self.server.usual_key}"
                return self._failed(wants, ends_all=True)
            return self._failed(f"the server refuses the key in ${source} (HTTP {answer.status})", ends_all=True)
        return self._failed(said)

    def _failed(self, what: str, ends_all: bool = False) -> TraceRankError:
        error = self.server.error(f"{self.server.endpoint}: {what}")
        # A server that has answered once can be reached, and accepts key and model.
        error.ends_all = ends_all and not self._has_answered
        return error

    def _wait(self, state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome is not None else None
        asked = failure.delay if isinstance(failure, PassingFailure) else 0.0
        if asked > MAX_DELAY:
            raise self._failed(f"asks to wait {asked:.0f} s, more than {MAX_DELAY:g} s ({failure})")
        return max(asked, (wait_exponential(FIRST_DELAY, MAX_DELAY) + wait_random(0, FIRST_DELAY))(state))

    def _attempt(self, body: dict[str, Any]) -> Answer:
        try:
            answer = self._exchanged("POST", self.server.endpoint, body)
        except (httpx.ConnectTimeout, httpx.ConnectError) as error:
            raise PassingFailure(f"no connection ({type(error).__name__}: {error})", is_unreached=True) from None
        except httpx.TimeoutException:
            late = f"no answer within {self.server.timeout:g} s"
            if self.server.more_time:
                raise self._failed(f"{late}; {self.server.more_time} allows more") from None
            raise PassingFailure(late) from None
        except httpx.RequestError as error:
            raise PassingFailure(f"no connection or a cut one ({type(error).__name__}: {error})") from None
        if answer.may_pass:
            raise PassingFailure(f"HTTP {answer.status}: {answer.words}", answer.delay)
        self._has_answered = self._has_answered or answer.status == 200
        return answer

    def _exchanged(self, method: str, url: str, body: dict[str, Any] | None = None) -> Answer:
        """One request and its answer, as long as size and time allow."""
        end = time.monotonic() + self.server.timeout
        key = self.server.read_key()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        request = self._http.build_request(method, url, json=body, headers=headers)
        try:
            opened = self._http.send(request, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            # A kept connection that the server has closed just now, as llama.cpp does after a stream.
            opened = self._http.send(request, stream=True)
        with closing(opened) as reply:
            content = self._content(reply, end)
        status = reply.status_code
        if status == 200 and is_stream(content):
            value = joined(content)
            if value is None:
                raise PassingFailure("the answer was cut off")
            if "error" not in value:
                return Answer(200, without_secret(value, key))
            status, content = _status(value["error"]), json.dumps(value).encode()
        elif status == 200:
            return Answer(200, without_secret(self._json(content, key), key))
        code = re.search(rb"insufficient_quota|model_not_found", content)
        delay = re.fullmatch(
            r"\d+(?:\.\d+)?", reply.headers.get("retry-after", "")
        )  # a date is left to the usual waits
        words = server_words(content, key)
        return Answer(status, None, words, code[0].decode() if code else "", float(delay[0]) if delay else 0.0)

    def _content(self, reply: httpx.Response, end: float) -> bytes:
        """The body, as long as size and time allow; between the pieces of a stream there is a limit of its own."""
        coding = reply.headers.get("content-encoding", "identity").lower()
        if coding != "identity":  # a few bytes could become gigabytes
            raise self._failed(f"answered in {coding[:20]!r}, although uncompressed was asked for")
        content, watch = bytearray(), _Watch(reply, self.server.idle)
        try:
            for chunk in reply.iter_bytes():
                content += chunk
                if len(content) > self.server.most_bytes:
                    raise self._failed(f"answered with more than {self.server.most_bytes / MILLION:,.0f} MB")
                if (now := time.monotonic()) > end:
                    raise httpx.ReadTimeout("the whole answer took too long")
                watch.last = now
                if watch.ident is None and is_stream(content):
                    watch.start()
        except httpx.RequestError:
            if watch.is_late:
                silence = f"sent a part of its answer, then nothing for {self.server.idle:g} s"
                raise self._failed(silence) from None
            raise
        finally:
            watch.over.set()
        return bytes(content)

    def _json(self, content: bytes, key: str | None) -> Any:
        """The JSON of a good answer; NaN is let through so that it can be named later."""
        try:
            value = json.loads(content)
        except RecursionError:
            raise self._failed("answered with JSON that is nested too deeply") from None
        except ValueError:
            if content.lstrip()[:1] in (b"", b"{", b"["):
                raise PassingFailure("the answer was cut off") from None
            raise self._failed(f"answered something that is not JSON; is it {self.server.kind}?") from None
        if isinstance(value, dict) and value.get("error"):
            raise self._failed(f"answered with an error: {server_words(content, key)}")
        return value

    def _models(self) -> list[str]:
        """Names of the server's models; empty when it does not list them."""
        try:
            answer = self._exchanged("GET", f"{self.server.root}/models")
            return sorted(str(model["id"]) for model in answer.value["data"])
        except (httpx.HTTPError, PassingFailure, TraceRankError, KeyError, TypeError):
            return []


class _Watch(Thread):
    """Shuts a connection down once nothing has come through it for a time.

    httpx has one read timeout, which would also hold before the first piece, while the server reads the prompt.
    """

    def __init__(self, reply: httpx.Response, idle: float) -> None:
        super().__init__(daemon=True)
        self.last = 0.0
        """When something came."""
        self.over = Event()
        self.is_late = False
        self._reply, self._idle = reply, idle

    def run(self) -> None:
        while (left := self.last + self._idle - time.monotonic()) > 0:
            if self.over.wait(left):
                return
        self.is_late = True
        with suppress(OSError):
            socket.socket.shutdown(self._reply.extensions["network_stream"].get_extra_info("socket"), socket.SHUT_RDWR)


def _status(error: Any) -> int:
    """The HTTP status that an error within a stream stands for; 500 where it does not say."""
    code = str(error.get("code") if isinstance(error, dict) else None)
    return int(code) if re.fullmatch(r"[45]\d\d", code) else 500


def server_words(body: bytes, secret: str | None) -> str:
    """The server's own error message on one short line, without the key even where the server repeats it."""
    text = body.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        for name in ("error", "message", "detail"):
            if isinstance(value, dict) and value.get(name):
                value = value[name]
        text = value if isinstance(value, str) else json.dumps(value)
    text = " ".join((text.replace(secret, "***") if secret else text).split())
    return text if len(text) <= 300 else text[:299] + "…"


SECRET_CHARACTERS = 8
"""A shorter key is none: servers that want no key are given "none" or "x", which also stand in answers."""


def without_secret(value: Any, secret: str | None) -> Any:
    """The reply, without the key where a server repeats it: replies are kept, and answers are shown."""
    if not secret or len(secret) < SECRET_CHARACTERS:
        return value
    written, escaped = json.dumps(value), json.dumps(secret)[1:-1]  # however the server has escaped it
    return json.loads(written.replace(escaped, "***")) if escaped in written else value
