"""How a user writes a server and its model, everywhere the same: ``URL#MODEL``; and how long it may take to reply.

Imports no HTTP library, so that a command can refuse a mistake at once.
"""

from typing import NamedTuple

from tracerank.errors import UsageError

ADDRESS = "URL#MODEL"
"""For help and error messages."""
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


class ChatTime(NamedTuple):
    """Seconds that a chat server may take."""

    silence: float = 600.0
    """Without a sign of life: most servers say nothing while they read the prompt, and llama.cpp on two slow cores
    reads 20,000 tokens in about that time."""
    whole: float = 3600.0
    """For a whole reply: 10,000 tokens, the paper's limit, at three a second."""

    def __str__(self) -> str:
        return ",".join(f"{seconds:g}" for seconds in self)


TIME_FORM = "SILENCE,WHOLE"


def read_chat_time(text: str | None) -> ChatTime:
    """The seconds of ``600,3600``; a part that is left out keeps its default."""
    usual = ChatTime()
    parts = [part.strip() for part in (text or "").split(",")]
    try:
        given = [float(part) if part else seconds for part, seconds in zip(parts, usual, strict=False)]
        is_sound = len(parts) <= len(usual) and all(0 < seconds < 1e7 for seconds in given)
    except ValueError:
        is_sound = False
    if not is_sound:
        raise UsageError(f"--chat-time {text!r}: expected seconds {TIME_FORM}, for example {usual}")
    return ChatTime(*given, *usual[len(given) :])
