"""Choosing a gate: it opens for a selector that is right, stays shut for noise, and never looks at its own fold."""

from dataclasses import replace

import numpy as np
import pytest

from tracerank.selectors.gate.fit import (
    OWN,
    VOTED,
    Cases,
    answer_chance,
    chances_of,
    choose_gate,
    pass_gate,
    pass_nested,
)
from tracerank.selectors.gate.selector import BY_SELECTOR, BY_VOTE, COLUMNS, Chance

pytest.importorskip("scipy")
LEAD = COLUMNS.index("score_lead")


def cases(count: int = 200, seed: int = 0, knows: float = 3.0) -> Cases:
    """Two groups each; the vote is right in 4 of 10, the selector's group the likelier the larger its lead."""
    rng = np.random.default_rng(seed)
    lead = rng.normal(0.5, 1.0, count)
    standings = np.zeros((count, 2, len(COLUMNS)))
    standings[:, OWN, LEAD], standings[:, VOTED, LEAD] = lead, -lead
    standings[:, :, -1] = 1.0
    right = rng.random(count) < (1 / (1 + np.exp(-knows * lead)) if knows else 0.4)
    groups = np.stack([np.where(right & (knows > 0), 0, rng.random(count) < 0.4), right], axis=1).astype(float)
    return Cases(standings, groups, np.repeat(groups[:, :, None], 2, axis=2), np.ones(count, np.bool_))


def test_a_selector_that_knows_more_is_let_through_where_it_leads() -> None:
    found = cases()
    gate = choose_gate(found)
    assert gate.threshold is not None
    passed = pass_gate(found, gate)
    assert passed.answers(found).mean() > found.answers[:, VOTED, 0].mean() + 0.1
    leads = found.standings[:, OWN, LEAD]
    assert leads[passed.sides == OWN].min() > leads[passed.sides == VOTED].max() - 1e-9


def test_a_selector_that_is_worse_everywhere_is_never_let_through() -> None:
    found = cases(knows=0)
    found = replace(found, answers=found.answers * np.array([1.0, 0.0])[:, None], groups=found.groups * [1.0, 0.0])
    assert choose_gate(found).threshold is None
    assert not pass_nested(found, np.arange(200) % 5).sides.any()


def test_noise_gains_nothing_on_folds_that_the_gate_was_not_chosen_on() -> None:
    gains = []
    for seed in range(20):
        found = cases(100, seed, knows=0)
        gains.append((pass_nested(found, np.arange(100) % 5).answers(found) - found.answers[:, VOTED, 0]).mean())
    assert abs(np.mean(gains)) < 0.03


def test_what_pays_on_one_fold_only_is_not_used_there() -> None:
    found, folds = cases(100), np.arange(100) % 2
    pays = (folds == 0)[:, None, None] & (np.arange(2) == OWN)[:, None]
    found = replace(found, answers=np.broadcast_to(pays, (100, 2, 2)).astype(float), groups=pays[:, :, 0].astype(float))
    assert not pass_nested(found, folds).sides[folds == 0].any()


def test_the_member_is_chosen_by_whoever_chooses_better() -> None:
    found = cases(knows=0)
    answers = np.zeros((200, 2, 2))
    answers[:, :, 1] = 1.0
    assert choose_gate(replace(found, answers=answers)).member == BY_SELECTOR
    assert choose_gate(replace(found, answers=answers[:, :, ::-1])).member == BY_VOTE


def test_among_gates_that_are_equally_right_the_one_closest_to_the_vote_is_taken() -> None:
    gate = choose_gate(replace(cases(), answers=np.ones((200, 2, 2))))
    assert (gate.threshold, gate.member) == (None, BY_VOTE)


def test_a_run_of_luck_makes_no_answer_certain() -> None:
    found = replace(cases(10), answers=np.ones((10, 2, 2)), groups=np.ones((10, 2)))
    chance = answer_chance(found, pass_gate(found, choose_gate(found)))
    assert 0.8 < chances_of(chance, found.standings[:, VOTED]).mean() < 0.97


def test_chances_are_as_often_right_as_they_say() -> None:
    found = cases(4_000)
    gate = choose_gate(found)
    passed = pass_gate(found, gate)
    chances = chances_of(gate.answer, passed.standings(found))
    for low, high in ((0.3, 0.6), (0.6, 0.8), (0.8, 1.0)):
        inside = (chances >= low) & (chances < high)
        assert passed.answers(found)[inside].mean() == pytest.approx(chances[inside].mean(), abs=0.06)


def test_arrays_and_single_pools_get_the_same_chance() -> None:
    chance = Chance((1.5, -2.0, 0.3, 0.1))
    rows = np.random.default_rng(0).normal(size=(20, 4)) * 20
    np.testing.assert_allclose(chances_of(chance, rows), [chance.of(row.tolist()) for row in rows], rtol=1e-12)


def test_pools_with_nothing_to_choose_do_not_disturb() -> None:
    found = cases(50)
    empty = Cases(np.zeros((30, 2, len(COLUMNS))), np.zeros((30, 2)), np.zeros((30, 2, 2)), np.zeros(30, np.bool_))
    both = Cases(*(np.concatenate([getattr(part, name) for part in (found, empty)]) for name in Cases.__slots__))
    assert choose_gate(both).group == choose_gate(found).group
