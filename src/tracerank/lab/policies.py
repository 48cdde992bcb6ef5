"""Agents by name, such as ``lexical:base`` or ``chat:URL#MODEL``, over an index or a retrieval server."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tracerank.endpoints.server import ADDRESS
from tracerank.errors import UsageError
from tracerank.lab.lexical.presets import PRESETS
from tracerank.pools.types import Question, Rollout

LEXICAL, CHAT = "lexical", "chat"
EXPECTED = f"{', '.join(f'{LEXICAL}:{name}' for name in PRESETS)} or {CHAT}:{ADDRESS}"
"""The names that there are, for help and error messages."""
STYLES = ("tags", "tools", "browser")
"""How a chat agent searches; the first is the default."""
CONCURRENCY = 8
"""Rollouts of a chat agent under way at once by default."""


class Policy(Protocol):
    """An agent that can be sampled."""

    @property
    def name(self) -> str:
        """Settles, with seed and question, what is sampled: ``lexical:base``, ``chat:URL#MODEL:tags``."""
        ...

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, in their order."""
        ...


class Agent(NamedTuple):
    """A policy, and how it is run."""

    policy: Policy
    source: str = ""
    """Fingerprint of the index, or address of the server."""
    concurrency: int | None = None
    """Rollouts under way at once; None: it computes, a question at a time."""


@contextmanager
def opened_agent(name: str, corpus: Path | None = None, retriever: str | None = None, **chat: Any) -> Iterator[Agent]:
    """The agent of this name; ``chat``: options of a chat agent as ``lab rollout`` has them, None: the default."""
    kind, _, rest = name.partition(":")
    given = {option: value for option, value in chat.items() if value is not None}
    if (corpus is None) == (retriever is None):
        raise UsageError("name what is searched: either --corpus INDEX or --retriever URL")
    if kind == LEXICAL and rest in PRESETS:
        if given:
            options = ", ".join(f"--{option.replace('_', '-')}" for option in given)
            raise UsageError(f"{options}: of use only beside --policy {CHAT}:{ADDRESS}")
    elif kind != CHAT or not rest:
        raise UsageError(f"--policy {name}: no such policy; expected {EXPECTED}")
    if given.get("style") == "browser" and corpus is None:
        raise UsageError("--style browser needs --corpus INDEX: a retrieval server cannot open pages")
    with ExitStack() as stack:  # connections end with the block
        # Imported here: --help does not wait for httpx and numpy.
        if corpus is not None:
            from tracerank.lab.corpus.index import Corpus

            searched: Any = Corpus(corpus)
            source = searched.info.fingerprint
        else:
            from tracerank.lab.retrieve_client import RetrieveClient, RetrieveConfig

            source = retriever or ""
            searched = stack.enter_context(closing(RetrieveClient(RetrieveConfig(source))))
        if kind == CHAT:
            concurrency = given.pop("concurrency", CONCURRENCY)
            yield Agent(_chat_policy(stack, rest, searched, concurrency, **given), source, concurrency)
        else:
            from tracerank.lab.lexical.policy import LexicalPolicy

            yield Agent(LexicalPolicy(searched, PRESETS[rest]), source)


def _chat_policy(
    stack: ExitStack,
    address: str,
    searched: Any,
    concurrency: int,
    *,
    style: str = STYLES[0],
    chat_time: str | None = None,
    chat_context: int | None = None,
    max_turns: int | None = None,
    max_tokens: int | None = None,
    **sampling: Any,
) -> Policy:
    from tracerank.endpoints.chat_http import HttpChat, chat_config
    from tracerank.lab.chat.policy import ChatPolicy, Limits
    from tracerank.lab.chat.styles import STYLES

    config = chat_config(address, chat_time, wants_logprobs=True, concurrency=concurrency)
    most = {"turns": max_turns, "reply_tokens": max_tokens}
    limits = Limits(**{name: value for name, value in most.items() if value is not None})
    limits = limits if chat_context is None else limits.within(chat_context)
    return ChatPolicy(stack.enter_context(HttpChat(config)), STYLES[style], searched, limits, **sampling)
