"""Agents by name, such as ``lexical:base`` or ``chat:URL#MODEL``, over an index."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tracerank.endpoints.server import ADDRESS
from tracerank.errors import UsageError
from tracerank.pools.types import Question, Rollout

LEXICAL, CHAT = ("lexical:base", "lexical:sft", "lexical:rl"), "chat:"
EXPECTED = f"{', '.join(LEXICAL)} or {CHAT}{ADDRESS}"
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
    """Fingerprint of the index."""
    concurrency: int | None = None
    """Rollouts under way at once; None: it computes, a question at a time."""


@contextmanager
def opened_agent(name: str, index: Path, **chat: Any) -> Iterator[Agent]:
    """The agent of this name; ``chat``: options of a chat agent as ``lab rollout`` has them, None: the default."""
    # Imported here: --help does not wait for httpx and numpy.
    from tracerank.lab.corpus.index import Corpus

    given = {option: value for option, value in chat.items() if value is not None}
    if name in LEXICAL:
        if given:
            options = ", ".join(f"--{option.replace('_', '-')}" for option in given)
            raise UsageError(f"{options}: of use only beside --policy {CHAT}{ADDRESS}")
        from tracerank.lab.lexical.agent import PRESETS, LexicalPolicy

        corpus = Corpus(index)
        yield Agent(LexicalPolicy(corpus, PRESETS[name.partition(":")[2]]), corpus.info.fingerprint)
        return
    if not name.startswith(CHAT) or name == CHAT:
        raise UsageError(f"--policy {name}: no such policy; expected {EXPECTED}")
    from tracerank.endpoints.chat_http import HttpChat, chat_config
    from tracerank.lab.chat.policy import ChatPolicy, Limits
    from tracerank.lab.chat.styles import STYLES as KNOWN

    corpus = Corpus(index)
    style, time, context = (given.pop(option, None) for option in ("style", "chat_time", "chat_context"))
    concurrency = given.pop("concurrency", CONCURRENCY)
    names = {"max_turns": "turns", "max_tokens": "reply_tokens"}
    limits = Limits(**{names[option]: given.pop(option) for option in names if option in given})
    limits = limits if context is None else limits.within(context)
    config = chat_config(name.removeprefix(CHAT), time, wants_logprobs=True, concurrency=concurrency)
    with HttpChat(config) as model:
        policy = ChatPolicy(model, KNOWN[style or STYLES[0]], corpus, limits, **given)
        yield Agent(policy, corpus.info.fingerprint, concurrency)
