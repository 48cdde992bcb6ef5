"""``--escalate METHOD --below P``, for the commands that decide: another method where the first is unsure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracerank.errors import UsageError
from tracerank.pools.subsets import FIRST
from tracerank.selectors.table import (
    METHODS,
    MethodOptions,
    checked_options,
    method_identity,
    method_named,
    model_of,
    tells_confidence,
)
from tracerank.votes.base import Method

if TYPE_CHECKING:
    from tracerank.evaluation.evaluate import Record


@dataclass(frozen=True, slots=True)
class Escalated:
    """What the user said of escalation, checked."""

    method: str
    below: float
    options: MethodOptions

    @classmethod
    def given(cls, method: str | None, below: float | None, options: MethodOptions) -> "Escalated | None":
        """None: nothing was said; refuses half of it, and what cannot be built."""
        if method is None and below is None:
            return None
        if method is None:
            raise UsageError("--below needs --escalate METHOD: who is asked below that confidence?")
        if below is None:
            raise UsageError(f"--escalate {method} needs --below P: the confidence below which it is asked")
        if below == 0:
            raise UsageError("--below 0: no confidence is below it; give one above 0, up to 1")
        checked_options(method, options)
        return cls(method, below, options)

    def behind(self, name: str, first: Method) -> Method:
        """The method that was named, with the other one behind it."""
        if not tells_confidence(name):
            able = ", ".join(one for one, row in METHODS.items() if row.tells)
            raise UsageError(f"--escalate: {name} tells no confidence; these do: {able}")
        # It looks for what is missing, which a command without this option need not load.
        from tracerank.selectors.unsure.escalation import Escalating

        return Escalating(first, method_named(self.method, self.options), self.below)

    def behind_all(self, names: Sequence[str], firsts: Sequence[Method]) -> list[Method]:
        """The same for each of several that tells a confidence; refuses where none does."""
        able = [pair for pair in zip(names, firsts, strict=True) if tells_confidence(pair[0])]
        if not able:
            raise UsageError("--escalate: not one of the methods tells a confidence; add majority or a selector")
        return [self.behind(*pair) for pair in able]

    @property
    def identity(self) -> dict[str, Any]:
        """What a run remembers of it."""
        return {"escalate": {"method": method_identity(self.method), "below": self.below}}

    @property
    def model(self) -> str | None:
        """The model that the tokens are of."""
        return model_of(self.method, self.options)


@dataclass(slots=True)
class Brought:
    """What escalation brought one method at one K, counted while records pass."""

    method: str
    k: int
    below: float
    questions: int = 0
    escalated: int = 0
    recovered: float = 0.0
    """Answers that were wrong before and are right now."""
    lost: float = 0.0
    calls: int = 0
    """Of the other method alone; so are tokens."""
    tokens: int = 0
    failed: int = 0
    """Questions on which the other method failed, so that the first answer stands."""

    @property
    def sentence(self) -> str:
        told = (
            f"{self.method} at K={self.k}: {self.escalated:,} of {self.questions:,} questions were below "
            f"{self.below:g}; recovered answers: {self.recovered:g}, lost: {self.lost:g}"
        )
        if self.calls:
            told += f", with {self.calls:,} calls and {self.tokens:,} tokens"
        if self.calls and self.recovered:
            told += f" ({self.calls / self.recovered:,.1f} and {self.tokens / self.recovered:,.0f} a recovered answer)"
        return told


class BroughtByMethod:
    """The counts of all methods, of the first K rollouts."""

    def __init__(self, names: Collection[str], below: float) -> None:
        self._names, self._below = names, below
        self._found: dict[tuple[str, int], Brought] = {}

    def add(self, record: "Record") -> None:
        """One record that passes."""
        if record.method not in self._names or record.subset != FIRST:
            return
        key = record.method, record.k
        found = self._found.setdefault(key, Brought(*key, self._below))
        found.questions += 1
        if (told := record.escalated) is None:
            return
        found.escalated += 1
        found.failed += told.problem is not None
        found.calls += told.calls or 0
        found.tokens += (told.prompt_tokens or 0) + (told.completion_tokens or 0)
        if record.correct is not None and told.correct is not None:
            found.recovered += max(0.0, record.correct - told.correct)
            found.lost += max(0.0, told.correct - record.correct)

    def all(self) -> list[Brought]:
        """In the order of the methods, K ascending."""
        return [
            self._found[key] for key in sorted(self._found, key=lambda key: (list(self._names).index(key[0]), key[1]))
        ]
