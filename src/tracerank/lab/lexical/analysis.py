"""A passage that a search returned, analysed for reading, and what the span scorer sees of its spans.

Analysing knows no question; page text is hostile, so what is analysed of it is bounded. Features are dense numbers, and
hashed crosses of question words with the words around a span: a cross is a bucket of the weights, so no word of any
text is kept in them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.exact import normalize_answer
from tracerank.lab.lexical.questions import QUESTION_WORDS, ParsedQuestion
from tracerank.lab.lexical.spans import (
    SpanKind,
    Tokens,
    content_words,
    find_spans,
    hash_of,
    is_content,
    stem,
    stem_hash,
)

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


CROSS_BUCKETS = 1 << 18
MAX_RELATION_KEYS = 7

PASSAGE_FEATURES = ("coverage", "names", "relation", "title share", "title asked", "named", "length")
SPAN_FEATURES = (
    *("near all", "around all", "near relation", "around relation", "near names"),
    *("sentence all", "sentence relation", "sentence names", "best sentence", "position", "first sentence"),
    *("asked share", "asked", "is title", "rarity", "tokens", "count", "bracket", "comma before", "comma after"),
    *("left relation", "right relation", "left name", "right name"),
)
PLAIN = len(PASSAGE_FEATURES) + len(SPAN_FEATURES) + len(SpanKind) + len(QUESTION_WORDS) + 1

_NEAR, _AROUND, _FAR = 4, 10, 30
_SIGN = {sign: hash_of(sign) for sign in "(,"}
_KEY_MIX = np.uint64(0x9E3779B97F4A7C15)
_RELATION, _NAME = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class QuestionView:
    """A parsed question as the features need it."""

    parsed: ParsedQuestion
    role_of: dict[int, int]
    """Stem hash of a content word to whether it belongs to a name."""
    rarity_of: dict[int, float]
    keys: Hashes
    """Mixed hashes of the question word, of what is asked for, and of the first words outside of the names."""
    asks: int
    """Number of the question word."""
    head: Floats
    """Direction of what is asked for; zero: unknown."""
    relation: Floats
    """Direction of the words outside of the names; zero: none."""

    @classmethod
    def of(cls, parsed: ParsedQuestion, tables: WordTables) -> "QuestionView":
        words = sorted(parsed.all_hashes)
        rarities = tables.rarity_of(np.array(words, np.uint64)).tolist()
        roles = dict.fromkeys(parsed.relation_hashes, _RELATION) | dict.fromkeys(parsed.name_hashes, _NAME)
        relation = list(dict.fromkeys(map(stem, parsed.relation)))[:MAX_RELATION_KEYS]
        keys = [f"asks {parsed.asks}", f"head {parsed.head}", *(f"word {word}" for word in relation)]
        # The head is a stem already, but for "how many", whose pair stands for itself.
        head = np.array([hash_of(parsed.head)] if parsed.head else [], np.uint64)
        relations = np.array([stem_hash(word) for word in parsed.relation], np.uint64)
        return cls(
            parsed=parsed,
            role_of=roles,
            rarity_of=dict(zip(words, rarities, strict=True)),
            keys=np.array(list(map(hash_of, keys)), np.uint64) * _KEY_MIX,
            asks=QUESTION_WORDS.index(parsed.asks) if parsed.asks in QUESTION_WORDS else len(QUESTION_WORDS),
            head=direction(tables.vectors_of(head).sum(axis=0)),
            relation=direction(tables.vectors_of(relations).sum(axis=0)),
        )


def passage_features(view: QuestionView, passage: AnalysedPassage) -> tuple[float, ...]:
    """How much of the question the passage covers, by rarity."""
    total = found = names = names_found = 0.0
    for word, rarity in view.rarity_of.items():
        is_found, is_name = word in passage.words, view.role_of[word] == _NAME
        total += rarity
        found += rarity * is_found
        names += rarity * is_name
        names_found += rarity * (is_found and is_name)
    title_share = _title_share(view, passage)
    return (
        found / max(total, 1e-6),
        names_found / max(names, 1e-6),
        (found - names_found) / max(total - names, 1e-6),
        title_share,
        float(title_share == 1),
        float(names > 0),
        len(view.rarity_of) / 10,
    )


def _title_share(view: QuestionView, passage: AnalysedPassage) -> float:
    return len(passage.title_words & view.parsed.all_hashes) / max(1, len(passage.title_words))


def asked_share(view: QuestionView, passage: AnalysedPassage) -> Floats:
    """Share of each span's content words that the question gives."""
    role = np.array([key in view.role_of for key in passage.hashes.tolist()])
    content = passage.rarity > 0
    counted = _between(_running(content), passage.starts, passage.ends)
    known = _between(_running(content & role), passage.starts, passage.ends)
    share = np.asarray(known / np.maximum(counted, 1), np.float32)
    share[-1] = _title_share(view, passage)
    return share


