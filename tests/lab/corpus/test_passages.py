"""Where texts are cut."""

import time
from itertools import pairwise
from random import Random

import pytest

from tracerank.errors import CorpusError
from tracerank.lab.corpus.base import DEFAULT_RULE, PassageRule
from tracerank.lab.corpus.build import cut_passages


def cut(text: str, rule: PassageRule = DEFAULT_RULE) -> list[str]:
    return [text[start:end] for start, end in cut_passages(text, rule)]


def sentences(count: int, length: int = 10) -> str:
    return " ".join(f"{'word ' * (length - 2)}number s{n}." for n in range(count))


def test_passages_begin_and_end_with_sentences_and_overlap() -> None:
    parts = cut(sentences(40))
    assert len(parts) == 5
    assert all(part.startswith("word word") and part.endswith(".") for part in parts)
    assert all(len(part.split()) <= 137 for part in parts)
    for one, following in pairwise(parts):
        assert one.endswith(" ".join(following.split()[:30]))


def test_every_word_is_in_a_passage_and_cutting_ends() -> None:
    rng = Random(0)
    for _ in range(300):
        pieces = rng.choices(("a", "b. ", "\n", " ", "x" * 90, "東京。", "…", "Mr. "), k=rng.randrange(400))
        text = "".join(pieces)
        rule = PassageRule(rng.randrange(10, 40), rng.randrange(5))
        spans = cut_passages(text, rule)
        covered: set[int] = set()
        for start, end in spans:
            assert 0 <= start < end <= len(text)
            covered.update(range(start, end))
        assert all(at in covered for at, char in enumerate(text) if not char.isspace())
        assert [start for start, _ in spans] == sorted({start for start, _ in spans})


def test_cutting_takes_linear_time() -> None:
    began = time.monotonic()
    cut_passages("a." * 1_000_000 + " b" * 200_000, DEFAULT_RULE)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(("words", "overlap"), [(9, 0), (100, 50), (100, -1)])
def test_rules_that_cannot_work_are_refused(words: int, overlap: int) -> None:
    with pytest.raises(CorpusError, match="cannot be cut"):
        PassageRule(words, overlap)
