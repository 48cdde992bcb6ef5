"""BM25 by bm25s: text to index terms, terms to scores kept on disk and memory-mapped for searching.

Terms are words in lower case without accents and stop words, reduced to their stems. Ties go to the earlier passage.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import CorpusError
from tracerank.extras import needed

K1, B = 1.2, 0.75
"""Lucene's values; passages are of even length, so that little depends on them."""
_WORD = re.compile(r"\b\w{1,64}\b")


class TermReader:
    """Reads the terms of a text; safe to share between threads."""

    def __init__(self) -> None:
        with needed("searching a corpus needs", "lab", CorpusError):
            import Stemmer  # type: ignore[import-not-found,unused-ignore]
            from bm25s.stopwords import STOPWORDS_EN  # type: ignore[import-untyped,unused-ignore]
        self._stemmer = Stemmer.Stemmer("english")
        self._lock = Lock()  # a stemmer keeps state between calls
        self._stopwords = frozenset(STOPWORDS_EN)

    def terms(self, text: str) -> list[str]:
        """The terms in order, repeated as often as they occur."""
        if not text.isascii():
            text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
        words = [word for word in _WORD.findall(text.lower()) if word not in self._stopwords]
        with self._lock:
            stems: list[str] = self._stemmer.stemWords(words)
        return stems


def write_scores(folder: Path, texts: Iterable[str]) -> int:
    """Index the texts in the order of their numbers; how many distinct terms there are."""
    reader, numbers = TermReader(), dict[str, int]()
    rows = [array("i", [numbers.setdefault(term, len(numbers)) for term in reader.terms(text)]) for text in texts]
    if not numbers:
        raise CorpusError("no document holds a word to search for; expected rows with 'title' and 'text'")
    # Its numba backend would sum in another order.
    index = _library().BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="numpy")
    index.index((rows, numbers), create_empty_token=False, show_progress=False)
    index.save(folder, show_progress=False)
    return len(numbers)


class Bm25Index:
    """A saved index; only the vocabulary is held in memory."""

    def __init__(self, folder: Path) -> None:
        self._terms = TermReader()
        self._index = _library().BM25.load(folder, mmap=True, show_progress=False)
        self._index.unique_token_ids_set = set()  # megabytes that only its own retrieve() needs
        self.passages = int(self._index.scores["num_docs"])

    def rank(self, query: str, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Numbers and scores of the k best passages that share a term with the query."""
        numbers = self._index.get_tokens_ids(self._terms.terms(query))
        if not numbers or k < 1:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores: NDArray[np.float32] = self._index.get_scores_from_ids(numbers)
        touched = np.flatnonzero(scores)
        if len(touched) > k:
            touched = touched[scores[touched] >= np.partition(scores[touched], -k)[-k]]
        order = touched[np.argsort(-scores[touched], kind="stable")][:k]
        return order, scores[order]


def _library() -> Any:
    with needed("searching a corpus needs", "lab", CorpusError):
        import bm25s  # type: ignore[import-untyped,unused-ignore]
    return bm25s
