"""Policies by name: the one table from words such as ``lexical:base`` to agents, and the corpus that they search.

A ``PolicyChoice`` is plain values, so that a worker process can load its own; the agents are elsewhere in this layer.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from tracerank.endpoints.chat import ChatModel
from tracerank.endpoints.server import ADDRESS
from tracerank.errors import UsageError
from tracerank.lab.chat.policy import DEFAULT_LIMITS, ChatPolicy
from tracerank.lab.chat.style import Style
from tracerank.lab.chat.tags import TagStyle
from tracerank.lab.chat.tools import browser_style, search_style
from tracerank.lab.corpus.base import Library, Retriever
from tracerank.lab.lexical.presets import PRESETS
from tracerank.lab.sample import Policy

LEXICAL, CHAT = "lexical", "chat"
EXPECTED = f"{', '.join(f'{LEXICAL}:{name}' for name in PRESETS)} or {CHAT}:{ADDRESS}"
"""The names that there are, for help and error messages."""

CONCURRENCY = 8
"""Rollouts of a chat agent under way at once, unless said otherwise."""
TEMPERATURE = 1.0
"""Of its replies, unless said otherwise: K rollouts are of use only where they differ."""

TAGS, TOOLS, BROWSER = "tags", "tools", "browser"
STYLES: Mapping[str, Callable[[Retriever], Style]] = MappingProxyType(
    {
        TAGS: TagStyle,
        TOOLS: search_style,
        BROWSER: lambda retriever: browser_style(cast(Library, retriever)),  # an index: ``PolicyChoice`` sees to it
    }
)
"""How a chat agent searches, by name; the first is the default."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a policy searches: an index or a server, one of them."""

    corpus: Path | None = None
    """Folder of an index."""
    retriever: str | None = None
    """Address of a Search-R1 style server."""
    rerank: str | None = None
    """Encoder that puts the index's best passages in a new order; None: their own order."""

    def __post_init__(self) -> None:
        if (self.corpus is None) == (self.retriever is None):
            raise UsageError("name what is searched: either --corpus INDEX or --retriever URL")
        if self.rerank is not None and self.corpus is None:
            raise UsageError("--rerank works on an index; give --corpus INDEX instead of --retriever URL")

    def identity(self) -> Mapping[str, Any]:
        """What tells whether the same is still searched."""
        from tracerank.lab.corpus.layout import read_info

        fingerprint = None if self.corpus is None else read_info(self.corpus).fingerprint
        return {"corpus": fingerprint, "retriever": self.retriever, "rerank": self.rerank}

    @contextmanager
    def opened(self) -> Iterator[Retriever]:
        """What is searched, until the block ends."""
        retriever = self.load()
        try:
            yield retriever
        finally:
            if (close := getattr(retriever, "close", None)) is not None:  # a server's connections
                close()

    def load(self) -> Retriever:
        """What is searched."""
        # These bring httpx and numpy, for which --help shall not wait.
        if self.corpus is None:
            from tracerank.lab.retrieve_client import RetrieveClient, RetrieveConfig

            return RetrieveClient(RetrieveConfig(self.retriever or ""))
        from tracerank.embedding.load import load_embedder
        from tracerank.lab.corpus.index import Corpus, Reranked

        index = Corpus(self.corpus)
        return index if self.rerank is None else Reranked(index, load_embedder(self.rerank))


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What is said about a chat agent; None: nothing."""

    style: str | None = None
    """A name of ``STYLES``."""
    temperature: float | None = None
    top_p: float | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    """Of one reply."""
    concurrency: int | None = None
    chat_context: int | None = None
    """Tokens that the model holds."""
    chat_time: str | None = None
    """Seconds that the server may take, as ``--chat-time`` has them."""

    def given(self) -> dict[str, Any]:
        """What was said, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy by its name: ``lexical:base``, ``lexical:sft``, ``lexical:rl`` or ``chat:URL#MODEL``."""

    name: str
    sources: Sources
    chat: ChatOptions = field(default_factory=ChatOptions)

    def __post_init__(self) -> None:
        kind, _, rest = self.name.partition(":")
        if kind == LEXICAL and rest in PRESETS:
            if given := self.chat.given():
                options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
                raise UsageError(f"{options}: of use only beside --policy {CHAT}:{ADDRESS}")
        elif kind != CHAT or not rest:
            raise UsageError(f"--policy {self.name}: no such policy; expected {EXPECTED}")
        if self.chat.style not in (None, *STYLES):
            raise UsageError(f"--style {self.chat.style}: no such style; expected {', '.join(STYLES)}")
        if self.chat.style == BROWSER and self.sources.corpus is None:
            raise UsageError("--style browser needs --corpus INDEX: a retrieval server cannot open pages")

    @property
    def is_chat(self) -> bool:
        """Whether a chat server is asked."""
        return self.name.startswith(f"{CHAT}:")

    @property
    def concurrency(self) -> int:
        """Rollouts of a chat agent that are under way at once."""
        return self.chat.concurrency or CONCURRENCY

    @contextmanager
    def opened(self) -> Iterator[Policy]:
        """The policy; when the block ends its connections do, and with them whatever is still under way."""
        with ExitStack() as stack:
            retriever = stack.enter_context(self.sources.opened())
            yield self._chat_policy(retriever, stack) if self.is_chat else self._lexical_policy(retriever)

    def load_lexical(self) -> Policy:
        """A lexical policy for a process of its own."""
        return self._lexical_policy(self.sources.load())

    def _lexical_policy(self, retriever: Retriever) -> Policy:
        from tracerank.lab.lexical.policy import LexicalPolicy  # with word lists that a chat agent does not need

        return LexicalPolicy(retriever, PRESETS[self.name.partition(":")[2]])

    def _chat_policy(self, retriever: Retriever, stack: ExitStack) -> Policy:
        from tracerank.endpoints.chat_http import HttpChat, chat_config

        said = self.chat
        address = self.name.partition(":")[2]
        config = chat_config(address, said.chat_time, wants_logprobs=True, concurrency=self.concurrency)
        chat: ChatModel = stack.enter_context(HttpChat(config))
        usual = DEFAULT_LIMITS
        reply_tokens = said.max_tokens or usual.reply_tokens
        more = max(1, reply_tokens // usual.reply_tokens)  # who needs longer replies needs longer rollouts of them
        limits = replace(
            usual,
            turns=said.max_turns or usual.turns,
            reply_tokens=reply_tokens,
            rollout_tokens=more * usual.rollout_tokens,
            answer_tokens=more * usual.answer_tokens,
        )
        return ChatPolicy(
            chat,
            STYLES[said.style or TAGS](retriever),
            limits if said.chat_context is None else limits.within(said.chat_context),
            temperature=TEMPERATURE if said.temperature is None else said.temperature,
            top_p=said.top_p,
        )
