"""Budgets: the first K, and random K that every method shares."""

from tests.builders import pool
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import cuts


def ids(found: Pool) -> set[int]:
    return {rollout.sample_id for rollout in found.rollouts}


def test_the_first_k_come_first_and_random_subsets_have_k_rollouts() -> None:
    found = list(cuts(pool(*"abcdef"), [2, 4], subsets=3))
    assert [(cut.k, cut.subset) for cut in found[:2]] == [(2, 0), (4, 0)]
    assert [ids(cut.pool) for cut in found[:2]] == [{0, 1}, {0, 1, 2, 3}]
    assert all(len(cut.pool) == cut.k for cut in found)
    assert len({frozenset(ids(cut.pool)) for cut in found if cut.k == 2}) > 1


def test_subsets_depend_on_seed_and_question_alone() -> None:
    one = pool(*"abcdefgh")

    def drawn(seed: int) -> list[set[int]]:
        return [ids(cut.pool) for cut in cuts(one, [3], subsets=4, seed=seed)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_larger_subsets_contain_smaller_ones_of_the_same_number() -> None:
    found = {(cut.k, cut.subset): ids(cut.pool) for cut in cuts(pool(*"abcdefgh"), [2, 5], subsets=3)}
    assert all(found[2, number] < found[5, number] for number in (1, 2, 3))


def test_a_pool_of_k_rollouts_has_one_subset() -> None:
    assert [(cut.k, cut.subset) for cut in cuts(pool("a", "b"), [2, 9], subsets=5)] == [(2, 0), (9, 0), (2, 1), (9, 1)]
