"""How sane a feature model is: do small groups overturn large ones, may a further vote harm. Fits nothing."""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

import tracerank as tr
from studies.quality.meaning_candidates import Seen, see
from tracerank.pools.correctness import correctness
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.model import FeatureModel
from tracerank.selectors.meaning.selector import FEW, MANY, choose_meaning

LEAST = 1e-9
"""What a chance must fall by to count; less is rounding."""
CLEARLY = 0.01


@dataclass(frozen=True, slots=True)
class Overturns:
    """Where a group with few votes was chosen over one with many."""

    pools: int = 0
    """With a large group and at least one small one."""
    overturned: int = 0
    questions: int = 0
    """Distinct ones among these; draws of one question resemble each other."""
    right: int = 0
    """Of these, where the chosen string was right."""
    vote_right: int = 0
    """Of these, where the commonest form of the large group would have been."""


@dataclass(frozen=True, slots=True)
class FurtherVotes:
    """What a copy of a rollout does to the chance of its own group."""

    tried: int = 0
    lowered: int = 0
    clearly: int = 0
    """By more than a point."""


def group_chances(model: FeatureModel, table: FeatureTable) -> NDArray[np.float64]:
    return np.bincount(table.groups, choose_meaning(model, table).chances)


def overturns(model: FeatureModel, pools: Iterable[Seen]) -> Overturns:
    """Counts over pools whose rollouts are labelled."""
    counted = overturned = right = vote_right = 0
    questions = set()
    for seen in pools:
        table = seen.table
        if not len(table.values):
            continue
        votes = np.bincount(table.groups, table.votes)
        shares = votes / votes.sum()
        largest = int(shares.argmax())
        if shares[largest] < MANY or not (shares < FEW).any():
            continue
        counted += 1
        chosen = choose_meaning(model, table)
        if shares[chosen.group] < FEW:
            overturned += 1
            questions.add(seen.pool.question.text)
            right += _is_right(seen, chosen.row)
            vote_right += _is_right(seen, int(np.where(table.groups == largest, table.votes, 0).argmax()))
    return Overturns(counted, overturned, len(questions), right, vote_right)


def _is_right(seen: Seen, row: int) -> bool:
    chosen = seen.retained.kept[seen.table.rollouts[row][0]]
    return (correctness(chosen, seen.pool.question.references) or 0.0) >= 0.5


@dataclass(frozen=True, slots=True)
class Repeated:
    """A pool, and the same with one rollout twice."""

    before: FeatureTable
    after: FeatureTable
    row: int
    """Of the repeated rollout's form, before."""
    row_after: int


def repeated(seen: Seen) -> Repeated | None:
    """With a copy of a random rollout that has a vote; None: nobody has one."""
    table, kept = seen.table, seen.retained.kept
    voting = [place for places in table.rollouts for place in places]
    if not voting:
        return None
    place = Random(zlib.crc32(seen.pool.question.text.encode())).choice(sorted(voting))
    copy = replace(kept[place], sample_id=1 + max(one.sample_id for one in seen.pool.rollouts))
    after = see(tr.Pool.of(seen.pool.question, (*seen.pool.rollouts, copy))).table
    # The copy comes last, so places of the others stay.
    return Repeated(table, after, _row_of(table, place), _row_of(after, place))


def _row_of(table: FeatureTable, place: int) -> int:
    return next(row for row, places in enumerate(table.rollouts) if place in places)


def further_votes(model: FeatureModel, pairs: Sequence[Repeated]) -> FurtherVotes:
    falls = []
    for pair in pairs:
        before = group_chances(model, pair.before)[pair.before.groups[pair.row]]
        after = group_chances(model, pair.after)[pair.after.groups[pair.row_after]]
        falls.append(before - after)
    return FurtherVotes(len(falls), *(sum(bool(fall > least) for fall in falls) for least in (LEAST, CLEARLY)))
