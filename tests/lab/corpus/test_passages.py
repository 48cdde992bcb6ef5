"""Where texts are cut."""

import time
from itertools import pairwise
from random import Random

from tracerank.lab.corpus.passages import cut_passages


def sentences(count: int, length: int = 10) -> str:
    return " ".join(f"{'word ' * (length - 2)}number s{n}." for n in range(count))


def test_passages_begin_and_end_with_sentences_and_overlap() -> None:
    text = sentences(40)
    parts = [text[start:end] for start, end in cut_passages(text)]
    assert len(parts) == 5
    assert all(part.startswith("word word") and part.endswith(".") for part in parts)
    assert all(len(part.split()) <= 137 for part in parts)
    for one, following in pairwise(parts):
        assert one.endswith(" ".join(following.split()[:30]))


def test_every_word_is_in_a_passage_and_cutting_ends() -> None:
    rng = Random(0)
    for _ in range(200):
        pieces = rng.choices(("a", "b. ", "\n", " ", "x" * 90, "東京。", "…", "Mr. "), k=rng.randrange(2000))
        text = "".join(pieces)
        spans = cut_passages(text)
        covered: set[int] = set()
        for start, end in spans:
            assert 0 <= start < end <= len(text)
            covered.update(range(start, end))
        assert all(at in covered for at, char in enumerate(text) if not char.isspace())
        assert [start for start, _ in spans] == sorted({start for start, _ in spans})


def test_cutting_takes_linear_time() -> None:
    began = time.monotonic()
    cut_passages("a." * 1_000_000 + " b" * 200_000)
    assert time.monotonic() - began < 3
