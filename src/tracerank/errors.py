"""Every error a user can meet, one class per boundary crossed.

The message is one line: where, what was expected, what to do. The command line prints it and exits with 2.
"""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'majority'?`` for a misspelt word, to be put behind a message; empty if nothing is near."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), {name.lower(): name for name in known}, 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


class TraceRankError(Exception):
    """Base of all errors that tracerank raises on purpose."""

    ends_all = False
    """Whether no other call can do better: a wrong key, an unknown host, a model that the server does not have."""


class ReadError(TraceRankError):
    """A file of rollouts cannot be used at all."""


class MalformedRollout(TraceRankError):
    """One record cannot become a rollout; the reader turns this into a dropped rollout with a reason."""


class EmbeddingError(TraceRankError):
    """Text could not be turned into usable vectors."""


class ChatError(TraceRankError):
    """A chat model could not be asked, or its reply cannot be used."""


class CheckpointError(TraceRankError):
    """A checkpoint is missing, damaged, or belongs to another encoder."""


class TrainingError(TraceRankError):
    """Training cannot start or must not go on."""


class CorpusError(TraceRankError):
    """A corpus cannot be built, opened or searched."""


class UndecidedPool(TraceRankError):
    """A method, or the server that it asks, fails on one pool; the others are no worse for it."""

    def __init__(self, question_id: str, reason: str, is_fault: bool = True) -> None:
        super().__init__(question_id, reason, is_fault)  # all of it, for the way from process to process
        self.question_id = question_id
        self.reason = reason
        self.is_fault = is_fault
        """Whether it is the method's."""

    def __str__(self) -> str:
        return f"question {self.question_id!r}: not decided: {self.reason}"


class AgentError(TraceRankError):
    """Every run of an agent failed."""


class UsageError(TraceRankError):
    """A combination of arguments that cannot work."""
