"""The spans of a passage as answers to a question, and as names to search for next: a linear score of counted features.

The weights were fitted on train questions of public question sets: ``python -m studies.shipped_weights.lexical``.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.exact import normalize_answer
from tracerank.lab.data import read_data
from tracerank.lab.lexical.questions import TYPES, ParsedQuestion
from tracerank.lab.lexical.spans import KINDS, Tokens, content_stems, find_spans, is_content, stem

MAX_CHARACTERS = 4000
"""What lies beyond in a passage's text is shown as evidence but not read."""
SPAN_FEATURES = (
    *("relation within 4", "relation within 10", "relation in sentence", "names within 4", "names in sentence"),
    *("relation before", "relation after", "asked share", "asked", "is title", "count", "in brackets"),
    *("first sentence", "position", "length"),
)
PASSAGE_FEATURES = ("names covered", "relation covered", "title share", "title asked")
_QUALIFIER = re.compile(r"(?<!\s)\s*+\([^()]*\)\s*$")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AnalysedPassage:
    """A passage taken apart; the lists of tokens and of spans are parallel. The last span is the title."""

    title_name: str
    """As a normalised answer, without a qualifier in brackets."""
    title_stems: frozenset[str]
    stems: tuple[str, ...]
    """Of each token; empty for stop words and signs."""
    sentence: NDArray[np.int64]
    """Number of each token's sentence."""
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: tuple[str, ...]
    surfaces: tuple[str, ...]
    """Each span as it is written."""
    names: tuple[str, ...]
    """Each span as a normalised answer."""
    plain: Floats
    """The features that need no question: (spans, 5)."""


@lru_cache(maxsize=8_000)
def analyse(title: str, text: str) -> AnalysedPassage:
    """Take a passage apart."""
    title = _QUALIFIER.sub("", title[:200]) or title[:200]
    tokens = Tokens.of(text[:MAX_CHARACTERS])
    if not tokens.words:
        tokens = Tokens.of(f"{title} .")
    spans = [(tokens.surface(*span), *span, kind) for span, kind in find_spans(tokens).items()]
    spans.append((title, 0, 1, "title"))
    surfaces, starts, ends, kinds = zip(*spans, strict=True)
    names = tuple(map(normalize_answer, surfaces))
    count_of = Counter(names)
    words = tokens.words
    ends_sentence = [
        word in (".", "?", "!") and words[at + 1 : at + 2] != () and words[at + 1][0].isupper()
        for at, word in enumerate(words)
    ]
    sentence = np.cumsum([0, *ends_sentence[:-1]])
    first = np.array(starts)
    plain = [
        np.log([count_of[name] for name in names]),
        [at > 0 and words[at - 1] == "(" for at in starts],
        sentence[first] == 0,
        first / 100,
        (np.array(ends) - first) / 4,
    ]
    return AnalysedPassage(
        title_name=names[-1],
        title_stems=content_stems(title),
        stems=tuple(stem(word) if is_content(word) else "" for word in words),
        sentence=sentence,
        starts=first,
        ends=np.array(ends),
        kinds=kinds,
        surfaces=surfaces,
        names=names,
        plain=np.array(plain, float).T,
    )


def passage_features(question: ParsedQuestion, passage: AnalysedPassage) -> tuple[float, ...]:
    """How much of the question the passage covers."""
    held = passage.title_stems.union(passage.stems)
    asked = question.name_stems | question.relation_stems
    share = _share(passage.title_stems & asked, passage.title_stems)
    return (
        _share(question.name_stems & held, question.name_stems),
        _share(question.relation_stems & held, question.relation_stems),
        share,
        float(share == 1),
    )


def span_features(question: ParsedQuestion, passage: AnalysedPassage) -> Floats:
    """(spans, SPAN_FEATURES)."""
    starts, ends, sentence = passage.starts, passage.ends, passage.sentence
    relation = np.array([one in question.relation_stems for one in passage.stems])
    names = np.array([one in question.name_stems for one in passage.stems])
    content = np.array([one != "" for one in passage.stems])
    sums = {id(marked): np.concatenate([[0], np.cumsum(marked)]) for marked in (relation, names, content)}

    def between(marked: NDArray[np.bool_], first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats:
        total = sums[id(marked)]
        return np.asarray(total[np.minimum(last, len(marked))] - total[np.maximum(first, 0)], float)

    def near(marked: NDArray[np.bool_], reach: int) -> Floats:
        return between(marked, starts - reach, ends + reach) - between(marked, starts, ends)

    def in_sentence(marked: NDArray[np.bool_]) -> Floats:
        return np.asarray(np.bincount(sentence, weights=marked)[sentence[starts]])

    given = between(relation, starts, ends) + between(names, starts, ends)
    asked = given / np.maximum(between(content, starts, ends), 1)
    asked[-1] = passage_features(question, passage)[2]
    columns = (
        near(relation, 4),
        near(relation, 10),
        in_sentence(relation),
        near(names, 4),
        in_sentence(names),
        between(relation, starts - 2, starts),
        between(relation, ends, ends + 2),
        asked,
        asked >= 1,
        [name == passage.title_name for name in passage.names],
    )
    return np.column_stack([*columns, passage.plain])


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part) / max(1, len(whole))


class Weights(NamedTuple):
    """What was fitted; every first axis of two is the answer's and the bridge's."""

    features: Floats
    """(2, SPAN_FEATURES)"""
    kinds: Floats
    """(2, TYPES, KINDS): how well a kind fits a type of question."""
    trust: Floats
    """In a passage, by how a rollout came by it."""


@cache
def weights() -> Weights:
    """The shipped weights."""
    return Weights(**{name: np.array(values) for name, values in json.loads(read_data("lexical/weights.json")).items()})


def span_scores(question: ParsedQuestion, passage: AnalysedPassage) -> Floats:
    """(2, spans): the logit of each as an answer, and as a name to search for next."""
    features = span_features(question, passage)
    fits = weights().kinds[:, TYPES.index(question.type), [KINDS.index(kind) for kind in passage.kinds]]
    # Not a matrix product: for so few columns numpy's may raise floating-point flags that mean nothing.
    return np.asarray((features * weights().features[:, None]).sum(axis=2) + fits)
