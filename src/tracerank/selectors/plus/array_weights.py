"""The weights of ``plus`` nets as arrays: all nets side by side, checked against the description beside them."""

from collections.abc import Mapping

import numpy as np

from tracerank.errors import CheckpointError
from tracerank.selectors.plus.description import NO_TEXTS, PlusAbout, Weights
from tracerank.selectors.plus.facts import MARKS
from tracerank.trace.graphs.packed import Floats
from tracerank.trace.graphs.schema import GraphRecipe, relations

Shapes = dict[str, tuple[int, ...]]

_NAMED = 3
"""Weights that a complaint names."""


def stacked(about: PlusAbout, weights: Weights, source: str) -> Mapping[str, Floats]:
    """[nets, …] by name, when they are what the description says: all of them, and no others."""
    shapes = _shapes(about)
    expected = {f"{net}.{name}": shape for net in range(about.nets) for name, shape in shapes.items()}
    wrong = sorted(weights.keys() ^ expected.keys())
    wrong = wrong or [name for name, shape in expected.items() if weights[name].shape != shape]
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise CheckpointError(
            f"{source}: does not fit the configuration beside it: {', '.join(wrong[:_NAMED])}{more}; train again"
        )
    return {
        name: np.stack([np.asarray(weights[f"{net}.{name}"], np.float32) for net in range(about.nets)])
        for name in shapes
    }


def _shapes(about: PlusAbout) -> Shapes:
    """Of every weight of one net that reads no texts."""
    config, count = about.config, len(about.names)
    hidden = config.hidden
    found: Shapes = dict.fromkeys(("vote_scale", "gate", "trace.log_scale"), ())
    found |= {"centre": (count,), "scale": (count,), "linear.weight": (1, 3 * count)}
    found |= {
        "enter.weight": (hidden, 2 * count),
        "marks.weight": (hidden, len(MARKS)),
        "trace.votes.weight": (hidden, 2),
    }
    for kind in ("query", "answer", "search", "evidence"):
        found |= _linear(f"trace.{kind}_encoder.project", NO_TEXTS, hidden) | _norm(
            f"trace.{kind}_encoder.norm", hidden
        )
    if about.recipe.keeps_bare_searches:
        found["trace.orphan"] = (hidden,)
    if about.recipe.documents != "none":
        found["trace.document"] = (hidden,)
    for number in range(config.layers):
        found |= _layer(f"trace.layers.{number}", about.recipe, hidden)
    found |= _reading("trace.attention", hidden, config.feed_forward)
    found |= _linear("trace.query_readout", hidden, hidden) | _linear("trace.answer_readout", hidden, hidden)
    if config.among:
        found |= _comparing("among", 2 * count + 1, config.among)
    return found


def _layer(name: str, recipe: GraphRecipe, hidden: int) -> Shapes:
    slots = len(recipe.slots)
    of_slots = set(recipe.slots) | {f"{slot}_of" for slot in recipe.slots}
    singles = [relation.name for relation in relations(recipe) if relation.name not in of_slots]
    kinds = ["search", "evidence", *(["document"] if recipe.documents != "none" else [])]
    found: Shapes = {f"{name}.slot_weight": (hidden, slots, hidden), f"{name}.slot_of_weight": (slots, hidden, hidden)}
    found |= {f"{name}.slot_bias": (slots, hidden), f"{name}.slot_of_bias": (slots, hidden)}
    found |= {f"{name}.weight.{single}": (hidden, hidden) for single in singles}
    found |= {f"{name}.bias.{single}": (hidden,) for single in singles}
    for kind in kinds:
        found |= _norm(f"{name}.{kind}_norm", hidden)
    return found


def _reading(name: str, hidden: int, feed_forward: int) -> Shapes:
    found: Shapes = {f"{name}.{part}.weight": (hidden, hidden) for part in ("query", "key", "value", "output")}
    found[f"{name}.type_embedding"] = (2, hidden)
    found |= _norm(f"{name}.attention_norm", hidden) | _norm(f"{name}.output_norm", hidden)
    return found | _linear(f"{name}.expand", hidden, feed_forward) | _linear(f"{name}.contract", feed_forward, hidden)


def _comparing(name: str, inputs: int, width: int) -> Shapes:
    found: Shapes = {f"{name}.attention.in_proj_weight": (3 * width, width), f"{name}.leave.weight": (1, width)}
    found[f"{name}.attention.in_proj_bias"] = (3 * width,)
    found |= _linear(f"{name}.enter", inputs, width) | _linear(f"{name}.attention.out_proj", width, width)
    return found | _norm(f"{name}.norm", width)


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}
