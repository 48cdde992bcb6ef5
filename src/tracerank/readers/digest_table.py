"""Texts that were met before, a few bytes each: what grouping must remember of millions of closed pools.

A table of digests with open addressing, a fifth of the size of a dict. Two texts share a digest once in billions of
millions; nothing is ever removed.
"""

from array import array
from hashlib import blake2b

_FIRST_SLOTS = 1 << 10
_FULL = 0.7
"""Share of the slots beyond which the table doubles."""
_LARGEST = 2**32 - 1


class DigestTable:
    """Texts with a number each, of which the first one given stays."""

    def __init__(self) -> None:
        self._digests = array("Q", bytes(8 * _FIRST_SLOTS))  # 0: free
        self._numbers = array("I", bytes(4 * _FIRST_SLOTS))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, text: str) -> bool:
        return self._count > 0 and self.get(text) is not None

    def get(self, text: str) -> int | None:
        """The number of a text; None: it was not met."""
        if not self._count:
            return None
        slot, is_there = self._slot(_digest(text))
        return self._numbers[slot] if is_there else None

    def add(self, text: str, number: int = 0) -> None:
        """Remember a text, unless it is known; numbers end at 32 bits."""
        self._put(_digest(text), min(number, _LARGEST))
        if self._count > _FULL * len(self._digests):
            self._grow()

    def _put(self, digest: int, number: int) -> None:
        slot, is_there = self._slot(digest)
        if not is_there:
            self._digests[slot] = digest
            self._numbers[slot] = number
            self._count += 1

    def _slot(self, digest: int) -> tuple[int, bool]:
        """Where a digest lies, or would."""
        digests = self._digests
        mask = len(digests) - 1
        slot = digest & mask
        while (found := digests[slot]) and found != digest:
            slot = (slot + 1) & mask
        return slot, found == digest

    def _grow(self) -> None:
        digests, numbers = self._digests, self._numbers
        self._digests = array("Q", bytes(16 * len(digests)))
        self._numbers = array("I", bytes(8 * len(numbers)))
        self._count = 0
        for digest, number in zip(digests, numbers, strict=True):
            if digest:
                self._put(digest, number)


def _digest(text: str) -> int:
    """Eight bytes, never all zero."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little") or 1
