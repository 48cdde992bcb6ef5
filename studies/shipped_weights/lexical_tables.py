"""The two word tables of the span scorer, from a corpus alone: how rare a word is, and what it is like."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from tracerank.lab.corpus.base import Passage
from tracerank.lab.lexical.analysis import RARITY_BUCKETS, VECTOR_BUCKETS, Floats
from tracerank.lab.lexical.span_scorer import WIDTH
from tracerank.lab.lexical.spans import TOKEN, stem_hash

REACH = 5
"""Words to either side that tell what a word is like; direct neighbours are told apart from the others."""
BLOCK = 4000


def word_tables(passages: Sequence[Passage]) -> tuple[Floats, Floats]:
    """Rarity by bucket, and unit vectors by bucket."""
    texts = [np.array(list(map(stem_hash, _tokens(passage))), np.int64) for passage in passages]
    return _rarity(texts), _vectors(texts)


def _tokens(passage: Passage) -> list[str]:
    return TOKEN.findall(f"{passage.title} : {passage.text}")


def _rarity(texts: Sequence[np.ndarray]) -> Floats:
    """Inverse document frequency; of the words of a bucket the commonest counts."""
    frequency: dict[int, int] = {}
    for text in texts:
        for word in set(text.tolist()):
            frequency[word] = frequency.get(word, 0) + 1
    found = np.zeros(RARITY_BUCKETS)
    for word, count in frequency.items():
        found[word % RARITY_BUCKETS] = max(found[word % RARITY_BUCKETS], count)
    return np.minimum(np.log(1 + (len(texts) - found + 0.5) / (found + 0.5)), np.log(len(texts))).astype(np.float32)


def _vectors(texts: Sequence[np.ndarray]) -> Floats:
    """Positive pointwise mutual information of words and neighbours, in few dimensions."""
    counts = sp.csr_matrix((VECTOR_BUCKETS, 4 * VECTOR_BUCKETS), dtype=np.float32)
    for start in range(0, len(texts), BLOCK):
        counts = counts + _neighbours(texts[start : start + BLOCK])
    entries = counts.tocoo()
    words = np.asarray(counts.sum(axis=1)).ravel()
    # Smoothed, or rare neighbours would tell too much.
    contexts = np.asarray(counts.sum(axis=0)).ravel() ** 0.75
    often = entries.data > 1
    row, column, value = entries.row[often], entries.col[often], entries.data[often]
    shared = np.log(value * contexts.sum() / (words[row] * contexts[column]))
    positive = shared > 0
    matrix = sp.csr_matrix((shared[positive], (row[positive], column[positive])), shape=counts.shape)
    left, sizes, _ = randomized_svd(matrix, WIDTH, n_iter=3, random_state=0)
    scaled = left * np.sqrt(sizes)
    return (scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-6)).astype(np.float32)


def _neighbours(texts: Sequence[np.ndarray]) -> sp.csr_matrix:
    rows, columns = [], []
    for text in texts:
        buckets = text % VECTOR_BUCKETS
        for distance in range(1, REACH + 1):
            left, right = buckets[:-distance], buckets[distance:]
            slot = 0 if distance == 1 else 2
            rows += [left, right]
            columns += [right + slot * VECTOR_BUCKETS, left + (slot + 1) * VECTOR_BUCKETS]
    row, column = np.concatenate(rows), np.concatenate(columns)
    shape = (VECTOR_BUCKETS, 4 * VECTOR_BUCKETS)
    return sp.coo_matrix((np.ones(len(row), np.float32), (row, column)), shape=shape).tocsr()
