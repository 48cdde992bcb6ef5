"""What the integrations share: plain values out of other libraries' objects."""

from collections.abc import Iterable, Mapping
from typing import Any

from tracerank.endpoints.chat import Usage


def text_of(value: object) -> str | None:
    """An answer as text; None stays None."""
    return None if value is None else str(value).strip()


def usage_of(
    counts: Iterable[Mapping[str, Any]], prompt: str = "input_tokens", reply: str = "output_tokens"
) -> Usage | None:
    """The sum of token counts with these keys, one mapping a call; None: nothing was counted."""
    known = list(counts)
    return usage(sum(one.get(prompt) or 0 for one in known), sum(one.get(reply) or 0 for one in known), len(known))


def usage(prompt: int, reply: int, calls: int) -> Usage | None:
    """Tokens of a run; None: nothing was counted."""
    return Usage(prompt, reply, max(calls, 1)) if prompt or reply else None
