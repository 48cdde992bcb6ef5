"""An agent to be sampled, and the one that ``lab rollout`` opens: a chat model over an index."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tracerank.pools.types import Question, Rollout

STYLES = ("tags", "tools", "browser")
"""How a chat agent searches; the first is the default."""
CONCURRENCY = 8
"""Rollouts under way at once by default."""


class Policy(Protocol):
    """An agent that can be sampled."""

    @property
    def name(self) -> str:
        """Settles, with seed and question, what is sampled: ``chat:URL#MODEL:tags``."""
        ...

    def rollout(self, question: Question, sample: int, seed: int = 0) -> Rollout:
        """The rollout with this sample id."""
        ...


class Agent(NamedTuple):
    """A policy, and how it is run."""

    policy: Policy
    source: str = ""
    """Fingerprint of the index."""
    concurrency: int = CONCURRENCY
    """Rollouts under way at once."""


@contextmanager
def opened_agent(address: str, index: Path, **given: Any) -> Iterator[Agent]:
    """The chat model behind ``URL#MODEL`` as an agent; options as ``lab rollout`` has them, None: the default."""
    # Imported here: --help does not wait for httpx and numpy.
    from tracerank.endpoints.chat_http import HttpChat, chat_config
    from tracerank.lab.chat.policy import ChatPolicy, Limits
    from tracerank.lab.chat.styles import STYLES as KNOWN
    from tracerank.lab.corpus.index import Corpus

    corpus = Corpus(index)
    given = {option: value for option, value in given.items() if value is not None}
    style, time, context = (given.pop(option, None) for option in ("style", "chat_time", "chat_context"))
    concurrency = given.pop("concurrency", CONCURRENCY)
    names = {"max_turns": "turns", "max_tokens": "reply_tokens"}
    limits = Limits(**{names[option]: given.pop(option) for option in names if option in given})
    limits = limits if context is None else limits.within(context)
    with HttpChat(chat_config(address, time, wants_logprobs=True, concurrency=concurrency)) as model:
        policy = ChatPolicy(model, KNOWN[style or STYLES[0]], corpus, limits, **given)
        yield Agent(policy, corpus.info.fingerprint, concurrency)
