"""Every error a user can meet, one class per boundary crossed.

The message is one line: where, what was expected, what to do. The command line prints it and exits with 2.
"""


class TraceRankError(Exception):
    """Base of all errors that tracerank raises on purpose."""


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


class RetrieveError(TraceRankError):
    """A retrieval server did not answer as it should."""


class UndecidedPool(TraceRankError):
    """A method fails on one pool; the others are no worse for it."""


class UsageError(TraceRankError):
    """A combination of arguments that cannot work."""
