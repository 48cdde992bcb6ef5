"""One request to a server: the one retry policy, limits of time and size, and errors that say what to do.

Knows nothing of what is asked. The key is read for each request and kept nowhere.
"""

import email.utils
import json
import re
import socket
import time
import weakref
from contextlib import closing, suppress
from threading import Event, Thread
from typing import Any

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


class CutReply(Exception):
    """The body ends before the JSON does."""


class PassingFailure(Exception):
    """A failed attempt after which another one may succeed."""

    def __init__(self, reason: str, delay: float = 0.0, *, is_unreached: bool = False) -> None:
        super().__init__(reason)
        self.delay = delay
        """Least seconds to wait, as the server asked."""
        self.is_unreached = is_unreached
        """There was no connection at all."""


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

    def post(self, body: dict[str, Any], stop: Event | None = None) -> httpx.Response:
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

    def _failed(self, what: str, ends_all: bool = False) -> TraceRankError:
        error = self.server.error(f"{self.server.endpoint}: {what}")
        # A server that has answered once can be reached, and accepts key and model.
        error.ends_all = ends_all and not self._has_answered
        return error

    def _wait(self, state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome is not None else None
        asked = failure.delay if isinstance(failure, PassingFailure) else 0.0
        first, longest = self.server.first_delay, self.server.longest_delay
        if asked > longest:
            raise self._failed(f"asks to wait {asked:.0f} s, more than {longest:g} s ({failure})")
        return max(asked, (wait_exponential(first, longest) + wait_random(0, first))(state))

    def _attempt(self, body: dict[str, Any]) -> httpx.Response:
        try:
            reply = self._exchanged("POST", self.server.endpoint, body)
            if reply.status_code == 200:
                self.value(reply)
                self._has_answered = True
                return reply
        except (httpx.ConnectTimeout, httpx.ConnectError) as error:
            raise PassingFailure(f"no connection ({type(error).__name__}: {error})", is_unreached=True) from None
        except httpx.TimeoutException:
            late = f"no answer within {self.server.timeout:g} s{self.server.more_time}"
            raise PassingFailure(late) if self.server.retries_timeouts else self._failed(late) from None
        except httpx.RequestError as error:
            raise PassingFailure(f"no connection or a cut one ({type(error).__name__}: {error})") from None
        except CutReply:
            raise PassingFailure("the answer was cut off") from None
        words = self.words(reply)
        passing = reply.status_code in (408, 429) or reply.status_code >= 500
        hopeless = "insufficient_quota" in reply.text or reply.status_code == 501 or says_miswritten(words)
        if passing and not hopeless and not says_too_long(reply.status_code, words):
            raise PassingFailure(f"HTTP {reply.status_code}: {words}", retry_after(reply.headers.get("retry-after")))
        return reply

    def _exchanged(self, method: str, url: str, body: dict[str, Any] | None = None) -> httpx.Response:
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
            if not self.close.alive:  # closed while this connection was made, which was therefore not closed with it
                reply.extensions["network_stream"].close()
        status = reply.status_code
        if status == 200 and is_stream(content):
            if (whole := joined(content)) is None:
                raise CutReply
            status = _status(whole["error"]) if "error" in whole else 200
            content = json.dumps(whole).encode()
        kept = {name: value for name, value in reply.headers.items() if name == "retry-after"}
        return httpx.Response(status, headers=kept, content=content)

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

    def _models(self) -> list[str]:
        """Names of the server's models; empty when it does not list them."""
        try:
            reply = self._exchanged("GET", f"{self.server.root}/models")
            data = read_json(reply.content)["data"] if reply.status_code == 200 else []
            return sorted(str(model["id"]) for model in data)
        except (httpx.HTTPError, CutReply, TraceRankError, ValueError, KeyError, TypeError):
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
    written, escaped = json.dumps(value), json.dumps(secret)[1:-1]  # however the server has escaped it
    return json.loads(written.replace(escaped, "***")) if escaped in written else value


_MISWRITTEN = re.compile(r"model produced output that does not match|failed to parse (?:tool call|input at pos)", re.I)
"""What llama.cpp says with HTTP 500 where the model has called a tool in a form that it cannot read."""
_TOO_LONG = re.compile(r"too (long|large)|context (length|size|window)|larger than", re.I)
_OVER_A_LIMIT = re.compile(r"too many|longer than|exceed|maximum|batch size", re.I)
_NO_MODEL = re.compile(
    r"model\b.*\b(not found|not exist|unknown|invalid|not available|not supported)"
    r"|(unknown|invalid|no such|unsupported)\b.*\bmodel|model_not_found",
    re.I,
)


def says_miswritten(words: str) -> bool:
    """Whether the server could not read what its model wrote: asked the same, it fails again."""
    return _MISWRITTEN.search(words) is not None


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
