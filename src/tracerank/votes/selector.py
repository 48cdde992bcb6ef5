"""The base class of every method that is fitted: decides, explains, is saved and loaded, and names its encoder."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from tracerank.errors import TraceRankError, UsageError
from tracerank.pools.pool import Pool
from tracerank.votes.base import Calibrator, Decision, decide_stream
from tracerank.votes.explanation import Explanation, explain_pool

if TYPE_CHECKING:
    from tracerank.embedding.base import Embedder, EncoderIdentity  # brings numpy, which --help must not wait for

EmbedderChoice: TypeAlias = "Embedder | str | None"
"""Where a selector that reads vectors gets them: an object, a name to load, or None for its own encoder."""


class Selector(ABC):
    """A method that was fitted: decides single pools, many, and streams of them, and lives in a folder."""

    kind: ClassVar[str]
    """What its folder says that it holds."""
    calibrator: Calibrator | None = None
    """Gives its decisions their confidence; None: they have none."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables call it."""

    @property
    def encoder(self) -> "EncoderIdentity | None":
        """The encoder whose vectors it needs; None: it reads no vectors."""
        return None

    def calibrated(self, pool: Pool, decision: Decision, known: Any = None) -> Decision:
        """A decision of its own with its confidence."""
        return decision if self.calibrator is None else self.calibrator.calibrate(pool, decision, known)

    def decide(self, pool: Pool) -> Decision:
        """The decision for one pool."""
        return next(self.iter_decisions([pool]))

    def decide_many(self, pools: Sequence[Pool]) -> list[Decision]:
        """Decisions for many pools, in batches where that helps."""
        return list(self.iter_decisions(pools))

    @abstractmethod
    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""

    def explain(self, pool: Pool) -> Explanation:
        """The decision for one pool, explained."""
        return next(iter(self.explain_stream([pool])))[1]

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision explained, in order; unless it knows more, by what the rollouts share."""
        return ((pool, explain_pool(pool, decision)) for pool, decision in decide_stream(self, pools))

    def of_form(self, form: str) -> "Selector":
        """The same selector that returns another wording of what it chooses; only one that chooses meanings can."""
        raise UsageError(f"--form: a selector of kind {self.kind} chooses the wording itself; leave the option out")

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Write the folder that ``load`` reads; each file appears whole or not at all."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path, embedder: EmbedderChoice = None) -> "Selector":
        """From a folder that ``save`` wrote; with its own encoder, unless one is given or named."""


def check_finite(scores: Iterable[float]) -> None:
    """Refuse scores that cannot be ordered."""
    if not all(map(math.isfinite, scores)):
        raise TraceRankError("the selector produced scores that are not finite; the checkpoint is damaged")
