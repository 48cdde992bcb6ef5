"""What fitting the span scorer needs beyond the scorer: its dense features as they were before folding, and saving."""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from tracerank.lab.lexical.analysis import AnalysedPassage, Floats, QuestionView, plain_features
from tracerank.lab.lexical.span_scorer import GAIN, RARITY_STEPS, VECTOR_STEPS, SpanScorerWeights


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
    blocks = (span, window, head, relation, *(GAIN * product for product in products))
    return np.concatenate([*blocks, np.stack(cosines, axis=1)], axis=1)


def save_weights(weights: SpanScorerWeights, path: Path) -> None:
    """Write the file that ``SpanScorerWeights.from_arrays`` reads; tables become bytes."""
    step = np.abs(weights.cross).max(axis=0) / VECTOR_STEPS
    arrays = {
        "rarity": np.rint(weights.tables.rarity * RARITY_STEPS).astype(np.uint8),
        "vectors": np.rint(weights.tables.vectors * VECTOR_STEPS).astype(np.int8),
        "cross": np.rint(weights.cross / np.maximum(step, 1e-9)).astype(np.int8),
        "cross.step": step.astype(np.float32),
        "names": weights.names,
        "yes_no": weights.yes_no,
        "either_or": weights.either_or,
    }
    for name, layers in (("layers", weights.layers), ("trust", weights.trust)):
        for at, (weight, bias) in enumerate(layers):
            arrays[f"{name}.weight{at}"], arrays[f"{name}.bias{at}"] = weight, bias
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
