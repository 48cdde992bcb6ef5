"""Groups of very many answers: few are compared pair by pair, of thousands only those that may be alike.

Answers that share what they come down to stand in one block; what a block joins is from then on one answer, told by its
shortest form. So the work grows with the number of answers, not with that of their pairs. Holds no rule of meaning.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from tracerank.answers.meaning.reading import AnswerReading

MOST_ANSWERS = 2000
"""Distinct answers of one question that are compared by meaning: the commonest. Others are only what they say."""
FEW = 256
"""Distinct answers that are all compared with each other."""
_BLOCK = 32

Few = Callable[[Sequence[AnswerReading]], list[list[int]]]
"""Groups of a few readings, by their places."""
_Key = Callable[[AnswerReading], str | None]
"""What answers of one block share; None: the answer is in no block."""


def crowd_note(distinct: int) -> str:
    """What a decision says where answers were left out."""
    return f"{distinct:,} distinct answers: only the {MOST_ANSWERS:,} commonest were compared by meaning"


def grouped_in_blocks(readings: Sequence[AnswerReading], group: Few) -> list[list[int]]:
    """Places of readings in groups, each sorted, by first member."""
    groups = [[place] for place in range(len(readings))]
    for key_of in (_choice, _whole, _rarest_of(readings), _last):
        count = 0
        while count != len(groups):  # a long block was cut: what stood apart may meet in the next round
            count = len(groups)
            groups = _joined(groups, readings, key_of, group)
    return sorted(map(sorted, groups))


def _joined(
    groups: Sequence[list[int]], readings: Sequence[AnswerReading], key_of: _Key, group: Few
) -> list[list[int]]:
    heads = [min(members, key=lambda place: (len(readings[place].text), place)) for members in groups]
    alike: dict[str, list[int]] = {}
    for number, head in enumerate(heads):
        if (key := key_of(readings[head])) is not None:
            alike.setdefault(key, []).append(number)
    left = dict(enumerate(groups))
    for numbers in alike.values():
        for block in _cut(sorted(numbers, key=lambda number: _order(readings[heads[number]], number))):
            for first, *others in group([readings[heads[number]] for number in block]):
                for other in others:
                    left[block[first]] = left[block[first]] + left.pop(block[other])
    return list(left.values())


def _cut(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Blocks of two or more; what is alone has nothing to be joined with."""
    blocks = (numbers[start : start + _BLOCK] for start in range(0, len(numbers), _BLOCK))
    return (block for block in blocks if len(block) > 1)


def _order(reading: AnswerReading, number: int) -> tuple[float, int]:
    """Measures by their size, all others as they come: neighbours are in one block."""
    return (reading.measure.value if reading.measure else 0.0), number


def _choice(reading: AnswerReading) -> str | None:
    """Yes or no, the option, the dimension that is measured."""
    if reading.polarity or reading.option >= 0:
        return f"{reading.polarity} {reading.option}"
    return reading.measure.base if reading.measure else None


def _whole(reading: AnswerReading) -> str | None:
    return "".join(reading.cores[0].words) if reading.cores else None


def _last(reading: AnswerReading) -> str | None:
    return reading.cores[0].words[-1] if reading.cores else None


def _rarest_of(readings: Iterable[AnswerReading]) -> _Key:
    counts = Counter(word for reading in readings for word in set(_words(reading)))

    def rarest(reading: AnswerReading) -> str | None:
        shared = [word for word in _words(reading) if counts[word] > 1]
        return min(shared, key=lambda word: (counts[word], word)) if shared else None

    return rarest


def _words(reading: AnswerReading) -> tuple[str, ...]:
    return reading.cores[0].words if reading.cores else ()