def plain_features(view: QuestionView, passage: AnalysedPassage) -> Floats:
    """(spans, PLAIN): overlap, place and spelling."""
    count = len(passage)
    role = np.array([view.role_of.get(key, 0) for key in passage.hashes.tolist()])
    weight = passage.rarity
    everything, relation, names = (_running(weight * chosen) for chosen in (role > 0, role == _RELATION, role == _NAME))
    by_sentence = [np.bincount(passage.sentence, weights=np.diff(sums)) for sums in (everything, relation, names)]
    starts, ends = passage.starts, passage.ends
    sentence = passage.sentence[starts]
    asked = asked_share(view, passage)
    padded = np.concatenate([[0], passage.hashes, [0]])
    before, after = padded[starts], padded[ends + 1]
    columns = (
        _window(everything, starts, ends, _NEAR) / 10,
        _window(everything, starts, ends, _AROUND) / 15,
        _window(relation, starts, ends, _NEAR) / 8,
        _window(relation, starts, ends, _AROUND) / 10,
        _window(names, starts, ends, _NEAR) / 10,
        by_sentence[0][sentence] / 20,
        by_sentence[1][sentence] / 12,
        by_sentence[2][sentence] / 12,
        by_sentence[0][sentence] >= by_sentence[0].max(),
        starts / 100,
        sentence == 0,
        asked,
        asked >= 1,
        passage.is_title,
        _between(_running(weight), starts, ends) / (ends - starts) / 8,
        (ends - starts) / 4,
        np.log(passage.counts),
        before == _SIGN["("],
        before == _SIGN[","],
        after == _SIGN[","],
        *_nearness((role == _RELATION) & (weight > 0), starts, ends),
        *_nearness((role == _NAME) & (weight > 0), starts, ends),
    )
    features = np.zeros((count, PLAIN), np.float32)
    base = len(PASSAGE_FEATURES)
    features[:, :base] = passage_features(view, passage)
    for at, column in enumerate(columns, start=base):
        features[:, at] = column
    base += len(SPAN_FEATURES)
    features[np.arange(count), base + passage.kinds] = 1
    features[:, base + len(SpanKind) + view.asks] = 1
    return features


def crosses(view: QuestionView, passage: AnalysedPassage) -> NDArray[np.int64]:
    """(spans, keys * CONTEXTS) bucket numbers."""
    mixed = view.keys[None, :, None] ^ passage.contexts[:, None, :]
    return ((mixed >> np.uint64(40)) % np.uint64(CROSS_BUCKETS)).astype(np.int64).reshape(len(passage), -1)


def _running(values: NDArray[np.generic]) -> Floats:
    sums = np.zeros(len(values) + 1, np.float32)
    np.cumsum(values, out=sums[1:])
    return sums


def _between(running: Floats, starts: Ints, ends: Ints) -> Floats:
    return running[ends] - running[starts]


def _window(running: Floats, starts: Ints, ends: Ints, reach: int) -> Floats:
    """Sum over the tokens within reach on both sides, without the span's own."""
    last = len(running) - 1
    outer = running[np.minimum(ends + reach, last)] - running[np.maximum(starts - reach, 0)]
    return outer - _between(running, starts, ends)


def _nearness(marked: NDArray[np.bool_], starts: Ints, ends: Ints) -> tuple[Floats, Floats]:
    """1 beside the nearest marked token on the left and on the right, falling towards 0."""
    places = np.flatnonzero(marked)
    bounded = np.concatenate([[-_FAR * 9], places, [len(marked) + _FAR * 9]])
    left = starts - bounded[np.searchsorted(places, starts)]
    right = bounded[np.searchsorted(places, ends) + 1] - ends + 1
    return np.exp(-left / _NEAR).astype(np.float32), np.exp(-right / _NEAR).astype(np.float32)
