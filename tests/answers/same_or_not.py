"""The table ``same_or_not.txt``: pairs of answers by what tells them apart, in a developing and an unseen half.

Questions are split within each kind by their hash. Rules are written on the first half only; figures of the second are
looked at, its pairs are not.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("same_or_not.txt")


class Pair(NamedTuple):
    kind: str
    question: str
    a: str
    b: str
    is_same: bool


def developing() -> list[Pair]:
    return [pair for half, pair in _halves() if half == 0]


def unseen() -> list[Pair]:
    return [pair for half, pair in _halves() if half == 1]


def _halves() -> Iterator[tuple[int, Pair]]:
    kinds: dict[str, dict[str, list[Pair]]] = {}
    kind = question = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        sign, _, rest = line.partition(" ")
        if sign == "#":
            kind = rest
        elif sign == "?":
            question = rest
        elif sign:
            a, _, b = rest.partition(" | ")
            kinds.setdefault(kind, {}).setdefault(question, []).append(Pair(kind, question, a, b, sign == "="))
    for asked in kinds.values():
        ordered = sorted(asked, key=lambda text: hashlib.sha256(text.encode()).digest())
        for place, one in enumerate(ordered):
            yield from ((place % 2, pair) for pair in asked[one])
