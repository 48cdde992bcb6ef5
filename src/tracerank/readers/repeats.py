"""What was made of a long text, for the next time that it comes: rollouts of a question see the same pages and returns.

A page of some thousand characters is recognised by its length and a few parts of it, then compared as a whole,
which takes a tenth of hashing it. Bounded in characters; of texts that look alike the last one is known.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

S = TypeVar("S", str, bytes)
T = TypeVar("T")

_MAX_LENGTH = 1 << 16
"""Of a text that is remembered: longer ones, which anybody may send, would leave no room for others."""
_PLACE = 32


class Repeats(Generic[S, T]):
    """A function of a text that is worked out once for texts that come again soon."""

    __slots__ = ("_held", "_known", "_make", "_most")

    def __init__(self, make: Callable[[S], T], most: int = 1 << 21) -> None:
        """``most`` characters are held; then all are forgotten."""
        self._make: Callable[[S], T] = make
        self._most = most
        self._held = 0
        self._known: dict[tuple[int, S, S, S], tuple[S, T]] = {}

    def __call__(self, text: S, start: int = 0) -> T:
        """What is made of the text from ``start`` on."""
        size = len(text) - start
        middle = start + (size >> 1)
        key = (size, text[start : start + _PLACE], text[middle : middle + _PLACE], text[-_PLACE:])
        known = self._known.get(key)
        if known is not None and text.endswith(known[0]):
            return known[1]
        kept = text[start:] if start else text
        made = self._make(kept)
        if size <= _MAX_LENGTH:
            if self._held > self._most:
                self.forget()
            self._held += size
            self._known[key] = kept, made
        return made

    def forget(self) -> None:
        """Let go of every text."""
        self._known = {}
        self._held = 0
