"""What asks a chat model, made of options: the server, its context, the tokens of a reply. Heavy parts are imported
when they are made. The names that they go by stand in ``selectors/table.py``.
"""

from typing import TYPE_CHECKING, Protocol

from tracerank.cache_folders import default_reply_folder
from tracerank.votes.base import Method

if TYPE_CHECKING:
    from tracerank.chat.asking import B
    from tracerank.endpoints.chat import ChatModel
    from tracerank.votes.weighted_vote import AskedConfidence


class ChatOptions(Protocol):
    """What the user said about the chat model; ``MethodOptions`` has it."""

    @property
    def chat(self) -> str | None: ...

    @property
    def chat_context(self) -> int | None: ...

    @property
    def chat_tokens(self) -> int | None: ...

    @property
    def chat_time(self) -> str | None: ...


def chat_of(options: ChatOptions) -> "ChatModel":
    """The chat model, asked the same only once, whoever asks."""
    from tracerank.endpoints.chat_cache import CachedChat
    from tracerank.endpoints.chat_http import HttpChat, chat_config

    return CachedChat(HttpChat(chat_config(options.chat or "", options.chat_time)), default_reply_folder())


def bounded_by(config: "B", options: ChatOptions) -> "B":
    """The config within the context and the tokens that the user allows."""
    from tracerank.chat.asking import bounded

    return bounded(config, options.chat_context, options.chat_tokens)


def asked_confidence(options: ChatOptions) -> "AskedConfidence":
    """What asks for the confidence that a rollout does not state."""
    from tracerank.votes.weighted_vote import AskedConfidence, AskedConfidenceConfig

    return AskedConfidence(chat_of(options), bounded_by(AskedConfidenceConfig(), options))


def verifier(options: ChatOptions) -> Method:
    """The paper's: each candidate alone, right or wrong."""
    from tracerank.chat.verifier import Verifier, VerifierConfig

    return Verifier(chat_of(options), bounded_by(VerifierConfig(), options))


def solagg(options: ChatOptions, is_strict: bool = False) -> Method:
    """One answer from all solutions."""
    from tracerank.chat.solagg import AggregationConfig, SolAgg

    return SolAgg(chat_of(options), bounded_by(AggregationConfig(is_strict=is_strict), options))


def summagg(options: ChatOptions, is_strict: bool = False) -> Method:
    """One answer from a report on each rollout."""
    from tracerank.chat.solagg import AggregationConfig, SummAgg

    return SummAgg(chat_of(options), bounded_by(AggregationConfig(is_strict=is_strict), options))


def aggagent(options: ChatOptions, is_strict: bool = False) -> Method:
    """The answer of an agent that reads the rollouts."""
    from tracerank.chat.aggagent import AggAgent, AggAgentConfig

    return AggAgent(chat_of(options), bounded_by(AggAgentConfig(is_strict=is_strict), options))
