"""Sets of texts as bits of one integer."""

from hypothesis import given
from hypothesis import strategies as st

from tracerank.selectors.meaning.evidence import levels, most_of, places_of

TEXTS = st.integers(0, 2**9 - 1)


@given(st.lists(TEXTS, max_size=6), TEXTS)
def test_the_most_words_that_one_of_some_texts_holds(holding: list[int], texts: int) -> None:
    counts = [sum(held >> number & 1 for held in holding) for number in range(9) if texts >> number & 1]
    assert most_of(levels(holding), texts) == max(counts, default=0)


@given(st.sets(st.integers(0, 500)))
def test_numbers_of_texts_come_in_order(numbers: set[int]) -> None:
    assert places_of(sum(1 << number for number in numbers)) == sorted(numbers)
