"""BM25 by bm25s: text to index terms, terms to scores kept on disk and memory-mapped for searching.

Terms are words in lower case without accents and stop words, reduced to their stems. Ties go to the earlier passage.
"""

import re
import unicodedata
from array import array
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import CorpusError
from tracerank.extras import needed

_WORD = re.compile(r"\w+")
_LONGEST_WORD = 64
_REMEMBERED = 1 << 18
"""Words whose stem is kept; a text of random letters must not fill the memory."""


class TermReader:
    """Reads the terms of a text; safe to share between threads."""

    def __init__(self) -> None:
        with needed("searching a corpus needs", "lab", CorpusError):
            import Stemmer  # type: ignore[import-not-found,unused-ignore]
            from bm25s.stopwords import STOPWORDS_EN  # type: ignore[import-untyped,unused-ignore]
        self._stemmer = Stemmer.Stemmer("english")
        self._lock = Lock()  # a stemmer keeps state between calls
        self._terms: dict[str, str | None] = dict.fromkeys(STOPWORDS_EN)

    def terms(self, text: str) -> list[str]:
        """The terms in order, repeated as often as they occur."""
        if not text.isascii():
            text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
        known = self._terms
        found = []
        for word in _WORD.findall(text.lower()):
            term = known[word] if word in known else self._stem(word)
            if term is not None:
                found.append(term)
        return found

    def _stem(self, word: str) -> str | None:
        if len(word) > _LONGEST_WORD:
            return None
        with self._lock:
            stem: str = self._stemmer.stemWord(word)
        if len(self._terms) < _REMEMBERED:
            self._terms[word] = stem
        return stem


K1, B = 1.2, 0.75
"""Lucene's values; passages are of even length, so that little depends on them."""

_BLOCK = 64


class Bm25Writer:
    """Takes the indexed texts one by one, in the order of their numbers."""

    def __init__(self) -> None:
        self._bm25s = _library()
        self._reader = TermReader()
        self._numbers: dict[str, int] = {}
        self._texts: list[array[int]] = []

    @property
    def terms(self) -> int:
        """Distinct terms so far."""
        return len(self._numbers)

    def append(self, text: str) -> None:
        numbers = self._numbers
        terms = self._reader.terms(text)
        self._texts.append(array("i", [numbers.setdefault(term, len(numbers)) for term in terms]))

    def save(self, folder: Path) -> None:
        """Compute the scores and write them."""
        if not self._numbers:
            raise CorpusError("no document holds a word to search for; is the text in the field 'text'?")
        # Its numba backend would sum in another order.
        index = self._bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="numpy")
        index.index((self._texts, self._numbers), create_empty_token=False, show_progress=False)
        index.save(folder, show_progress=False)


class Bm25Index:
    """A saved index; only the vocabulary is held in memory."""

    def __init__(self, folder: Path) -> None:
        self._terms = TermReader()
        self._index = _library().BM25.load(folder, mmap=True, show_progress=False)
        self._index.unique_token_ids_set = set()  # megabytes that only its own retrieve() needs
        for name in ("data", "indices", "indptr"):
            # The same mapped memory, without the cost that numpy's memmap class adds to each slice.
            self._index.scores[name] = np.asarray(self._index.scores[name])

    @property
    def passages(self) -> int:
        return int(self._index.scores["num_docs"])

    def rank(self, query: str, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Numbers and scores of the k best passages that share a term with the query."""
        numbers = self._index.get_tokens_ids(self._terms.terms(query))
        if not numbers or k < 1:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores: NDArray[np.float32] = self._index.get_scores_from_ids(numbers)
        touched = np.flatnonzero(scores >= _bound(scores, k))
        found = scores[touched]
        order = np.argsort(-found, kind="stable")[:k]
        return touched[order], found[order]


def _bound(scores: NDArray[np.float32], k: int) -> float:
    """A positive score that the k-th best reaches if it is positive: the k-th best of the maxima of blocks.

    Far quicker than a partition of all scores, most of which are zero.
    """
    least = float(np.finfo(np.float32).tiny)
    blocks = len(scores) // _BLOCK
    if blocks < k:
        return least
    maxima = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return max(least, float(np.partition(maxima, blocks - k)[blocks - k]))


def _library() -> Any:
    with needed("searching a corpus needs", "lab", CorpusError):
        import bm25s  # type: ignore[import-untyped,unused-ignore]
    return bm25s
