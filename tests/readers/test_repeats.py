"""Texts that come again: what was made of them is taken from before, and never mistaken."""

from tracerank.readers.repeats import Repeats


def test_a_text_that_comes_again_is_worked_out_once() -> None:
    asked: list[str] = []
    repeats = Repeats(lambda text: asked.append(text) or text.upper())
    page = "a page of some length " * 20
    assert repeats("[3] " + page, 4) == repeats("[17] " + page, 5) == page.upper()
    assert asked == [page]


def test_texts_that_differ_in_one_place_only_are_told_apart() -> None:
    repeats = Repeats(str.upper)
    page = "the same words again and again " * 40
    for place in range(0, len(page), 37):
        other = f"{page[:place]}X{page[place + 1 :]}"
        assert repeats(other) == other.upper()
        assert repeats(page) == page.upper()


def test_no_more_is_held_than_allowed() -> None:
    repeats = Repeats(str.upper, most=1000)
    for number in range(100):
        repeats(f"{number} " * 100)
    assert sum(len(text) for text, _ in repeats._known.values()) <= 1500
    repeats("x" * (1 << 17))
    assert all(len(text) < 1 << 17 for text, _ in repeats._known.values())
