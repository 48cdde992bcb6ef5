"""``--escalate METHOD --below P``: a second method for the questions on which the first is unsure."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracerank.errors import UsageError
from tracerank.methods import METHODS, MethodOptions, has_confidence, load_method
from tracerank.votes.base import Method


@dataclass(frozen=True, slots=True)
class EscalateOption:
    """What ``--escalate`` and ``--below`` ask for, checked."""

    method: str
    below: float
    options: MethodOptions

    @classmethod
    def given(cls, method: str | None, below: float | None, options: MethodOptions) -> "EscalateOption":
        """Refuses one without the other."""
        if method is None:
            raise UsageError("--below needs --escalate METHOD: the method that is asked below that confidence")
        if below is None:
            raise UsageError(f"--escalate {method} needs --below P: the confidence below which it is asked")
        if below == 0:
            raise UsageError("--below 0: no confidence is below it; give one above 0, up to 1")
        return cls(method, below, options)

    def behind(self, name: str, first: Method) -> Method:
        """The method that was named, with the second one behind it."""
        if not has_confidence(name):
            able = ", ".join(one for one in METHODS if has_confidence(one))
            raise UsageError(f"--escalate: {name} states no confidence; these do: {able}")
        from tracerank.votes.escalation import Escalating

        return Escalating(first, load_method(self.method, self.options), self.below)

    def behind_all(self, named: Sequence[tuple[str, Method]]) -> list[Method]:
        """The same for each of several that states a confidence; refuses if there is none."""
        able = [pair for pair in named if has_confidence(pair[0])]
        if not able:
            raise UsageError("--escalate: none of the methods states a confidence; add majority or evidence")
        return [self.behind(*pair) for pair in able]
