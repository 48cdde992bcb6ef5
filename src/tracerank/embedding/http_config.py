"""What a user says about an embeddings server, and the addresses and key that follow from it; sends nothing."""

import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from tracerank.errors import EmbeddingError

KEY_VARIABLE = "TRACERANK_API_KEY"
OPENAI_VARIABLE, OPENAI_DOMAIN = "OPENAI_API_KEY", "openai.com"
"""OpenAI's key is sent to OpenAI only: any other server could keep it."""


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """One model behind one OpenAI-compatible server; holds the name of the key's variable, never the key."""

    url: str
    """Address of the server, with or without ``/v1`` or ``/v1/embeddings``; without user name or query."""
    model: str
    """The model's name as the server knows it."""
    dimensions: int | None = None
    """Asked of the server as ``dimensions``; None leaves the width to the model."""
    max_items: int = 32
    """Texts per request; 32 is the least that common servers allow by default (TEI)."""
    max_tokens: int = 8192
    """Tokens per request; a single longer text is still sent, alone."""
    concurrency: int = 4
    """Requests under way at once."""
    timeout: float = 60.0
    """Seconds without progress after which a request counts as failed."""
    retries: int = 5
    """Further attempts after 408, 429, 5xx, a timeout or a cut connection."""
    first_delay: float = 0.5
    """Seconds before the first retry; doubled each time, less up to half of it by chance."""
    longest_delay: float = 60.0
    """Seconds that any wait may take; a server that asks for more with Retry-After ends the attempt."""
    key_variable: str | None = None
    """Environment variable with the key, which must then be set; None takes TRACERANK_API_KEY if that is set."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            raise EmbeddingError("the server's address is damaged; expected http://HOST[:PORT][/v1]") from None
        if parts.username or parts.password or parts.query or parts.fragment:
            # The address is not repeated: it may hold a key.
            raise EmbeddingError(
                "the server's address must be without user, query and fragment; put the key in $"
                + (self.key_variable or KEY_VARIABLE)
            )
        if not is_server:
            raise EmbeddingError(f"{self.url!r} is no server; expected http://HOST[:PORT][/v1] or https://…")
        for name in ("dimensions", "max_items", "max_tokens", "concurrency"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.timeout <= 0 or self.retries < 0 or self.first_delay < 0 or self.longest_delay < 0:
            raise ValueError("timeout must be positive; retries and delays must not be negative")

    @property
    def root(self) -> str:
        """The address up to and with its version: ``http://host/v1``."""
        address = self.url.rstrip("/")
        if address.endswith("/embeddings"):
            return address.removesuffix("/embeddings").rstrip("/")
        return address if re.search(r"/v\d+$", address) else f"{address}/v1"

    @property
    def endpoint(self) -> str:
        return f"{self.root}/embeddings"

    @property
    def key_source(self) -> str | None:
        """The variable that holds the key; None when no key is to be sent."""
        if self.key_variable is not None:
            return self.key_variable
        host = urlsplit(self.url).hostname or ""
        is_openai = host == OPENAI_DOMAIN or host.endswith(f".{OPENAI_DOMAIN}")
        names = (KEY_VARIABLE, OPENAI_VARIABLE) if is_openai else (KEY_VARIABLE,)
        return next((name for name in names if os.environ.get(name, "").strip()), None)


def read_key(config: HttpConfig) -> str | None:
    """The key as the environment has it now; None when the server is used without one."""
    if config.key_source is None:
        return None
    key = os.environ.get(config.key_source, "").strip()
    if not key:
        raise EmbeddingError(f"{config.endpoint}: ${config.key_source} is not set; put the server's key in it")
    if not re.fullmatch(r"[!-~]+", key):  # httpx would quote the key while complaining
        raise EmbeddingError(f"{config.endpoint}: the key in ${config.key_source} holds a character no key has")
    return key
