"""Which parts of a text are offered as answers."""

import time

import pytest

from tracerank.lab.lexical.spans import MAX_SPANS, Tokens, find_spans


def kinds(text: str) -> dict[str, str]:
    tokens = Tokens.of(text)
    return {tokens.surface(*span): kind for span, kind in find_spans(tokens).items()}


@pytest.mark.parametrize(
    ("text", "surface", "kind"),
    [
        ("She was born on 3 May 1921 there.", "3 May 1921", "date"),
        ("It opened on July 9, 1930.", "July 9, 1930", "date"),
        ("Work began in June 1840.", "June 1840", "date"),
        ("Work began in 1840.", "1840", "year"),
        ("It is 40 kilometres long.", "40 kilometres", "number"),
        ("It was led by Maren Holt.", "Maren Holt", "name"),
        ("He moved to Orrin, North Vale.", "Orrin, North Vale", "place"),
        ('They sang "the long way down" twice.', "the long way down", "quote"),
        ("She served as Chief of Protocol of the Grey Islands.", "Chief", "word"),
        ("He was a ship owner.", "ship owner", "phrase"),
        ("The Norwegian won.", "Norwegian", "adjective"),
    ],
)
def test_a_span_is_found_and_typed(text: str, surface: str, kind: str) -> None:
    assert kinds(text)[surface] == kind


def test_a_city_stays_an_answer_of_its_own_beside_city_and_state() -> None:
    assert {"Orrin", "Orrin, Northvale"} <= kinds("He died in Orrin, Northvale.").keys()


def test_hostile_text_gives_a_bounded_number_of_spans_quickly() -> None:
    began = time.perf_counter()
    for text in ("1," * 20_000, "A. " * 20_000, '"' * 40_000, "Of the " * 10_000, "a-" * 20_000):
        assert len(find_spans(Tokens.of(text))) <= MAX_SPANS
    assert time.perf_counter() - began < 5
