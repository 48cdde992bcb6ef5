"""Names in the order in which people number them: ``iter2`` before ``iter10``, folder by folder."""

import re

_DIGITS = re.compile(r"(\d{1,18})")

NaturalKey = list[tuple[tuple[int, int, str], ...]]


def natural(name: str) -> NaturalKey:
    """A key to sort by; parts between slashes are compared one by one, numbers come before letters."""
    return [
        tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(piece) if part)
        for piece in name.replace("\\", "/").split("/")
    ]
