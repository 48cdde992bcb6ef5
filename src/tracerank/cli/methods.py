"""Methods by name: the one table from words on the command line to what settles a pool."""

from dataclasses import dataclass
from enum import StrEnum

from tracerank.errors import UsageError
from tracerank.methods.answer_groups import AnswerGrouping, DefaultGroups, ExactGroups
from tracerank.methods.base import Method
from tracerank.methods.voting import MajorityVote


class MethodName(StrEnum):
    """What ``--method`` takes."""

    TRACE = "trace"
    MAJORITY = "majority"


class EqualityName(StrEnum):
    """What ``--equality`` takes."""

    EXACT = "exact"
    DEFAULT = "default"
    SEMANTIC = "semantic"
    LLM = "llm"


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """What the user said about methods, whichever he chose."""

    checkpoint: str | None = None
    encoder: str | None = None
    """None: the checkpoint's own."""
    allow_encoder_mismatch: bool = False
    equality: EqualityName = EqualityName.EXACT
    chat: str | None = None
    """``URL#model`` of the model that compares answers."""


def method_named(name: MethodName, options: MethodOptions) -> Method:
    """The method, with its checkpoint loaded if it needs one."""
    if name is MethodName.MAJORITY:
        return MajorityVote(_grouping(options))
    if options.checkpoint is None:
        raise UsageError("--checkpoint FOLDER is needed to select with TRACE; --method majority works without")
    from tracerank.cli.encoders import encoder_for
    from tracerank.methods.trace_selector import TraceSelector
    from tracerank.model.checkpoint import load_checkpoint

    loaded = load_checkpoint(options.checkpoint)
    embedder = encoder_for(loaded.encoder, options.encoder)
    return TraceSelector(loaded, embedder, allow_encoder_mismatch=options.allow_encoder_mismatch)


def _grouping(options: MethodOptions) -> AnswerGrouping:
    if options.equality is EqualityName.EXACT:
        return ExactGroups()
    if options.equality is EqualityName.DEFAULT:
        return DefaultGroups()
    if options.equality is EqualityName.SEMANTIC:
        from tracerank.cli.encoders import encoder_named
        from tracerank.methods.judged_groups import SemanticGroups

        return SemanticGroups(encoder_named(options.encoder or "default"))
    if options.chat is None:
        raise UsageError("--equality llm needs --chat URL#model: the address of a chat server and its model's name")
    from tracerank.embedding.cache import default_cache_folder
    from tracerank.methods.chat_http import ChatConfig, HttpChat
    from tracerank.methods.judged_groups import LlmGroups
    from tracerank.methods.verdicts import VerdictFile

    address, _, model = options.chat.partition("#")
    folder = default_cache_folder().parent
    folder.mkdir(parents=True, exist_ok=True)
    return LlmGroups(HttpChat(ChatConfig(address, model or "default")), VerdictFile(folder / "verdicts.jsonl"))
