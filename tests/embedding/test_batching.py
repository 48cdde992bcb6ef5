"""Packing texts by token budget."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.speed.encoding import padding_waste
from tracerank.embedding.local import token_batches

LENGTHS = st.lists(st.integers(0, 600), max_size=200)
BUDGETS = st.integers(1, 2000)
ITEMS = st.integers(1, 64)


@given(LENGTHS, BUDGETS, ITEMS)
def test_every_text_is_in_exactly_one_batch(lengths: list[int], budget: int, max_items: int) -> None:
    batches = token_batches(lengths, budget, max_items)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(batches)


@given(LENGTHS, BUDGETS, ITEMS)
def test_a_padded_batch_stays_within_the_budget_unless_it_is_one_text(
    lengths: list[int], budget: int, max_items: int
) -> None:
    for batch in token_batches(lengths, budget, max_items):
        padded = len(batch) * max(lengths[index] for index in batch)
        assert len(batch) == 1 or padded <= budget
        assert len(batch) <= max_items


@given(LENGTHS, BUDGETS, ITEMS)
def test_waste_is_a_share_and_zero_when_each_text_stands_alone(lengths: list[int], budget: int, max_items: int) -> None:
    assert 0.0 <= padding_waste(lengths, token_batches(lengths, budget, max_items)) < 1.0
    assert padding_waste(lengths, [[index] for index in range(len(lengths))]) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_passages_questions_and_answers_waste_less_than_eight_percent(seed: int) -> None:
    chance = random.Random(seed)
    lengths = [min(256, round(chance.lognormvariate(4.6, 0.6))) for _ in range(750)]  # passages, about 100 tokens
    lengths += [round(chance.lognormvariate(2.8, 0.4)) for _ in range(375)]
    lengths += [3 + round(chance.lognormvariate(1.0, 0.7)) for _ in range(375)]
    chance.shuffle(lengths)
    fixed = [list(range(start, min(start + 16, 1500))) for start in range(0, 1500, 16)]
    assert padding_waste(lengths, token_batches(lengths, 8192, 512)) < 0.08
    assert padding_waste(lengths, fixed) > 0.4


def test_the_longest_texts_come_first() -> None:
    assert token_batches([1, 9, 5], budget=9, max_items=4)[0] == [1]


def test_waste_counts_padding_over_all_computed_tokens() -> None:
    assert padding_waste([4, 2, 3], [[0, 1], [2]]) == pytest.approx(2 / 11)
    assert padding_waste([], []) == 0.0


def test_a_budget_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        token_batches([1], 0, 1)
