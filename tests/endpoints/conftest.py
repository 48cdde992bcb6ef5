"""A server of models, and clients of it."""

from collections.abc import Callable, Iterator

import pytest

from tests.model_server import Server
from tracerank.endpoints.chat_http import ChatConfig, HttpChat


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    found._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are the point
    yield found
    found.close()


@pytest.fixture
def make(server: Server, slept: list[float]) -> Callable[..., HttpChat]:
    return lambda **settings: HttpChat(ChatConfig(**{"url": server.url, "model": "m"} | settings))
