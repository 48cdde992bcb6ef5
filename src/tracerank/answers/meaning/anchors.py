"""The bare answers of a pool as anchors: which of them a longer answer asserts, and which it merely mentions.

An anchor is a group of short answers that are the same by themselves. Its profile over the anchors tells what a long
answer says in terms of the pool. The order of the answers never matters: callers give them sorted.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from tracerank.answers.meaning.comparing import asserted, conflict, core_likeness
from tracerank.answers.meaning.lexicon import Lexicon
from tracerank.answers.meaning.linkage import linked
from tracerank.answers.meaning.reading import AnswerReading

_SHORT = 10
"""Words of an answer that may be an anchor."""
_SAME = 0.78
"""Mean likeness of the answers of one anchor."""
_LIKE = 0.7
_MENTIONED = 0.12
_SURE = 0.9
_BRIDGE = 0.45
"""How much less an anchor counts that every long answer mentions beside others: it is a step on the way."""

Pairs = Mapping[tuple[int, int], float]
"""Place of the earlier and of the later answer to their likeness; a pair that is left out has none."""


@dataclass(frozen=True, slots=True)
class Profiles:
    """What each answer says in terms of the pool's anchors."""

    anchors: tuple[tuple[int, ...], ...]
    """The answers of each anchor."""
    shares: tuple[tuple[float, ...], ...]
    """Per answer how strongly it asserts each anchor, 0 to 1."""


def anchor_profiles(readings: Sequence[AnswerReading], pairs: Pairs, lexicon: Lexicon) -> Profiles:
    """The anchors of a pool and the profile of every answer."""
    short = [
        place
        for place, one in enumerate(readings)
        if one.cores and (one.is_bare or one.length <= _SHORT) and not one.is_sentence
    ]
    known = set(short)
    among = {pair: like for pair, like in pairs.items() if pair[0] in known and pair[1] in known}
    anchors = tuple(tuple(members) for members in linked(short, among, _SAME))
    rows = [[0.0] * len(anchors) for _ in readings]
    bare = {place for place, one in enumerate(readings) if one.is_bare}
    for number, members in enumerate(anchors):
        for place, row in enumerate(rows):
            row[number] = 1.0 if place in members else _share(place, members, bare, readings, pairs, lexicon)
    return Profiles(anchors, tuple(map(tuple, _without_bridges(rows))))


def _share(
    place: int,
    members: Sequence[int],
    bare: Set[int],
    readings: Sequence[AnswerReading],
    pairs: Pairs,
    lexicon: Lexicon,
) -> float:
    best = 0.0
    is_bare = place in bare
    for one in members:
        # a bare answer that shares nothing with another bare one does not assert it
        if not is_bare or one not in bare or ((place, one) if place < one else (one, place)) in pairs:
            best = max(best, asserts(readings[place], readings[one], lexicon))
    return best


def asserts(reading: AnswerReading, anchor: AnswerReading, lexicon: Lexicon) -> float:
    """How strongly an answer asserts what a bare one says."""
    if conflict(reading, anchor, lexicon.asking):
        return 0.0
    if reading.polarity and reading.polarity == anchor.polarity:
        return 1.0
    if reading.option >= 0 and reading.option == anchor.option:
        return 0.7 + 0.3 * min(1.0, reading.option_margin)
    words = anchor.cores[0].words
    likes = ((core_likeness(core.words, words, lexicon), core.strength) for core in reading.cores)
    best = max((0.95 * strength * like for like, strength in likes if like > _LIKE), default=0.0)
    return max(best, asserted(words, reading, lexicon))


def _without_bridges(rows: list[list[float]]) -> list[list[float]]:
    several = [[share > _MENTIONED for share in row] for row in rows if sum(share > _MENTIONED for share in row) > 1]
    if not several:
        return rows
    beside = [sum(column) for column in zip(*several, strict=True)]
    return [_lowered(row, beside, len(several)) for row in rows]


def _lowered(row: list[float], beside: Sequence[int], several: int) -> list[float]:
    hits = [count for share, count in zip(row, beside, strict=True) if share > _MENTIONED]
    if len(hits) < 2 or max(row) >= _SURE:
        return row
    least = min(hits)
    return [
        share * (1 - _BRIDGE * (count - least) / several) if share > _MENTIONED else share
        for share, count in zip(row, beside, strict=True)
    ]
