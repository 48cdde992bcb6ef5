"""Policies by name: the one table from words such as ``lexical:base`` to agents, and what they search.

A ``PolicyChoice`` is plain values, so that a worker process can load its own; the agents are elsewhere in this layer.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from tracerank.endpoints.server import ADDRESS
from tracerank.errors import UsageError
from tracerank.lab.chat.policy import DEFAULT_LIMITS, ChatPolicy, Style
from tracerank.lab.chat.tags import TagStyle
from tracerank.lab.chat.tools import browser_style, search_style
from tracerank.lab.corpus.base import Library, Retriever
from tracerank.lab.lexical.presets import PRESETS
from tracerank.lab.sample import Policy

LEXICAL, CHAT = "lexical", "chat"
EXPECTED = f"{', '.join(f'{LEXICAL}:{name}' for name in PRESETS)} or {CHAT}:{ADDRESS}"
"""The names that there are, for help and error messages."""
CONCURRENCY = 8
"""Rollouts of a chat agent under way at once by default."""
TEMPERATURE = 1.0
"""Of its replies by default: K rollouts are of use only where they differ."""

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
class ChatOptions:
    """Options of a chat agent; None: the default."""

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
    """Seconds that a reply may take."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy by its name (``lexical:base``, ``chat:URL#MODEL``) over an index or a server, one of them."""

    name: str
    corpus: Path | None = None
    """Folder of an index."""
    retriever: str | None = None
    """Address of a Search-R1 style server."""
    chat: ChatOptions = field(default_factory=ChatOptions)

    def __post_init__(self) -> None:
        if (self.corpus is None) == (self.retriever is None):
            raise UsageError("name what is searched: either --corpus INDEX or --retriever URL")
        kind, _, rest = self.name.partition(":")
        if kind == LEXICAL and rest in PRESETS:
            if given := [name for name, value in asdict(self.chat).items() if value is not None]:
                options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
                raise UsageError(f"{options}: of use only beside --policy {CHAT}:{ADDRESS}")
        elif kind != CHAT or not rest:
            raise UsageError(f"--policy {self.name}: no such policy; expected {EXPECTED}")
        if self.chat.style not in (None, *STYLES):
            raise UsageError(f"--style {self.chat.style}: no such style; expected {', '.join(STYLES)}")
        if self.chat.style == BROWSER and self.corpus is None:
            raise UsageError("--style browser needs --corpus INDEX: a retrieval server cannot open pages")

    @property
    def is_chat(self) -> bool:
        """Whether a chat server is asked."""
        return self.name.startswith(f"{CHAT}:")

    @property
    def concurrency(self) -> int:
        """Rollouts of a chat agent that are under way at once."""
        return self.chat.concurrency or CONCURRENCY

    def source(self) -> dict[str, Any]:
        """What identifies the index or the server."""
        from tracerank.lab.corpus.index import read_info

        return {"corpus": self.corpus and read_info(self.corpus).fingerprint, "retriever": self.retriever}

    @contextmanager
    def opened(self) -> Iterator[Policy]:
        """The policy; when the block ends its connections do, and with them whatever is still under way."""
        with ExitStack() as stack:
            retriever = self._retriever()
            if (close := getattr(retriever, "close", None)) is not None:  # a server's connections
                stack.callback(close)
            yield self._chat_policy(retriever, stack) if self.is_chat else self._lexical_policy(retriever)

    def load_lexical(self) -> Policy:
        """A lexical policy for a process of its own."""
        return self._lexical_policy(self._retriever())

    # The imports below bring httpx, numpy and word lists, for which --help shall not wait.

    def _retriever(self) -> Retriever:
        if self.corpus is None:
            from tracerank.lab.retrieve_client import RetrieveClient, RetrieveConfig

            return RetrieveClient(RetrieveConfig(self.retriever or ""))
        from tracerank.lab.corpus.index import Corpus

        return Corpus(self.corpus)

    def _lexical_policy(self, retriever: Retriever) -> Policy:
        from tracerank.lab.lexical.policy import LexicalPolicy

        return LexicalPolicy(retriever, PRESETS[self.name.partition(":")[2]])

    def _chat_policy(self, retriever: Retriever, stack: ExitStack) -> Policy:
        from tracerank.endpoints.chat_http import HttpChat, chat_config

        given, usual = self.chat, DEFAULT_LIMITS
        address = self.name.partition(":")[2]
        config = chat_config(address, given.chat_time, wants_logprobs=True, concurrency=self.concurrency)
        reply_tokens = given.max_tokens or usual.reply_tokens
        more = max(1, reply_tokens // usual.reply_tokens)  # who needs longer replies needs longer rollouts of them
        limits = replace(
            usual,
            turns=given.max_turns or usual.turns,
            reply_tokens=reply_tokens,
            rollout_tokens=more * usual.rollout_tokens,
            answer_tokens=more * usual.answer_tokens,
        )
        return ChatPolicy(
            stack.enter_context(HttpChat(config)),
            STYLES[given.style or TAGS](retriever),
            limits if given.chat_context is None else limits.within(given.chat_context),
            temperature=TEMPERATURE if given.temperature is None else given.temperature,
            top_p=given.top_p,
        )
