"""What is remembered of closed pools is what a dict would remember, in less memory."""

from hypothesis import given
from hypothesis import strategies as st

from tracerank.readers.files.joining import DigestTable


@given(st.lists(st.tuples(st.text(max_size=4), st.integers(0, 9)), max_size=60))
def test_it_remembers_the_first_number_of_each_text(given_items: list[tuple[str, int]]) -> None:
    table, twin = DigestTable(), dict[str, int]()
    for text, number in given_items:
        table.add(text, number)
        twin.setdefault(text, number)
    assert len(table) == len(twin)
    assert all(table.get(text) == number for text, number in twin.items())
    assert "not there" not in table


def test_it_grows_and_takes_a_few_bytes_a_text() -> None:
    table = DigestTable()
    for number in range(20_000):
        table.add(f"question {number}", number)
    assert len(table) == 20_000
    assert all(table.get(f"question {number}") == number for number in range(0, 20_000, 97))
    assert sum(len(part.digests) for part in table._parts) * 16 / 20_000 < 16 / 0.8 * 1.5


SHORT = st.text("abé ", max_size=2)


@given(st.lists(st.tuples(SHORT, SHORT, st.integers(0, 9)), max_size=60))
def test_it_knows_with_which_details_a_name_was_given(given_items: list[tuple[str, str, int]]) -> None:
    table, twin = DigestTable(), dict[tuple[str, str], int]()
    for name, detail, number in given_items:
        table.add(name, number, detail)
        twin.setdefault((name, detail), number)
    assert all(table.get_with(*both) == number for both, number in twin.items())
    assert all(table.get_with(name, "not there") is None for name, _ in twin)


def test_a_number_beyond_32_bits_is_the_largest() -> None:
    table = DigestTable()
    table.add("late", 2**40)
    assert table.get("late") == 2**32 - 1
