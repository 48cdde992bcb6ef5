"""Where this machine keeps what was paid for once: vectors of texts, replies of chat models."""

import os
from pathlib import Path


def default_cache_folder() -> Path:
    """For vectors: TRACERANK_CACHE if set, else a folder under the user's cache directory."""
    if chosen := os.environ.get("TRACERANK_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tracerank" / "vectors"


def default_reply_folder() -> Path:
    """For replies: beside the vectors."""
    return default_cache_folder().parent / "chat"
