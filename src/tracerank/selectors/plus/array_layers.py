"""The layers of the ``plus`` nets in numpy, for deciding without torch: several nets at once, side by side.

Arrays begin with an axis of nets, so one call serves all of them. The same in torch, which trains: ``net.py`` and
``propagate.py`` of ``trace/``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.trace.graphs.layout import CrossLayout, Layout, SlotLayout, WithinLayout
from tracerank.trace.graphs.packed import Floats, Ints, Segments

Named = Mapping[str, Floats]
"""Weights of all nets by their name in one: [nets, …]."""

_EPSILON = 1e-5
"""Added to the variance by LayerNorm."""
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_SCALE = 0.3275911
"""Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: erf to 1.5e-7."""


def gelu(values: Floats) -> Floats:
    """x Φ(x) = max(x, 0) - |x| Φ(-|x|)."""
    size = np.abs(values)
    step = 1 / (1 + np.float32(_ERF_SCALE / math.sqrt(2)) * size)
    tail = np.full_like(step, _ERF[-1])
    for factor in _ERF[-2::-1]:
        tail *= step
        tail += np.float32(factor)
    tail *= step
    tail *= size
    size *= size
    size *= np.float32(-0.5)
    tail *= np.exp(size, out=size)
    tail *= np.float32(0.5)
    return np.subtract(np.maximum(values, np.float32(0)), tail, out=tail)


@dataclass(frozen=True, slots=True)
class Linear:
    """x W + b."""

    weight: Floats
    """[nets, in, out]"""
    bias: Floats | None
    """[nets, 1, out]"""

    @classmethod
    def named(cls, weights: Named, name: str) -> "Linear":
        """From what torch keeps as [out, in]."""
        bias = weights.get(f"{name}.bias")
        return cls(weights[f"{name}.weight"].swapaxes(1, 2), None if bias is None else bias[:, None])

    def __call__(self, states: Floats) -> Floats:
        """[nets, n, out]"""
        moved: Floats = states @ self.weight
        if self.bias is not None:
            moved += self.bias
        return moved


@dataclass(frozen=True, slots=True)
class Norm:
    """LayerNorm over the last axis."""

    weight: Floats
    bias: Floats

    @classmethod
    def named(cls, weights: Named, name: str) -> "Norm":
        return cls(weights[f"{name}.weight"][:, None], weights[f"{name}.bias"][:, None])

    def __call__(self, states: Floats) -> Floats:
        states = states - states.mean(-1, keepdims=True)
        variance = np.einsum("...d,...d->...", states, states)[..., None] / states.shape[-1]
        states /= np.sqrt(variance + np.float32(_EPSILON))
        states *= self.weight
        states += self.bias
        return states


def unit(states: Floats) -> Floats:
    """Each row at length one."""
    lengths = np.sqrt(np.einsum("...d,...d->...", states, states))
    scaled: Floats = states / np.maximum(lengths, np.float32(1e-12))[..., None]
    return scaled


def softmax(logits: Floats, axis: int = -1) -> Floats:
    """Along an axis; -inf has no part, and where there is nothing else, everything is zero."""
    highest = logits.max(axis, keepdims=True)
    raised: Floats = np.exp(logits - np.where(np.isfinite(highest), highest, np.float32(0)))
    total = raised.sum(axis, keepdims=True)
    raised /= np.where(total > 0, total, np.float32(1))
    return raised


def segment_sum(states: Floats, segments: Segments) -> Floats:
    """[nets, segments, d]: the sum of each segment's rows of ``states`` [nets, n, d]."""
    taken = states[:, segments.rows]
    return taken if segments.count == len(segments.rows) else np.add.reduceat(taken, segments.offsets, axis=1)


@dataclass(frozen=True, slots=True)
class States:
    """What propagation updates: [nets, n, hidden] each."""

    searches: Floats
    evidence: Floats
    documents: Floats | None
    """None: the recipe has no documents."""


