"""Where training begins: switches for few pools that leave every equation of the paper as it is.

Only what the weights are before the first step, and which of them learn during the first ones. All are off by default;
then nothing here touches a net, and a run is the paper's to the byte.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from tracerank.trace.net import TraceNet, TypeEncoder


@dataclass(frozen=True, slots=True)
class Beginning:
    """What differs from fresh weights that all learn from the first step on."""

    identity: bool = False
    """Type encoders, and attention's queries and keys, begin as the identity (of the first dimensions, where vectors
    and states differ in width): an answer then looks for passages that have its words from the first step on."""
    shared: bool = False
    """Type encoders begin with equal weights, and so do attention's queries and keys; each learns on by itself."""
    frozen_steps: int = 0
    """Steps before the type encoders learn, too."""

    def __post_init__(self) -> None:
        if self.frozen_steps < 0:
            raise ValueError(f"frozen_steps must not be negative, got {self.frozen_steps}")

    def described(self) -> dict[str, Any]:
        """What a run's files say of it; nothing where nothing differs, as before there were such switches."""
        return {} if self == AS_PUBLISHED else {"beginning": asdict(self)}


AS_PUBLISHED = Beginning()


@torch.no_grad()
def set_beginning(net: TraceNet, beginning: Beginning) -> None:
    """Give a fresh net the weights that it begins with."""
    encoders, attention = type_encoders(net), net.attention
    if beginning.shared:
        _make_equal(encoders)
        if attention is not None:
            _make_equal((attention.query, attention.key))
    if beginning.identity:
        for encoder in encoders:
            _become_identity(encoder.project)
        if attention is not None:
            _become_identity(attention.query)
            _become_identity(attention.key)


def type_encoders(net: TraceNet) -> tuple[TypeEncoder, ...]:
    """Of answers, evidence, searches and the question."""
    return net.answer_encoder, net.evidence_encoder, net.search_encoder, net.query_encoder


def _make_equal(modules: Iterable[nn.Module]) -> None:
    first, *others = modules
    for module in others:
        module.load_state_dict(first.state_dict())


def _become_identity(layer: nn.Linear) -> None:
    nn.init.eye_(layer.weight)  # ones on the diagonal of a matrix of any shape
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
