"""Packing texts by token budget."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tracerank.embedding.local import token_batches


@given(st.lists(st.integers(0, 600), max_size=200), st.integers(1, 2000), st.integers(1, 64))
def test_every_text_is_in_one_batch_within_the_budget(lengths: list[int], budget: int, max_items: int) -> None:
    batches = token_batches(lengths, budget, max_items)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(lengths[index] for index in batch)
        assert len(batch) == 1 or padded <= budget
        assert 1 <= len(batch) <= max_items


def test_passages_questions_and_answers_waste_less_than_eight_percent() -> None:
    chance = random.Random(0)
    lengths = [min(256, round(chance.lognormvariate(4.6, 0.6))) for _ in range(750)]  # passages, about 100 tokens
    lengths += [round(chance.lognormvariate(2.8, 0.4)) for _ in range(375)]
    lengths += [3 + round(chance.lognormvariate(1.0, 0.7)) for _ in range(375)]
    chance.shuffle(lengths)
    padded = sum(len(batch) * max(lengths[index] for index in batch) for batch in token_batches(lengths, 8192, 512))
    assert 1 - sum(lengths) / padded < 0.08
