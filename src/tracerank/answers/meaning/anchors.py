"""The bare answers of a pool as anchors: which of them a longer answer asserts, and which it merely mentions.

An anchor is a group of short answers that are the same by themselves. Its profile over the anchors tells what a long
answer says in terms of the pool. The order of the answers never matters: callers give them sorted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracerank.answers.meaning.comparing import Lexicon, asserted, conflict, core_likeness, linked
from tracerank.answers.meaning.contradiction import agree
from tracerank.answers.meaning.reading import AnswerReading

_SHORT = 10
"""Words of an answer that may be an anchor."""
_SAME = 0.78
"""Mean likeness of the answers of one anchor."""
_LIKE = 0.7
Pairs = Mapping[tuple[int, int], float]
"""Place of the earlier and of the later answer to their likeness; a pair that is left out has none."""

Shares = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Profiles:
    """What each answer says in terms of the pool's anchors."""

    anchors: tuple[tuple[int, ...], ...]
    """The answers of each anchor."""
    shares: tuple[Shares, ...]
    """Per answer how strongly it asserts anchors, by their index, 0 to 1; what is left out it does not assert."""


def anchor_profiles(readings: Sequence[AnswerReading], pairs: Pairs, lexicon: Lexicon) -> Profiles:
    """The anchors of a pool and the profile of every answer."""
    short = [
        index
        for index, one in enumerate(readings)
        if one.cores and (one.is_bare or one.length <= _SHORT) and not one.is_sentence
    ]
    known = set(short)
    among = {pair: like for pair, like in pairs.items() if pair[0] in known and pair[1] in known}
    anchors = tuple(tuple(members) for members in linked(short, among, _SAME))
    rows: list[dict[int, float]] = [{} for _ in readings]
    long = [index for index, one in enumerate(readings) if not one.is_bare]
    alike: dict[int, set[int]] = {}
    for pair in pairs:
        for index in pair:
            alike.setdefault(index, set()).update(pair)
    for number, members in enumerate(anchors):
        # a bare answer that shares nothing with another bare one does not assert it
        if all(readings[one].is_bare for one in members):
            indices: Iterable[int] = set(long).union(*(alike.get(one, ()) for one in members))
        else:
            indices = range(len(readings))
        for index in indices:
            if index not in members and (share := _share(index, members, readings, pairs, lexicon)):
                rows[index][number] = share
        for index in members:
            rows[index][number] = 1.0
    return Profiles(anchors, tuple(rows))


def _share(
    index: int, members: Sequence[int], readings: Sequence[AnswerReading], pairs: Pairs, lexicon: Lexicon
) -> float:
    best = 0.0
    is_bare = readings[index].is_bare
    for one in members:
        if not (is_bare and readings[one].is_bare) or ((index, one) if index < one else (one, index)) in pairs:
            best = max(best, asserts(readings[index], readings[one], lexicon))
    return best


def asserts(reading: AnswerReading, anchor: AnswerReading, lexicon: Lexicon) -> float:
    """How strongly an answer asserts what a bare one says."""
    known = lexicon.asserts.get((reading.text, anchor.text))
    if known is None:
        known = lexicon.asserts[reading.text, anchor.text] = _asserts(reading, anchor, lexicon)
    return known


def _asserts(reading: AnswerReading, anchor: AnswerReading, lexicon: Lexicon) -> float:
    if conflict(reading, anchor, lexicon.profile, may_add=lexicon.may_add):
        return 0.0
    if reading.polarity and reading.polarity == anchor.polarity:
        return 1.0
    if reading.option >= 0 and reading.option == anchor.option:
        return 0.7 + 0.3 * min(1.0, reading.option_margin)
    if (reading.measure and anchor.measure) or agree(reading, anchor, lexicon.profile):
        return 0.9
    words = anchor.cores[0].words
    likes = ((core_likeness(core.words, words, lexicon), core.strength) for core in reading.cores)
    best = max((0.95 * strength * like for like, strength in likes if like > _LIKE), default=0.0)
    return max(best, asserted(words, reading, lexicon))
