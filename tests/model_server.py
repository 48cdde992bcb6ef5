"""A local server of models that records what it is asked and answers as the test plans; a chat server unless told."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Reply:
    """What the server does with one request."""

    def __init__(
        self, status: int = 200, body: Any = None, cut: bool = False, delay: float = 0.0, **headers: str
    ) -> None:
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.cut = cut
        self.delay = delay
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Pieces(Reply):
    """Pieces of a body as they go out, one chunk each; a number is a pause in seconds."""

    def __init__(self, *pieces: bytes | float) -> None:
        super().__init__()
        self.pieces = pieces


def said(text: Any, finish: str = "stop", logprobs: Any = None) -> Reply:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish, "logprobs": logprobs}
    return Reply(body={"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def error(status: int, message: str, **headers: str) -> Reply:
    return Reply(status, {"error": {"message": message}}, **headers)


def called(*calls: Any, text: Any = None) -> Reply:
    choice = {"message": {"role": "assistant", "content": text, "tool_calls": list(calls)}}
    return Reply(body={"choices": [choice | {"finish_reason": "tool_calls"}]})


Rule = Callable[[dict[str, Any]], Reply]


class Server:
    """A local server that records what it is asked and answers as the test plans."""

    def __init__(self, rule: Rule = lambda request: said("Hi.")) -> None:
        self.planned: list[Reply] = []
        """Replies in order; afterwards the rule replies."""
        self.rule = rule
        self.models = Reply(404, {})
        """The reply to any GET."""
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.paths: list[str] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: dict[str, Any]) -> Reply:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.requests.append(request)
            planned = self.planned.pop(0) if self.planned else None
        try:
            return planned or self.rule(request)
        finally:
            with self._lock:
                self._at_once -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # headers and body in one packet, or each answer waits 40 ms for an acknowledgement

            def do_POST(self) -> None:
                outer.paths.append(self.path)
                outer.authorizations.append(self.headers.get("Authorization"))
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(outer.answer(request))

            def do_GET(self) -> None:
                self._send(outer.models)

            def _send(self, reply: Reply) -> None:
                time.sleep(reply.delay)
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    if isinstance(reply, Pieces):
                        self._send_pieces(reply)
                        return
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
                    is_over = reply.cut
                except ConnectionError:
                    is_over = True  # the client has given up waiting
                self.close_connection = is_over

            def _send_pieces(self, reply: Pieces) -> None:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.flush()
                for piece in reply.pieces:
                    if isinstance(piece, bytes):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                        self.wfile.flush()
                    else:
                        time.sleep(piece)
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, format: str, *args: Any) -> None: ...

        return Handler
