"""A local chat server that records what it is asked and answers as the test plans."""

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


def said(text: Any, finish: str = "stop", logprobs: Any = None) -> Reply:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish, "logprobs": logprobs}
    return Reply(body={"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def error(status: int, message: str, **headers: str) -> Reply:
    return Reply(status, {"error": {"message": message}}, **headers)


def called(*calls: Any, text: Any = None) -> Reply:
    choice = {"message": {"role": "assistant", "content": text, "tool_calls": list(calls)}}
    return Reply(body={"choices": [choice | {"finish_reason": "tool_calls"}]})


class Server:
    """A local server that records what it is asked and answers as the test plans."""

    def __init__(self) -> None:
        self.planned: list[Reply] = []
        """Replies in order; afterwards the rule replies."""
        self.rule: Callable[[dict[str, Any]], Reply] = lambda request: said("Hi.")
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                outer.paths.append(self.path)
                outer.authorizations.append(self.headers.get("Authorization"))
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(request)
                reply = outer.planned.pop(0) if outer.planned else outer.rule(request)
                time.sleep(reply.delay)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
                self.close_connection = reply.cut

            def log_message(self, format: str, *args: Any) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
