"""``tracerank serve`` and ``tracerank mcp``: the selector as an HTTP service, and as tools for other agents."""

import gc
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

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
from tracerank.cli.reading import Failures, Problems, pools_of
from tracerank.cli.terminal import installed_version, note, working
from tracerank.cli.view import called_by, write_page
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.readers.detect import AUTO
from tracerank.selectors.table import EqualityName, MethodOptions, method_named
from tracerank.serving.limits import BEST_OF, DEFAULT_LIMITS, MEGABYTE, UPSTREAM_SECONDS, ServiceLimits, limits_told
from tracerank.votes.base import Method

if TYPE_CHECKING:
    from tracerank.serving.deciding import MethodProcess
    from tracerank.serving.upstream import Upstream

TOKEN_VARIABLE = "TRACERANK_SERVICE_TOKEN"
COLLECT_AFTER = 20_000
_TOLD = limits_told()

MethodChoice = Annotated[str, typer.Option("--method", metavar="NAME", help="What decides, as in select.")]
Host = Annotated[str, typer.Option("--host", metavar="NAME", help="Address to listen on; loopback unless you say so.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Port to listen on.")]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        min=0,
        help="Processes that decide, each with the method in its memory; 0 decides in this one.",
    ),
]
Waiting = Annotated[int, typer.Option("--queue", metavar="N", min=1, help=_TOLD["waiting"])]
Seconds = Annotated[float, typer.Option("--timeout", metavar="S", min=0.001, help=_TOLD["seconds"])]
Megabytes = Annotated[int, typer.Option("--max-body", metavar="MB", min=1, help=_TOLD["body_bytes"])]
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
        max=ServiceLimits.samples,
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
Viewed = Annotated[
    list[Path] | None,
    typer.Option("--view", metavar="FILE", help="Show these files at /view; may be repeated.", show_default=False),
]


def serve(
    checkpoint: Checkpoint = None,
    method: MethodChoice = "selector",
    equality: Equality = EqualityName.EXACT,
    form: Form = None,
    host: Host = "127.0.0.1",
    port: Port = 8100,
    allow_host: AllowedHosts = None,
    workers: Workers = 0,
    queue: Waiting = DEFAULT_LIMITS.waiting,
    timeout: Seconds = DEFAULT_LIMITS.seconds,
    max_body: Megabytes = DEFAULT_LIMITS.body_bytes // MEGABYTE,
    view: Viewed = None,
    upstream: UpstreamServer = None,
    best_of: BestOf = BEST_OF,
    stop: Stop = None,
    upstream_timeout: UpstreamSeconds = UPSTREAM_SECONDS,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    quiet: Quiet = False,
) -> None:
    """Answer POST /v1/select, /v1/rerank, /v1/explain and /v1/view until interrupted; what was accepted is finished.

    Requests of many clients are decided together. A bearer token is wanted when TRACERANK_SERVICE_TOKEN is set. /docs
    describes every endpoint, /metrics is for Prometheus. With --upstream it stands in the place of a chat server, too.
    """
    with needed("serving needs", "serve", UsageError):
        from tracerank.serving.guards import is_loopback, known_hosts
        from tracerank.serving.listening import listen
        from tracerank.serving.select_service import select_app
    token = os.environ.get(TOKEN_VARIABLE, "").strip() or None
    if not is_loopback(host) and token is None:
        note(f"warning: everybody who reaches {host} may use this service; set {TOKEN_VARIABLE} to ask for a token")
    hosts = known_hosts(host, host_names(allow_host or ()))
    options = MethodOptions(checkpoint, encoder, allow_encoder_mismatch, equality, form=form)
    limits = ServiceLimits(body_bytes=max_body * MEGABYTE, waiting=queue, seconds=timeout)
    server = _upstream(upstream)
    chosen = method_named(method, options) if view or server or not workers else None
    with ExitStack() as stack:
        page = None
        if view and chosen is not None:
            page = Path(stack.enter_context(TemporaryDirectory(prefix="tracerank-"))) / "view.html"
            _write_view(page, view, chosen, options, called_by(method, options), quiet)
        decided_by = chosen if chosen is not None and not workers else _processes(workers, method, options, limits)
        chat = None
        if server is not None and chosen is not None:
            from tracerank.serving.chat_endpoint import ChatEndpoint, Sampled

            sampled = Sampled(best_of, stop)
            chat = ChatEndpoint(server, chosen, sampled, limits, token is not None, upstream_timeout)
        app = select_app(decided_by, installed_version(), limits, token, page, hosts, chat)
        if not quiet:
            note(f"{method} at http://{host}:{port}/v1/select, described at /docs; Ctrl-C ends it")
            if server is not None:
                note(f"the best of {best_of} completions of {server.config.root} at http://{host}:{port}/v1")
        _spare_collections()
        listen(app, host, port, limits)


def mcp(
    checkpoint: Checkpoint = None,
    method: MethodChoice = "selector",
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
) -> None:
    """Speak the Model Context Protocol over stdin and stdout: tools select_rollout and explain_selection."""
    with needed("the MCP server needs", "serve", UsageError):
        from tracerank.serving.mcp_server import mcp_server
    chosen = method_named(method, MethodOptions(checkpoint, encoder, allow_encoder_mismatch))
    mcp_server(chosen, installed_version()).run()


def _upstream(address: str | None) -> "Upstream | None":
    if address is None:
        return None
    from tracerank.serving.upstream import Upstream

    return Upstream(address)


def _processes(count: int, method: str, options: MethodOptions, limits: ServiceLimits) -> "list[MethodProcess]":
    """All of them started, then all of them ready."""
    from tracerank.serving.deciding import MethodProcess

    threads = None if count == 1 else max(1, (os.cpu_count() or 1) // count)
    make = partial(_method_of_worker, method, options)
    made = [MethodProcess(make, threads, limits.seconds) for _ in range(count)]
    for process in made:
        process.await_ready()
    return made


def _method_of_worker(method: str, options: MethodOptions) -> Method:
    made = method_named(method, options)
    _spare_collections()
    return made


def _write_view(
    page: Path, files: list[Path], method: Method, options: MethodOptions, called: str, quiet: bool
) -> None:
    with Problems(None) as report, working("explaining", quiet=quiet) as bar:
        pools = bar.over(pools_of(files, AUTO, report))
        write_page(page, pools, method, options, files, called, on_failure=Failures("questions", report))


def _spare_collections() -> None:
    """A request makes thousands of objects and no cycles: looking for some all the time costs a third of serving."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
