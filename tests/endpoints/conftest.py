"""Clients of a server that a test module makes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.model_server import Server
from tracerank.endpoints.chat_http import ChatConfig, HttpChat


@pytest.fixture
def make(server: Server, slept: list[float]) -> Iterator[Callable[..., HttpChat]]:
    made: list[HttpChat] = []

    def build(**settings: Any) -> HttpChat:
        config = ChatConfig(**{"url": server.url, "model": "m"} | settings)
        made.append(HttpChat(config))
        return made[-1]

    yield build
    for chat in made:
        chat.close()
