"""``tracerank serve`` and ``tracerank mcp``: the selector as an HTTP service, and as tools for other agents."""

import os
from typing import Annotated

import typer

from tracerank.cli.arguments import (
    AllowedHosts,
    AllowMismatch,
    Checkpoint,
    Equality,
    Form,
    OtherEncoder,
    Quiet,
    host_names,
)
from tracerank.cli.terminal import note
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.selectors.table import EqualityName, MethodOptions, method_named
from tracerank.serving.settings import DEFAULT_SETTINGS, MAX_SAMPLES, MEGABYTE, ServiceSettings

TOKEN_VARIABLE = "TRACERANK_SERVICE_TOKEN"

MethodChoice = Annotated[str, typer.Option("--method", metavar="NAME", help="What decides, as in select.")]
Host = Annotated[str, typer.Option("--host", metavar="NAME", help="Address to listen on; loopback unless you say so.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Port to listen on.")]
Waiting = Annotated[int, typer.Option("--queue", metavar="N", min=1, help="Requests that may wait; more get 429.")]
Seconds = Annotated[float, typer.Option("--timeout", metavar="S", min=0.001, help="Seconds until a request gets 504.")]
Megabytes = Annotated[int, typer.Option("--max-body", metavar="MB", min=1, help="Longest body; more gets 413.")]
UpstreamServer = Annotated[
    str | None,
    typer.Option(
        "--upstream",
        metavar="URL#MODEL",
        help="Answer /v1/chat/completions, too: sample this OpenAI-compatible server and return the best of its "
        "completions. Without a model, that of each request is asked for. The key in TRACERANK_API_KEY is sent, else "
        "the client's.",
        show_default=False,
    ),
]
BestOf = Annotated[
    int,
    typer.Option(
        "--best-of",
        metavar="K",
        min=1,
        max=MAX_SAMPLES,
        help="Most samples of a chat completion; a request may say otherwise.",
    ),
]
Stop = Annotated[
    float | None,
    typer.Option(
        "--stop",
        metavar="P",
        min=0.01,
        max=1.0,
        help="Confidence at which sampling stops; without, when further samples would bring too little.",
        show_default=False,
    ),
]
UpstreamSeconds = Annotated[
    float,
    typer.Option(
        "--upstream-timeout",
        metavar="S",
        min=0.001,
        help="Seconds until a chat completion is chosen from the samples that there are; without any it gets 504.",
    ),
]


def serve(
    checkpoint: Checkpoint = None,
    method: MethodChoice = "selector",
    equality: Equality = EqualityName.EXACT,
    form: Form = None,
    host: Host = "127.0.0.1",
    port: Port = 8100,
    allow_host: AllowedHosts = None,
    queue: Waiting = DEFAULT_SETTINGS.waiting,
    timeout: Seconds = DEFAULT_SETTINGS.seconds,
    max_body: Megabytes = DEFAULT_SETTINGS.body_bytes // MEGABYTE,
    upstream: UpstreamServer = None,
    best_of: BestOf = DEFAULT_SETTINGS.best_of,
    stop: Stop = None,
    upstream_timeout: UpstreamSeconds = DEFAULT_SETTINGS.upstream_seconds,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    quiet: Quiet = False,
) -> None:
    """Answer POST /v1/select, /v1/explain, /v1/view and /v2/rerank until interrupted; what was accepted is finished.

    A bearer token is required when TRACERANK_SERVICE_TOKEN is set. /openapi.json describes every endpoint, /metrics is
    for Prometheus. With --upstream it stands in the place of a chat server, too.
    """
    with needed("serving needs", "serve", UsageError):
        from tracerank.serving.app import create_app, run
        from tracerank.serving.security import allowed_hosts, is_loopback
    token = os.environ.get(TOKEN_VARIABLE, "").strip() or None
    if not is_loopback(host) and token is None:
        note(f"warning: anyone who reaches {host} may use this service; set {TOKEN_VARIABLE} to require a token")
    settings = ServiceSettings(
        token=token,
        hosts=allowed_hosts(host, host_names(allow_host or ())),
        body_bytes=max_body * MEGABYTE,
        waiting=queue,
        seconds=timeout,
        upstream=upstream,
        best_of=best_of,
        stop=stop,
        upstream_seconds=upstream_timeout,
    )
    chosen = method_named(method, MethodOptions(checkpoint, encoder, allow_encoder_mismatch, equality, form=form))

    def announce(url: str) -> None:
        if not quiet:
            note(f"{method} at {url}/v1/select, described at /docs; Ctrl-C ends it")

    run(create_app(chosen, settings), host, port, announce=announce)


def mcp(
    checkpoint: Checkpoint = None,
    method: MethodChoice = "selector",
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
) -> None:
    """Speak the Model Context Protocol over stdin and stdout: tools select_rollout and explain_selection."""
    with needed("the MCP server needs", "serve", UsageError):
        from tracerank.serving.mcp import run
    run(method_named(method, MethodOptions(checkpoint, encoder, allow_encoder_mismatch)))
