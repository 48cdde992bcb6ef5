"""Average linkage over likenesses of pairs: the groups whose members are alike on the mean.

Only pairs that are alike at all are held, so that a pool of strangers costs nothing. Ties go to the earlier pair; who
wants groups that do not depend on an order gives the places of a sorted list.
"""

from collections.abc import Container, Iterable, Mapping

NO_VETO: frozenset[tuple[int, int]] = frozenset()


def linked(
    places: Iterable[int],
    pairs: Mapping[tuple[int, int], float],
    least: float,
    vetoed: Iterable[tuple[int, int]] = NO_VETO,
) -> list[list[int]]:
    """Groups of places, each sorted, by first member; a veto between two members keeps their groups apart."""
    groups = {place: [place] for place in places}
    sums = {pair: like for pair, like in pairs.items() if like > 0}
    apart = set(vetoed)
    while best := _closest(groups, sums, least, apart):
        kept, gone = best
        groups[kept] = sorted(groups[kept] + groups.pop(gone))
        del sums[best]
        for pair in [pair for pair in sums if gone in pair]:
            moved = _ordered(kept, pair[0] + pair[1] - gone)
            sums[moved] = sums.get(moved, 0.0) + sums.pop(pair)
        for pair in [pair for pair in apart if gone in pair]:
            apart.add(_ordered(kept, pair[0] + pair[1] - gone))
    return [groups[place] for place in sorted(groups)]


def _ordered(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _closest(
    groups: Mapping[int, list[int]],
    sums: Mapping[tuple[int, int], float],
    least: float,
    apart: Container[tuple[int, int]],
) -> tuple[int, int] | None:
    """The two groups that are most alike on the mean, above the least."""
    found, best = None, least
    for pair, total in sums.items():
        like = total / (len(groups[pair[0]]) * len(groups[pair[1]]))
        is_better = like > best or (like == best and found is not None and pair < found)
        if is_better and pair not in apart:
            found, best = pair, like
    return found
