"""How a service runs: who may use it, what a request may take, and the chat server behind it.

Imports nothing of the ``serve`` extra, so that the command line can show the defaults without it.
"""

from dataclasses import dataclass, field
from importlib import metadata

MEGABYTE = 2**20
MAX_ROLLOUTS = 256
"""Rollouts in a request, at most."""
MAX_SAMPLES = 64
"""Samples of a chat completion, at most."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of one service."""

    token: str | None = field(default=None, repr=False)
    """Bearer token that requests must carry; None: no token."""
    hosts: tuple[str, ...] = ()
    """Values of the Host header that are answered; empty: any. ``security.allowed_hosts`` has them for an address."""
    body_bytes: int = 32 * MEGABYTE
    """Longest body, counted as it arrives; more gets 413."""
    waiting: int = 256
    """Requests that may wait for their decision; more get 429."""
    seconds: float = 60.0
    """Seconds until a request gets 504."""
    upstream: str | None = None
    """``URL#MODEL`` of an OpenAI-compatible server whose completions are sampled; None: no chat completions."""
    best_of: int = 8
    """Most samples of a chat completion, unless the request says otherwise."""
    stop: float | None = None
    """Confidence at which sampling stops; None: when further samples would gain too little."""
    upstream_seconds: float = 600.0
    """Seconds until a chat completion is chosen from the samples drawn so far; as long as OpenAI's clients wait."""


DEFAULT_SETTINGS = ServiceSettings()


def service_version() -> str:
    """The installed version, as clients see it."""
    try:
        return metadata.version("tracerank")
    except metadata.PackageNotFoundError:
        return "not installed as a package"
