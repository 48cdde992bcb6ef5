"""As much of S3 as reading, writing and listing small files takes: one bucket in memory, no keys are checked."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"
Files = dict[str, bytes]


class _Handler(BaseHTTPRequestHandler):
    files: Files
    protocol_version = "HTTP/1.1"

    def log_message(self, *given: object) -> None:
        pass

    def _asked(self) -> tuple[str, dict[str, list[str]]]:
        url = urlsplit(self.path)
        return unquote(url.path).lstrip("/").removeprefix(BUCKET).lstrip("/"), parse_qs(url.query)

    def _reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        key, query = self._asked()
        if not key:
            self._reply(200, self._listed(query), Content_Type="application/xml")
            return
        data = self.files.get(key)
        if data is None:
            self._reply(404, b"<Error><Code>NoSuchKey</Code></Error>" if self.command == "GET" else b"")
            return
        about = {"ETag": f'"{hashlib.md5(data).hexdigest()}"', "Last_Modified": "Tue, 17 Nov 2026 00:00:00 GMT"}
        if self.command == "HEAD":
            self._reply(200, data, **about)
            return
        first, _, last = (self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last) + 1 if last else None] if first else data[-int(last) :]
        begin = int(first) if first else len(data) - len(part)
        place = f"bytes {begin}-{begin + len(part) - 1}/{len(data)}"
        self._reply(206 if "Range" in self.headers else 200, part, Content_Range=place, **about)

    def _listed(self, query: dict[str, list[str]]) -> bytes:
        prefix, mark = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        found = sorted(name for name in self.files if name.startswith(prefix))
        below = {name[: name.index(mark, len(prefix)) + 1] for name in found if mark and mark in name[len(prefix) :]}
        here = [name for name in found if not mark or mark not in name[len(prefix) :]]
        rows = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.files[name])}</Size>"
            f"<ETag>{hashlib.md5(self.files[name]).hexdigest()}</ETag>"
            "<LastModified>2026-11-17T00:00:00.000Z</LastModified></Contents>"
            for name in here
        )
        rows += "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(below))
        count = f"<KeyCount>{len(here) + len(below)}</KeyCount><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult><Name>{BUCKET}</Name>{count}{rows}</ListBucketResult>".encode()

    def do_PUT(self) -> None:
        key, _ = self._asked()
        self.files[key] = data = self.rfile.read(int(self.headers["Content-Length"]))
        self._reply(200, ETag=f'"{hashlib.md5(data).hexdigest()}"')

    def do_POST(self) -> None:
        """Only the removal of several files is asked for so."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        for part in body.split("<Key>")[1:]:
            self.files.pop(part.partition("</Key>")[0], None)
        self._reply(200, b"<DeleteResult></DeleteResult>")

    def do_DELETE(self) -> None:
        self.files.pop(self._asked()[0], None)
        self._reply(204)


@contextmanager
def serving(files: Files) -> Iterator[str]:
    """The address of a server with these files."""
    handler = type("Handler", (_Handler,), {"files": files})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
