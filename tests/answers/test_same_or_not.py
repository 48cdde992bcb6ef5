"""Equal answers are found and contradictions are kept apart, on both halves of the table."""

from collections.abc import Sequence

import pytest

from tests.answers.same_or_not import Pair, developing, unseen
from tracerank.answers.meaning.grouping import same_answer
from tracerank.answers.meaning.rightness import is_right

LEAST_JOINED, MOST_MIXED = 0.85, 0.12
HALVES = pytest.mark.parametrize("pairs", [developing(), unseen()], ids=["developing", "unseen"])


@HALVES
def test_equal_answers_are_joined_and_contradictions_are_not(pairs: Sequence[Pair]) -> None:
    joined = {
        said: [same_answer(one.question, one.a, one.b) for one in pairs if one.is_same == said]
        for said in (True, False)
    }
    assert sum(joined[True]) >= LEAST_JOINED * len(joined[True])
    assert sum(joined[False]) <= MOST_MIXED * len(joined[False])


@HALVES
def test_a_contradiction_of_the_reference_is_not_right(pairs: Sequence[Pair]) -> None:
    right = {
        said: [is_right(one.question, one.a, [one.b]) for one in pairs if one.is_same == said] for said in (True, False)
    }
    assert sum(right[True]) >= LEAST_JOINED * len(right[True])
    assert sum(right[False]) <= MOST_MIXED * len(right[False])


def test_the_halves_hold_both_sorts_of_every_kind() -> None:
    for pairs in developing(), unseen():
        assert len({(one.kind, one.is_same) for one in pairs}) == 2 * len(
            {one.kind for one in [*developing(), *unseen()]}
        )
