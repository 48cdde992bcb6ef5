"""Sizes and parts of the ``plus`` network. Which of them pay was measured one by one: LOG.md."""

from dataclasses import dataclass

from tracerank.selectors.plus.facts import CROSS_FAMILIES
from tracerank.selectors.trace.net import NetConfig


@dataclass(frozen=True, slots=True)
class PlusConfig:
    """Sizes and parts of the network; 0 or False leaves a part out."""

    width: int
    """Length of the frozen vectors."""
    dropped_families: tuple[str, ...] = CROSS_FAMILIES
    """Families of features that are not looked at: what others saw comes by the links of the graph instead."""
    by_size: bool = True
    """The weights of the linear correction may change with the number of votes."""
    feature_hidden: int = 0
    """Width of the nonlinear correction."""
    vote_dropout: float = 0.0
    """Share of training pools whose votes are hidden."""
    among: int = 16
    """Width of the comparison between candidates."""
    cosines: bool = False
    """Cosines between question, answer and evidence are features."""
    sources: float = 0.1
    """Scale of the mean vector of own texts that hold the answer in a linear correction of its own; 0: none."""
    graph: bool = True
    """TRACE's own score enters, too."""
    gate: float = 0.1
    """Where the factor of TRACE's score starts."""
    marks: bool = True
    """Evidence states know whether the text holds the answer, and the like."""
    texts: bool = False
    """TRACE's encoders see the frozen vectors; otherwise its nodes know only marks, cosines and their links."""
    rank: int = 32
    """Length to which one shared projection shortens the frozen vectors."""
    input_dropout: float = 0.3
    """Share of vector elements that are hidden in training."""
    hidden: int = 32
    layers: int = 2
    heads: int = 4
    feed_forward: int = 64
    dropout: float = 0.3

    def __post_init__(self) -> None:
        sizes = (self.feature_hidden, self.among, self.rank)
        if self.width < 1 or min(sizes) < 0:
            raise ValueError("sizes must not be negative")
        for name in ("vote_dropout", "input_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")

    @property
    def net(self) -> NetConfig:
        """Of the part that is TRACE."""
        width = (self.rank or self.width) if self.texts else 1
        return NetConfig(width, self.hidden, self.layers, self.heads, self.feed_forward, self.dropout)
