"""What a user says about an embeddings server."""

from dataclasses import dataclass
from typing import ClassVar

from tracerank.endpoints.server import Server
from tracerank.errors import EmbeddingError, TraceRankError


@dataclass(frozen=True, slots=True)
class HttpConfig(Server):
    """One embedding model behind one server."""

    path: ClassVar[str] = "embeddings"
    error: ClassVar[type[TraceRankError]] = EmbeddingError

    dimensions: int | None = None
    """Asked of the server as ``dimensions``; None leaves the width to the model."""
    max_items: int = 32
    """Texts per request; 32 is the least that common servers allow by default (TEI)."""
    max_tokens: int = 8192
    """Tokens per request; a single longer text is still sent, alone."""

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is made anew, and super() would look for the old one.
        Server.__post_init__(self)
        for name in ("dimensions", "max_items", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
