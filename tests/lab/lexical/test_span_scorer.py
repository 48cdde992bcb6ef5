"""The shipped scorer: small, free of text, and able to read pages it has never seen."""

from pathlib import Path

import numpy as np
import pytest

from studies.shipped_weights.lexical_weights import dense_features, save_weights
from tests.lab.lexical.tiny_corpus import PAGES
from tracerank.lab.lexical.analysis import crosses
from tracerank.lab.lexical.span_scorer import SpanScorer, load_weights, through


@pytest.fixture(scope="module")
def scorer() -> SpanScorer:
    return SpanScorer(load_weights())


def best(scorer: SpanScorer, question: str, page: int) -> str:
    scored = scorer.score(scorer.lens(question), scorer.analyse(*PAGES[page]))
    return scored.passage.surfaces[int(scored.spans[scored.answer.argmax()])]


@pytest.mark.parametrize(
    ("question", "page", "answer"),
    [
        ("Who designed the Silver Bridge of Orrin?", 1, "Maren Holt"),
        ("When was Tove Brandt born?", 7, "9 July 1930"),
        ("Who directed The Glass Ferry?", 6, "Tove Brandt"),
        ("In what town was Maren Holt born?", 0, "Alversund"),
    ],
)
def test_plain_facts_are_read_from_new_pages(scorer: SpanScorer, question: str, page: int, answer: str) -> None:
    assert best(scorer, question, page) == answer


def test_the_name_worth_following_is_not_one_that_the_question_gives(scorer: SpanScorer) -> None:
    lens = scorer.lens("Where was the designer of the Silver Bridge of Orrin born?")
    scored = scorer.score(lens, scorer.analyse(*PAGES[1]))
    assert scored.passage.names[int(scored.follow[0])] == "maren holt"


def test_folding_the_question_into_the_first_layer_changes_nothing(scorer: SpanScorer) -> None:
    lens = scorer.lens("In what town was the designer of the Silver Bridge of Orrin born?")
    weights = scorer.weights
    for page in PAGES:
        passage = scorer.analyse(*page)
        plainly = through(weights.layers, dense_features(lens.view, passage))
        plainly = plainly + weights.cross[crosses(lens.view, passage)].sum(axis=1)
        np.testing.assert_allclose(scorer.logits(lens, passage), plainly, atol=1e-3)


def test_saved_weights_read_as_before(scorer: SpanScorer, tmp_path: Path) -> None:
    save_weights(scorer.weights, tmp_path / "weights.safetensors")
    again = SpanScorer(load_weights(tmp_path / "weights.safetensors"))
    lens = scorer.lens("Who directed The Glass Ferry?")
    for page in PAGES:
        one, other = (each.logits(lens, each.analyse(*page)) for each in (scorer, again))
        np.testing.assert_allclose(one, other, atol=1e-4)
