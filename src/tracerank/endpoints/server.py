"""A server as the user names it: its address, its key, and the limits within which it is asked.

Imports no HTTP library, so that a command can refuse a mistake at once.
"""

import os
import re
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

from tracerank.errors import TraceRankError

KEY_VARIABLE = "TRACERANK_API_KEY"
OPENAI_VARIABLE, OPENAI_DOMAIN = "OPENAI_API_KEY", "openai.com"
"""OpenAI's key is sent to OpenAI only: any other server could keep it."""
MILLION = 1_000_000
DEFAULT_MODEL = "default"
"""What is sent where no model is named: servers of one model take any name."""


class Address(NamedTuple):
    """A server and a model that it serves."""

    url: str
    model: str


def read_address(text: str) -> Address:
    """The parts of ``URL#MODEL``; the URL alone asks for the default model."""
    url, _, model = text.strip().partition("#")
    return Address(url.strip(), model.strip() or DEFAULT_MODEL)


@dataclass(frozen=True, slots=True)
class Server:
    """One model behind one OpenAI-compatible server; holds the name of the key's variable, never the key."""

    path: ClassVar[str] = ""
    """What follows the version in the address of the endpoint."""
    error: ClassVar[type[TraceRankError]] = TraceRankError
    """What is raised when the server cannot be used."""
    kind: ClassVar[str] = "an OpenAI-compatible server"
    usual_key: ClassVar[str] = KEY_VARIABLE
    """The variable whose key is sent if it is set."""
    most_bytes: ClassVar[int] = 256 * MILLION
    """Of an answer."""
    more_time: ClassVar[str] = ""
    """The option that allows more time; an attempt that took too long is made again only where there is none."""

    url: str
    """Address of the server, with or without ``/v1`` or the whole endpoint; without user name or query."""
    model: str
    """The model's name as the server knows it; empty: it serves one thing only."""
    timeout: float = 60.0
    """Seconds that one attempt may take."""
    idle: float = 120.0
    """Seconds between two pieces of a streamed answer."""
    retries: int = 5
    """Further attempts after 408, 429, 5xx, a timeout or a cut connection."""
    concurrency: int = 4
    """Requests under way at once."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            raise self.error("the server's address is damaged; expected http://HOST[:PORT]") from None
        if parts.username or parts.password or parts.query or parts.fragment:
            # The address is not repeated: it may hold a key.
            where = f"put the key in ${self.usual_key}"
            raise self.error(f"the server's address must have no user, query or fragment; {where}")
        if not is_server:
            raise self.error(f"{self.url!r} is no server; expected http://HOST[:PORT] or https://…")

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
        host = urlsplit(self.url).hostname or ""
        is_openai = host == OPENAI_DOMAIN or host.endswith(f".{OPENAI_DOMAIN}")
        names = (self.usual_key, OPENAI_VARIABLE) if is_openai else (self.usual_key,)
        return next((name for name in names if os.environ.get(name, "").strip()), None)

    def read_key(self) -> str | None:
        """The key as the environment has it now; None when the server is used without one."""
        if self.key_source is None:
            return None
        key = os.environ[self.key_source].strip()
        if not re.fullmatch(r"[!-~]+", key):  # httpx would quote the key while complaining
            raise self.error(f"{self.endpoint}: the key in ${self.key_source} holds a character no key has")
        return key
