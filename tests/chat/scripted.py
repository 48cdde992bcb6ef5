"""A chat server for aggregators' tests: what a model would say, and the pools it is asked about."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.builders import pool_of, ranked, rollout
from tests.model_server import Reply, Server, called
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.pools.pool import Pool

Rule = Callable[[dict[str, Any]], Reply]


def asked_pool(*answers: str | None, question: str = "What is the capital of France?") -> Pool:
    """Rollouts with one search each, whose chunks mention their answer."""
    return pool_of(
        *(rollout(answer, ranked(f"search {i}", f"chunk {i} says {answer}")) for i, answer in enumerate(answers)),
        question=question,
    )


def call(name: str, arguments: Any, text: Any = None) -> Reply:
    """A reply that calls a tool; arguments that are a text go out as they are."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    reply = called({"id": "c1", "type": "function", "function": {"name": name, "arguments": written}}, text=text)
    body = json.loads(reply.body) | {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}
    return Reply(body=body)


def finish(solution: Any) -> Reply:
    return call("finish", {"solution": solution, "reason": "because"})


@contextmanager
def served(*planned: Reply, rule: Rule | None = None, **settings: Any) -> Iterator[tuple[HttpChat, Server]]:
    """A client of a server that makes these replies in order, then those of the rule."""
    server = Server()
    server.planned = list(planned)
    if rule is not None:
        server.rule = rule
    config = ChatConfig(**{"url": server.url, "model": "m", "retries": 0} | settings)
    try:
        with HttpChat(config) as chat:
            yield chat, server
    finally:
        server.close()


def last_text(request: dict[str, Any]) -> str:
    """The last message of a request."""
    return str(request["messages"][-1]["content"])
