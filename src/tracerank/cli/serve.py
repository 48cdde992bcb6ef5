"""``tracerank serve`` and ``tracerank mcp``: the selector as an HTTP service, and as tools for other agents."""

import gc
import os
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.terminal import note
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.serving.settings import DEFAULT_SETTINGS, MAX_SAMPLES, MEGABYTE, ServiceSettings

if TYPE_CHECKING:
    from tracerank.methods import MethodOptions

TOKEN_VARIABLE = "TRACERANK_SERVICE_TOKEN"


@click.command(epilog=opt.example("tracerank serve --port 8100"))
@opt.method_option()
@opt.method_options("equality", "form", "answers", "encoder")
@opt.address_options(8100)
@opt.option("--timeout S", "Seconds until a request gets 504.", opt.SECONDS, default=DEFAULT_SETTINGS.seconds)
@opt.option(
    "--max-body MB",
    "Longest body of a request; more gets 413.",
    opt.COUNT,
    default=DEFAULT_SETTINGS.body_bytes // MEGABYTE,
)
@opt.option(
    "--upstream URL#MODEL",
    "Also answer /v1/chat/completions with the best of this OpenAI-compatible server's completions.",
)
@opt.option(
    "--best-of K",
    "Most samples of a chat completion, unless the request says otherwise.",
    click.IntRange(1, MAX_SAMPLES),
    default=DEFAULT_SETTINGS.best_of,
)
@opt.option(
    "--stop P",
    "Confidence at which sampling stops; by default when further samples would bring too little.",
    click.FloatRange(0.01, 1),
)
@opt.quiet_option
def serve(
    method: str,
    options: "MethodOptions",
    host: str,
    port: int,
    allow_host: list[str],
    timeout: float,
    max_body: int,
    upstream: str | None,
    best_of: int,
    stop: float | None,
    quiet: bool,
) -> None:
    """Serve selection over HTTP.

    POST /v1/select, /v1/explain and /v2/rerank; /docs describes them, /metrics is for Prometheus. A bearer token is
    required if TRACERANK_SERVICE_TOKEN is set.
    """
    from tracerank.methods import load_method

    with needed("serving needs", "serve", UsageError):
        from tracerank.serving.app import create_app, run
        from tracerank.serving.security import allowed_hosts, is_loopback
    token = os.environ.get(TOKEN_VARIABLE, "").strip() or None
    if not is_loopback(host) and token is None:
        note(f"warning: anyone who reaches {host} may use this service; set {TOKEN_VARIABLE} to require a token")
    settings = ServiceSettings(
        token=token,
        hosts=allowed_hosts(host, allow_host),
        body_bytes=max_body * MEGABYTE,
        seconds=timeout,
        upstream=upstream,
        best_of=best_of,
        stop=stop,
    )
    app = create_app(load_method(method, options), settings)

    def announce(address: str) -> None:
        if not quiet:
            note(f"{method} at {address}/v1/select, described at {address}/docs; Ctrl-C ends it")
            if upstream is not None:
                note(f"the best of {best_of} completions of {upstream} at {address}/v1")

    gc.collect()
    gc.freeze()  # a request makes thousands of objects and no cycles
    run(app, host, port, announce=announce)


@click.command(epilog=opt.example("tracerank mcp"))
@opt.method_option()
@opt.method_options("equality", "form", "answers", "encoder")
def mcp(method: str, options: "MethodOptions") -> None:
    """Serve selection over the Model Context Protocol, on stdin and stdout.

    Tools: select_rollout and explain_selection.
    """
    from tracerank.methods import load_method

    with needed("the MCP server needs", "serve", UsageError):
        from tracerank.serving.mcp import run
    run(load_method(method, options))
