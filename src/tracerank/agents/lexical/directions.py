"""The part of the reader that compares what words are like: span and window against what is asked.

Fitted over joined features (``vector_features``). They are products with two vectors of the question, so for reading
they are folded, once a question, into one matrix for spans and one for windows: same result, a fifth of the work.
"""

from dataclasses import dataclass

import numpy as np

from tracerank.agents.lexical.analysis import AnalysedPassage, Floats
from tracerank.agents.lexical.features import PLAIN, QuestionView, plain_features

WIDTH = 32
"""Of a word vector."""
BLOCKS = 7
COSINES = 5
DENSE = PLAIN + BLOCKS * WIDTH + COSINES
_GAIN = 4.0
"""Products of two unit vectors are small; this brings them to the size of the other features."""


def dense_features(view: QuestionView, passage: AnalysedPassage) -> Floats:
    """(spans, DENSE): what the first layer was fitted on."""
    return np.concatenate([plain_features(view, passage), vector_features(view, passage)], axis=1)


def vector_features(view: QuestionView, passage: AnalysedPassage) -> Floats:
    """(spans, BLOCKS * WIDTH + COSINES)."""
    span, window = passage.span_direction, passage.window_direction
    head, relation = (np.broadcast_to(each, span.shape) for each in (view.head, view.relation))
    products = (span * head, span * relation, window * relation)
    cosines = (
        span @ view.head,
        span @ view.relation,
        window @ view.relation,
        window @ view.head,
        np.full(len(span), passage.title_direction @ view.head),
    )
    blocks = (span, window, head, relation, *(_GAIN * product for product in products))
    return np.concatenate([*blocks, np.stack(cosines, axis=1)], axis=1)


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
            span=span + head * (_GAIN * span_head + cosine[0]) + relation * (_GAIN * span_relation + cosine[1]),
            window=window + relation * (_GAIN * window_relation + cosine[2]) + head * cosine[3],
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
