"""How a selector is trained: the paper's settings as defaults."""

from dataclasses import dataclass
from typing import Literal

from tracerank.selectors.trace.training.losses import LossRule


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Optimisation settings of one run (Sec. 4.1)."""

    loss: LossRule
    batch_pools: int
    """Question graphs a step."""
    mixed_among: Literal["samples", "retained"]
    """Pools are kept when correct and incorrect answers occur among the first K samples, or among the retained."""
    k: int = 16
    epochs: int = 3
    learning_rate: float = 3e-4
    weight_decay: float = 1e-4
    vote_rate: float = 1.0
    """Factor on the learning rate of the vote features' weights. They start at zero: with few steps they stay small
    while texts are learned by heart; much more than 1 lets the selector start from the vote."""
    seed: int = 42

    def __post_init__(self) -> None:
        if self.vote_rate <= 0:
            raise ValueError(f"vote_rate must be positive, got {self.vote_rate}")
