"""Methods by name: the one table from words on the command line to what settles a pool."""

from enum import StrEnum

from tracerank.errors import UsageError
from tracerank.methods.base import Method
from tracerank.methods.voting import MajorityVote


class MethodName(StrEnum):
    """What ``--method`` takes."""

    TRACE = "trace"
    MAJORITY = "majority"


def method_named(
    name: MethodName, checkpoint: str | None, encoder: str | None = None, allow_encoder_mismatch: bool = False
) -> Method:
    """The method, with its checkpoint loaded if it needs one."""
    if name is MethodName.MAJORITY:
        return MajorityVote()
    if checkpoint is None:
        raise UsageError("--checkpoint FOLDER is needed to select with TRACE; --method majority works without")
    from tracerank.cli.encoders import encoder_for
    from tracerank.methods.trace_selector import TraceSelector
    from tracerank.model.checkpoint import load_checkpoint

    loaded = load_checkpoint(checkpoint)
    embedder = encoder_for(loaded.encoder, encoder)
    return TraceSelector(loaded, embedder, allow_encoder_mismatch=allow_encoder_mismatch)
