"""A page taken apart again: its elements, and the texts of its scripts and styles."""

import base64
import json
import zlib
from html.parser import HTMLParser
from typing import Any


class Elements(HTMLParser):
    """Elements with their attributes; the texts of scripts and styles by id, or by tag where they have none."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.words = ""
        """All other text."""
        self._open: str | None = None
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is None:
            self.words += data
        else:
            self.texts[self._open] = self.texts.get(self._open, "") + data

    def policy(self) -> str:
        [policy] = [attrs["content"] for _, attrs in self.found if attrs.get("http-equiv")]
        return policy or ""


def unpacked(text: str) -> dict[str, Any]:
    """A question as the page holds it."""
    data: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return data
