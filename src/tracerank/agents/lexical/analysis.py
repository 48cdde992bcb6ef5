"""A passage that a search returned, analysed for reading: tokens as arrays, spans, names, what surrounds them.

Knows no question. Page text is hostile: what is analysed of it is bounded.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.agents.lexical.spans import SpanKind, Tokens, find_spans
from tracerank.agents.lexical.words import content_words, hash_of, is_content, stem_hash
from tracerank.answers.exact import normalize_answer

MAX_CHARACTERS = 4000
"""What lies beyond in a passage's text is shown as evidence but not read."""

RARITY_BUCKETS = 1 << 16
VECTOR_BUCKETS = 1 << 15
WINDOW = 5
"""Words to either side of a span whose directions are added up."""
CONTEXTS = 11
"""Words and shapes around a span that question words are crossed with."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Hashes = NDArray[np.uint64]

_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
_MIX = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True, eq=False)
class WordTables:
    """What is known of words, by hash bucket."""

    rarity: Floats
    """How much a word tells, about 0 to 10."""
    vectors: Floats
    """What a word is like: (VECTOR_BUCKETS, width)."""

    def rarity_of(self, hashes: Hashes) -> Floats:
        return self.rarity[(hashes % np.uint64(RARITY_BUCKETS)).astype(np.int64)]

    def vectors_of(self, hashes: Hashes) -> Floats:
        return self.vectors[(hashes % np.uint64(VECTOR_BUCKETS)).astype(np.int64)]


@dataclass(frozen=True, slots=True, eq=False)
class AnalysedPassage:
    """A passage taken apart; the arrays of tokens and of spans are parallel. The last span is the title."""

    title: str
    """Without a qualifier in brackets."""
    title_name: str
    title_words: frozenset[int]
    """Stem hashes of the title's content words."""
    words: frozenset[int]
    """Stem hashes of the content words of text and title."""
    hashes: Hashes
    """Stem hash of each token."""
    rarity: Floats
    """How much a token tells; 0 for stop words and signs."""
    sentence: Ints
    """Number of each token's sentence."""
    starts: Ints
    ends: Ints
    kinds: Ints
    surfaces: tuple[str, ...]
    """Each span as it is written."""
    names: tuple[str, ...]
    """Each span as a normalised answer."""
    counts: Floats
    """Spans of this passage with the same name."""
    is_title: NDArray[np.bool_]
    """Spans with the name of the title."""
    span_direction: Floats
    """What the words of a span are like: (spans, width)."""
    window_direction: Floats
    """What the words around it are like: (spans, width)."""
    title_direction: Floats
    contexts: Hashes
    """Mixed hashes of the words and shapes around a span: (spans, CONTEXTS)."""

    def __len__(self) -> int:
        return len(self.starts)


def bare_title(title: str) -> str:
    """A title without the words in brackets that tell namesakes apart."""
    return _QUALIFIER.sub("", title[:200]) or title[:200]


def analyse(title: str, text: str, tables: WordTables) -> AnalysedPassage:
    """Take a passage apart."""
    bare = bare_title(title)
    tokens = Tokens.of(text[:MAX_CHARACTERS])
    if not tokens.words:
        tokens = Tokens.of(f"{bare} .")
    hashes = np.array([stem_hash(word) for word in tokens.words], np.uint64)
    content = np.array([is_content(word) for word in tokens.words], bool)
    rarity = np.where(content, tables.rarity_of(hashes), 0).astype(np.float32)
    spans = [(span, tokens.surface(span.start, span.end)) for span in find_spans(tokens)]
    named = [(span, surface, name) for span, surface in spans if (name := normalize_answer(surface))]
    names = (*(name for _, _, name in named), normalize_answer(bare))
    count_of = Counter(names)
    title_words = frozenset(map(stem_hash, content_words(bare)))
    # The title is a span too: it stands for the subject, wherever the text names it.
    starts = np.array([span.start for span, _, _ in named] + [0])
    ends = np.array([span.end for span, _, _ in named] + [min(len(hashes), max(1, len(title_words)))])
    kinds = np.array([span.kind for span, _, _ in named] + [SpanKind.TITLE])
    sentence = _sentences(tokens.words)
    is_title = np.array([name == names[-1] for name in names])
    span_direction, window_direction = _directions(tables.vectors_of(hashes), rarity, starts, ends)
    return AnalysedPassage(
        title=bare,
        title_name=names[-1],
        title_words=title_words,
        words=frozenset(hashes[content].tolist()) | title_words,
        hashes=hashes,
        rarity=rarity,
        sentence=sentence,
        starts=starts,
        ends=ends,
        kinds=kinds,
        surfaces=(*(surface for _, surface, _ in named), bare),
        names=names,
        counts=np.array([count_of[name] for name in names], np.float32),
        is_title=is_title,
        span_direction=span_direction,
        window_direction=window_direction,
        title_direction=direction(tables.vectors_of(np.array(sorted(title_words), np.uint64)).sum(axis=0)),
        contexts=_contexts(
            hashes, starts, ends, names, kinds, shape=kinds * 4 + (sentence[starts] == 0) * 2 + is_title
        ),
    )


def _sentences(words: Sequence[str]) -> Ints:
    numbers, number = [], 0
    for at, word in enumerate(words):
        numbers.append(number)
        if word in ".?!" and at + 1 < len(words) and words[at + 1][0].isupper():
            number += 1
    return np.array(numbers, np.int64)


def direction(vectors: Floats) -> Floats:
    """Vectors of length 1; zero stays zero."""
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.maximum(length, 1e-6), np.float32)


def _directions(vectors: Floats, rarity: Floats, starts: Ints, ends: Ints) -> tuple[Floats, Floats]:
    """Of spans and of their windows, from running sums over the tokens."""
    last = len(vectors)
    running = np.zeros((last + 1, vectors.shape[1]), np.float32)
    np.cumsum(vectors * np.sqrt(rarity)[:, None], axis=0, out=running[1:])
    inner = running[ends] - running[starts]
    outer = running[np.minimum(ends + WINDOW, last)] - running[np.maximum(starts - WINDOW, 0)]
    return direction(inner), direction(outer - inner)


def _contexts(hashes: Hashes, starts: Ints, ends: Ints, names: Sequence[str], kinds: Ints, shape: Ints) -> Hashes:
    edge = np.arange(1, 4, dtype=np.uint64)
    padded = np.concatenate([edge, hashes, edge + np.uint64(3)])
    contexts = (
        padded[starts + 2],
        padded[starts + 1],
        padded[starts],
        padded[ends + 3],
        padded[ends + 4],
        padded[starts + 3],
        padded[ends + 2],
        padded[starts + 2] * np.uint64(31) + padded[starts + 1],
        np.array(list(map(hash_of, names)), np.uint64),
        kinds.astype(np.uint64),
        shape.astype(np.uint64),
    )
    # An own odd factor each, so that a word before a span and the same word after it fall apart.
    mixed = [context * np.uint64(2 * at + 3) + np.uint64(at) for at, context in enumerate(contexts)]
    return np.stack(mixed, axis=1) * _MIX
