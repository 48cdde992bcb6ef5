"""Random subsets and paired gains of ``studies/quality/cells.py``."""

import pytest

from studies.quality.cells import DRAWS, measure, subset, subsets
from tests.builders import pool_of, rollout
from tracerank.votes.simple import SingleRollout
from tracerank.votes.voting import MajorityVote


def labelled_pool(number: int):
    rollouts = (rollout(answer, label=answer == "Paris") for answer in ("Paris", "Rome", "Paris"))
    return pool_of(*rollouts, question=f"q{number}")


def test_a_subset_is_drawn_from_the_pool_and_renumbered() -> None:
    drawn = subset(labelled_pool(1), 2, 0)
    assert [rollout.sample_id for rollout in drawn.rollouts] == [0, 1]
    assert {rollout.answer for rollout in drawn.rollouts} <= {"Paris", "Rome"}
    assert drawn == subset(labelled_pool(1), 2, 0)


def test_gains_are_paired_with_both_votes() -> None:
    methods = {"majority": MajorityVote(), "majority by meaning": MajorityVote(), "single": SingleRollout()}
    pools = [labelled_pool(number) for number in range(20)]
    rows = {row.method: row for row in measure("mine", pools, 3, methods)}
    assert (rows["majority"].right, rows["majority"].gain) == (100, 0)
    assert rows["single"].gain == pytest.approx(rows["single"].right - 100)
    assert rows["single"].low <= rows["single"].gain <= rows["single"].high < 0
    assert len(subsets(pools, 2)) == DRAWS * 20
