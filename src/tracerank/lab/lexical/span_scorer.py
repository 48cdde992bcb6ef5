"""The trained span scorer: every span of a passage as an answer to a question, and as a name worth following.

Holds weights and inference in numpy; fitting is ``studies/shipped_weights/span_scorer.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from tracerank.lab.data import read_data
from tracerank.lab.lexical.analysis import (
    PASSAGE_FEATURES,
    PLAIN,
    AnalysedPassage,
    Floats,
    QuestionView,
    WordTables,
    analyse,
    asked_share,
    crosses,
    passage_features,
    plain_features,
)
from tracerank.lab.lexical.questions import parse_question

WIDTH = 32
"""Of a word vector."""
BLOCKS = 7
COSINES = 5
DENSE = PLAIN + BLOCKS * WIDTH + COSINES
GAIN = 4.0
"""Products of two unit vectors are small; this brings them to the size of the other features."""


@dataclass(frozen=True, slots=True, eq=False)
class FoldedLayer:
    """The first layer for one question."""

    plain: Floats
    span: Floats
    window: Floats
    title: Floats
    bias: Floats

    @classmethod
    def of(cls, view: QuestionView, weight: Floats, bias: Floats) -> "FoldedLayer":
        blocks = weight[PLAIN:-COSINES].reshape(BLOCKS, WIDTH, -1)
        span, window, by_head, by_relation, span_head, span_relation, window_relation = blocks
        head, relation = view.head[:, None], view.relation[:, None]
        cosine = weight[-COSINES:]
        return cls(
            plain=weight[:PLAIN],
            span=span + head * (GAIN * span_head + cosine[0]) + relation * (GAIN * span_relation + cosine[1]),
            window=window + relation * (GAIN * window_relation + cosine[2]) + head * cosine[3],
            title=head * cosine[4],
            bias=bias + view.head @ by_head + view.relation @ by_relation,
        )

    def __call__(self, view: QuestionView, passage: AnalysedPassage) -> Floats:
        """(spans, outputs)."""
        return np.asarray(
            plain_features(view, passage) @ self.plain
            + passage.span_direction @ self.span
            + passage.window_direction @ self.window
            + (passage.title_direction @ self.title + self.bias),
            np.float32,
        )


SHIPPED = "span_scorer.safetensors"
REMEMBERED_PASSAGES = 8_000
"""Analysed passages that are kept; about 40 kB each."""

RARITY_STEPS = 20.0
"""The rarity table is kept in bytes, of a twentieth each."""
VECTOR_STEPS = 127.0

_KNOWN = 6.0
"""Logits to take off a name that the question itself gives or whose page this is: nothing is gained by following it."""
_CLEARLY_WORSE = 9.0
"""Spans that lie this many logits below the best of their passage are forgotten."""
_NAMES_TO_FOLLOW = 6
_TITLE_ASKED = PASSAGE_FEATURES.index("title asked")


@dataclass(frozen=True, slots=True, eq=False)
class SpanScorerWeights:
    """Every array of the scorer, as it computes with them."""

    tables: WordTables
    cross: Floats
    """Logits of question word × context word for both heads, by hash bucket: (buckets, 2)."""
    layers: tuple[tuple[Floats, Floats], ...]
    """Weight (inputs, outputs) and bias of the layers over the dense features; the last has two outputs."""
    trust: tuple[tuple[Floats, Floats], ...]
    """Layers over what a rollout knows of a passage; one output."""
    names: Floats
    """Weights of what a rollout knows of an answer."""
    yes_no: Floats
    either_or: Floats

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "SpanScorerWeights":
        """From the arrays of a weights file."""

        def wide(name: str) -> Floats:
            return np.asarray(arrays[name], np.float32)

        def stack(name: str) -> tuple[tuple[Floats, Floats], ...]:
            count = sum(key.startswith(f"{name}.weight") for key in arrays)
            return tuple((wide(f"{name}.weight{at}"), wide(f"{name}.bias{at}")) for at in range(count))

        return cls(
            tables=WordTables(wide("rarity") / RARITY_STEPS, wide("vectors") / VECTOR_STEPS),
            cross=wide("cross") * wide("cross.step"),
            layers=stack("layers"),
            trust=stack("trust"),
            names=wide("names"),
            yes_no=wide("yes_no"),
            either_or=wide("either_or"),
        )


def load_weights(path: Path | None = None) -> SpanScorerWeights:
    """The shipped weights, or those of a file."""
    return SpanScorerWeights.from_arrays(load(read_data(f"lexical/{SHIPPED}") if path is None else path.read_bytes()))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPassage:
    """What the scorer makes of one passage for one question; only spans worth considering."""

    passage: AnalysedPassage
    spans: NDArray[np.int64]
    """Numbers of the spans that could be the answer."""
    answer: Floats
    """A logit for each of them."""
    follow: NDArray[np.int64]
    """Numbers of the spans to search for next."""
    bridge: Floats
    """A logit for each of them."""
    covers: tuple[float, ...]
    """``analysis.PASSAGE_FEATURES`` of the passage."""

    @property
    def is_asked_about(self) -> bool:
        """The question gives every word of the title."""
        return self.covers[_TITLE_ASKED] == 1


@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """A question, ready to read passages with."""

    view: QuestionView
    first_layer: FoldedLayer


class SpanScorer:
    """Scores the spans of passages; equal passages are analysed once."""

    def __init__(self, weights: SpanScorerWeights) -> None:
        self.weights = weights
        self.analyse = lru_cache(maxsize=REMEMBERED_PASSAGES)(self._analyse)

    def lens(self, question: str) -> Lens:
        """The question as the scorer sees it."""
        view = QuestionView.of(parse_question(question), self.weights.tables)
        return Lens(view, FoldedLayer.of(view, *self.weights.layers[0]))

    def _analyse(self, title: str, text: str) -> AnalysedPassage:
        return analyse(title, text, self.weights.tables)

    def logits(self, lens: Lens, passage: AnalysedPassage) -> Floats:
        """(spans, 2): as an answer and as a name to follow."""
        hidden = lens.first_layer(lens.view, passage)
        dense = through(self.weights.layers[1:], np.maximum(hidden, 0))
        return np.asarray(dense + self.weights.cross[crosses(lens.view, passage)].sum(axis=1), np.float32)

    def score(self, lens: Lens, passage: AnalysedPassage) -> ScoredPassage:
        """Score the spans of a passage once for all rollouts of a question."""
        answer, bridge = self.logits(lens, passage).T
        bridge = bridge - _KNOWN * ((asked_share(lens.view, passage) >= 1) | passage.is_title)
        spans = np.flatnonzero(answer > answer.max() - _CLEARLY_WORSE)
        follow = np.argsort(-bridge, kind="stable")[:_NAMES_TO_FOLLOW]
        return ScoredPassage(
            passage, spans, answer[spans], follow, bridge[follow], passage_features(lens.view, passage)
        )


def through(layers: tuple[tuple[Floats, Floats], ...], values: Floats) -> Floats:
    """Linear layers with rectifiers between them."""
    for at, (weight, bias) in enumerate(layers):
        values = (np.maximum(values, 0) if at else values) @ weight + bias
    return values
