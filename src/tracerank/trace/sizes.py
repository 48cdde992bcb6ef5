"""Sizes and variants of the selector network, without the network: who has no torch can read them."""

from dataclasses import dataclass
from typing import Literal

LARGEST, MOST_LAYERS = 2**16, 64
"""Far above any network that is of use: a damaged file shall not fill the memory."""


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Sizes and variants of the network; defaults are the paper's (Sec. 3.3, App. A.4)."""

    width: int
    """Length of the frozen vectors."""
    hidden: int = 256
    layers: int = 4
    """0 bypasses the GNN (control)."""
    heads: int = 4
    feed_forward: int = 1024
    dropout: float = 0.1
    readout: Literal["answer", "fixed", "graph", "two_stage"] = "answer"
    """Attention asked by the answer, by a fixed query, no attention but graph messages, or both in two stages."""
    initial_scale: float = 10.0
    largest_scale: float = 100.0

    def __post_init__(self) -> None:
        if max(self.width, self.hidden, self.heads, self.feed_forward) > LARGEST or self.layers > MOST_LAYERS:
            raise ValueError(f"sizes must be at most {LARGEST}, layers {MOST_LAYERS}")
        if not 0 < self.initial_scale <= self.largest_scale <= LARGEST:
            raise ValueError(f"scales must be positive, the initial one at most the largest, that at most {LARGEST}")
        if min(self.width, self.hidden, self.heads, self.feed_forward) < 1 or self.layers < 0:
            raise ValueError("sizes must be positive")
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")
