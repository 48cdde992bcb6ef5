"""Weights and documents of the laboratory, which a checkout has and a wheel does not."""

from pathlib import Path

from tracerank.errors import UsageError


def read_data(name: str) -> bytes:
    """A file below this folder."""
    try:
        return Path(__file__).parent.joinpath(name).read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"{Path(name).name}: a wheel comes without the laboratory's data; install tracerank from a checkout of its "
            "repository: pip install -e '.[lab]'"
        ) from None
