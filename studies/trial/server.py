"""A llama.cpp server in this process, for a file with weights; or one that runs already."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SLOTS = 2
"""Requests that are answered at once."""
CONTEXT = 8192
"""Tokens of each of them."""
NAME = "trial"
"""Under which the model is asked for; a server of one model takes any."""


@contextmanager
def served(model: str, threads: int) -> Iterator[str]:
    """The address of the model: ``model`` itself if that is one, else a server's that serves the file."""
    if "://" in model:
        yield model
        return
    if not Path(model).is_file():
        raise SystemExit(f"{model}: no such file; give weights as GGUF, or the address of a server")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = SLOTS * CONTEXT
    params.n_parallel = SLOTS
    params.use_jinja = True  # the model's own template knows tools
    for cores in (params.cpuparams, params.cpuparams_batch):
        cores.n_threads, cores.poll = threads, 0  # others spin while they wait
    params.warmup = False
    params.port = 0  # any free one
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server  # ends with its last reference
