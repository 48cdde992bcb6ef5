"""A web application behind a real server on loopback, and coroutines run to their end."""

import asyncio
import socket
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


@contextmanager
def served(app: Any, lifespan: str = "on") -> Iterator[str]:
    """The address of the application; it is shut down gracefully at the end."""
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan=lifespan))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def awaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it returns; in a thread of its own, for Playwright keeps a loop running in ours once a browser was open."""
    with ThreadPoolExecutor(1) as own:
        return own.submit(asyncio.run, coroutine).result()