class RelationArrays:
    """One layer of messages (Eq. 4): a weight and a bias per relation, kept where the neighbourhood is empty."""

    def __init__(self, weights: Named, name: str, query: Floats) -> None:
        """``query`` is [nets, 1, hidden], the same for every pool: nets without texts cannot tell questions apart."""
        own = {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}
        nets, hidden, slots, _ = own["slot_weight"].shape
        self.slots, self.hidden = slots, hidden
        self.to_slots = own["slot_weight"].reshape(nets, hidden, slots * hidden)
        self.from_slots = own["slot_of_weight"].reshape(nets, slots * hidden, hidden)
        self.weight = {key.removeprefix("weight."): value for key, value in own.items() if key.startswith("weight.")}
        bias = {key.removeprefix("bias."): value[:, None] for key, value in own.items() if key.startswith("bias.")}
        self.document_bias = bias.get("in_document")
        self.search_bias = _summed(own["slot_of_bias"], bias, ("starts", "next", "previous"))
        self.evidence_bias = _summed(own["slot_bias"], bias, ("same_content_within", "same_content_cross", "holds"))
        self.begun = query @ self.weight["starts"] if "starts" in self.weight else None
        self.search_norm = Norm.named(own, "search_norm")
        self.evidence_norm = Norm.named(own, "evidence_norm")
        self.document_norm = Norm.named(own, "document_norm") if self.document_bias is not None else None

    def __call__(self, states: States, layout: Layout, evidence_document: Ints, *, updates_documents: bool) -> States:
        """All node types at once."""
        documents = states.documents
        if updates_documents and documents is not None and layout.documents is not None:
            assert self.document_norm is not None
            assert self.document_bias is not None
            heard = _segment_mean(states.evidence, layout.documents) @ self.weight["in_document"]
            documents = self.document_norm(documents + gelu(heard + self.document_bias))
        return States(
            self.search_norm(states.searches + gelu(self._to_searches(states, layout))),
            self.evidence_norm(states.evidence + gelu(self._to_evidence(states, layout, evidence_document))),
            documents,
        )

    def _to_searches(self, states: States, layout: Layout) -> Floats:
        nets, searches, hidden = states.searches.shape
        if layout.slots is None:
            # Evidence of one search is consecutive: a row holds its ranks side by side.
            message = states.evidence.reshape(nets, searches, self.slots * hidden) @ self.from_slots
            message += self.search_bias
        else:
            message = np.repeat(self.search_bias, searches, axis=1)
            means = _segment_mean(states.evidence, layout.slots.pairs)
            for slot, pairs in _slot_parts(layout.slots, self.slots):
                weight = self.from_slots[:, slot * hidden : (slot + 1) * hidden]
                message[:, layout.slots.searches[pairs]] += means[:, pairs] @ weight
        if self.begun is not None:
            message[:, layout.first.listeners] += self.begun
        for name, ends in (("next", layout.next), ("previous", layout.previous)):
            if name in self.weight and len(ends.listeners):
                message[:, ends.listeners] += states.searches[:, ends.speakers] @ self.weight[name]
        return message

    def _to_evidence(self, states: States, layout: Layout, evidence_document: Ints) -> Floats:
        if layout.slots is None:
            message = (states.searches @ self.to_slots).reshape(states.evidence.shape)
        else:
            message = self._from_searches(states, layout.slots)
        message += self.evidence_bias
        if layout.cross is not None:
            self._add_cross(message, states.evidence, layout.cross)
        if layout.within is not None:
            self._add_within(message, states.evidence, layout.within)
        if states.documents is not None:
            message += (states.documents @ self.weight["holds"])[:, evidence_document]
        return message

    def _from_searches(self, states: States, slots: SlotLayout) -> Floats:
        hidden = self.hidden
        parts = [
            states.searches[:, slots.searches[pairs]] @ self.to_slots[:, :, slot * hidden : (slot + 1) * hidden]
            for slot, pairs in _slot_parts(slots, self.slots)
        ]
        return np.concatenate(parts, axis=1)[:, slots.evidence_pair]

    def _add_cross(self, message: Floats, evidence: Floats, cross: CrossLayout) -> None:
        # Mean over the group without the own rollout: (group sum - own cell) / (group size - cell size).
        others = segment_sum(evidence, cross.groups)[:, cross.cell_group] - segment_sum(evidence, cross.cells)
        others *= cross.cell_scale[:, None]
        message[:, cross.targets] += (others @ self.weight["same_content_cross"])[:, cross.target_cell]

    def _add_within(self, message: Floats, evidence: Floats, within: WithinLayout) -> None:
        fellows = segment_sum(evidence, within.cells)[:, within.target_cell] - evidence[:, within.targets]
        fellows *= within.target_scale[:, None]
        message[:, within.targets] += fellows @ self.weight["same_content_within"]


def _segment_mean(states: Floats, segments: Segments) -> Floats:
    return segment_sum(states, segments) / segments.weights()[:, None]


def _slot_parts(slots: SlotLayout, count: int) -> list[tuple[int, slice]]:
    """Each slot with the pairs that are in it."""
    begins = slots.slot_begins.tolist()
    return [(slot, slice(begins[slot], begins[slot + 1])) for slot in range(count)]


def _summed(of_slots: Floats, bias: Named, names: tuple[str, ...]) -> Floats:
    """[nets, 1, hidden]: the biases of all relations into a node type together."""
    total: NDArray[np.float32] = of_slots.sum(1, keepdims=True)
    for name in names:
        if name in bias:
            total = total + bias[name]
    return total
