"""The shipped reader: small, free of text, and able to read pages it has never seen."""

from pathlib import Path

import numpy as np
import pytest

from tests.agents.lexical.tiny_corpus import PAGES
from tracerank.agents.lexical import span_scorer as reader_module
from tracerank.agents.lexical.analysis import crosses
from tracerank.agents.lexical.span_scorer import SHIPPED, Reader, dense_features, load_weights, through

WEIGHTS = Path(reader_module.__file__).with_name(SHIPPED)


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(load_weights())


def best(reader: Reader, question: str, page: int) -> str:
    reading = reader.read(reader.lens(question), reader.analyse(*PAGES[page]))
    return reading.passage.surfaces[int(reading.spans[reading.answer.argmax()])]


def test_the_weights_fit_into_two_megabytes() -> None:
    assert WEIGHTS.stat().st_size <= 2_000_000


@pytest.mark.parametrize(
    ("question", "page", "answer"),
    [
        ("Who designed the Silver Bridge of Orrin?", 1, "Maren Holt"),
        ("When was Tove Brandt born?", 7, "9 July 1930"),
        ("Who directed The Glass Ferry?", 6, "Tove Brandt"),
        ("In what town was Maren Holt born?", 0, "Alversund"),
    ],
)
def test_plain_facts_are_read_from_new_pages(reader: Reader, question: str, page: int, answer: str) -> None:
    assert best(reader, question, page) == answer


def test_the_name_worth_following_is_not_one_that_the_question_gives(reader: Reader) -> None:
    lens = reader.lens("Where was the designer of the Silver Bridge of Orrin born?")
    reading = reader.read(lens, reader.analyse(*PAGES[1]))
    assert reading.passage.names[int(reading.follow[0])] == "maren holt"


def test_folding_the_question_into_the_first_layer_changes_nothing(reader: Reader) -> None:
    lens = reader.lens("In what town was the designer of the Silver Bridge of Orrin born?")
    weights = reader.weights
    for page in PAGES:
        passage = reader.analyse(*page)
        plainly = through(weights.layers, dense_features(lens.view, passage))
        plainly = plainly + weights.cross[crosses(lens.view, passage)].sum(axis=1)
        np.testing.assert_allclose(reader.logits(lens, passage), plainly, atol=1e-3)


def test_saved_weights_read_as_before(reader: Reader, tmp_path: Path) -> None:
    reader.weights.save(tmp_path / "weights.safetensors")
    again = Reader(load_weights(tmp_path / "weights.safetensors"))
    lens = reader.lens("Who directed The Glass Ferry?")
    for page in PAGES:
        one, other = (each.logits(lens, each.analyse(*page)) for each in (reader, again))
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_empty_and_endless_pages_can_be_read(reader: Reader) -> None:
    lens = reader.lens("Who?")
    for title, text in (("", ""), ("Orrin", ""), ("", "?!"), ("x" * 10_000, "word " * 100_000)):
        assert np.isfinite(reader.logits(lens, reader.analyse(title, text))).all()
