"""``tracerank serve``: the selector as an HTTP service."""

import gc
import os
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AllowMismatch, Checkpoint, Equality, OtherEncoder, Quiet
from tracerank.cli.problems import Problems
from tracerank.cli.progress import working
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import note
from tracerank.cli.version import installed_version
from tracerank.cli.view import write_page
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.methods.base import Method
from tracerank.readers.detect import AUTO
from tracerank.selectors.table import EqualityName, MethodOptions, method_named

if TYPE_CHECKING:
    from tracerank.serving.settlers import MethodProcess

TOKEN_VARIABLE = "TRACERANK_SERVICE_TOKEN"
CLOSING_SECONDS = 30
COLLECT_AFTER = 20_000
PART = 8
"""Of a batch that leaves some to the other workers, the least: smaller ones cost more a pool."""

MethodChoice = Annotated[str, typer.Option("--method", metavar="NAME", help="What decides, as in select.")]
Host = Annotated[str, typer.Option("--host", metavar="NAME", help="Address to listen on; loopback unless you say so.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Port to listen on.")]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        min=0,
        help="Processes that settle, each with the method in its memory; 0 settles in this one.",
    ),
]
Waiting = Annotated[int, typer.Option("--queue", metavar="N", min=1, help="Requests that may wait; more get 429.")]
Seconds = Annotated[float, typer.Option("--timeout", metavar="S", min=0.001, help="Seconds until a request gets 504.")]
Megabytes = Annotated[int, typer.Option("--max-body", metavar="MB", min=1, help="Longest body; more gets 413.")]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="Answer requests for this host, too; may be repeated. On loopback others than localhost get 421; "
        "elsewhere all are answered unless you name some.",
        show_default=False,
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
    host: Host = "127.0.0.1",
    port: Port = 8100,
    allow_host: AllowedHosts = None,
    workers: Workers = 0,
    queue: Waiting = 256,
    timeout: Seconds = 60.0,
    max_body: Megabytes = 32,
    view: Viewed = None,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    quiet: Quiet = False,
) -> None:
    """Answer POST /v1/select, /v1/rerank, /v1/explain and /v1/view until interrupted; what was accepted is finished.

    Requests of many clients are settled together. A bearer token is wanted when TRACERANK_SERVICE_TOKEN is set. /docs
    describes every endpoint, /metrics is for Prometheus.
    """
    with needed("serving needs", "serve", UsageError):
        import uvicorn

        from tracerank.serving.guards import is_loopback, known_hosts
        from tracerank.serving.micro_batches import BatchLimits
        from tracerank.serving.select_service import ServiceLimits, select_app
    token = os.environ.get(TOKEN_VARIABLE, "").strip() or None
    if not is_loopback(host) and token is None:
        note(f"warning: everybody who reaches {host} may use this service; set {TOKEN_VARIABLE} to ask for a token")
    hosts = known_hosts(host, _host_names(allow_host or ()))
    options = MethodOptions(checkpoint, encoder, allow_encoder_mismatch, equality)
    limits = ServiceLimits(max_body * 2**20, timeout, BatchLimits(part=PART if workers else None, waiting=queue))
    chosen = method_named(method, options) if view or not workers else None
    with ExitStack() as stack:
        page = None
        if view and chosen is not None:
            page = Path(stack.enter_context(TemporaryDirectory(prefix="tracerank-"))) / "view.html"
            _write_view(page, view, chosen, options, quiet)
        settled_by = chosen if chosen is not None and not workers else _processes(workers, method, options)
        app = select_app(settled_by, installed_version(), limits, token, page, hosts)
        if not quiet:
            note(f"{method} at http://{host}:{port}/v1/select, described at /docs; Ctrl-C ends it")
        _spare_collections()
        uvicorn.run(
            app,
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )


def _processes(count: int, method: str, options: MethodOptions) -> "list[MethodProcess]":
    """All of them started, then all of them ready."""
    from tracerank.serving.settlers import MethodProcess

    threads = None if count == 1 else max(1, (os.cpu_count() or 1) // count)
    made = [MethodProcess(partial(_method_of_worker, method, options), threads) for _ in range(count)]
    for process in made:
        process.await_ready()
    return made


def _method_of_worker(method: str, options: MethodOptions) -> Method:
    made = method_named(method, options)
    _spare_collections()
    return made


def _host_names(given: Iterable[str]) -> list[str]:
    names = [name.strip() for name in given]
    for name in names:
        if not name or "/" in name:
            raise UsageError(f"--allow-host: {name!r} is no host; give the name alone, such as tracerank.example.org")
    return names


def _write_view(page: Path, files: list[Path], method: Method, options: MethodOptions, quiet: bool) -> None:
    with Problems(None) as report, working("explaining", quiet=quiet) as bar:
        write_page(page, bar.over(pools_of(files, AUTO, report)), method, options, files)


def _spare_collections() -> None:
    """A request makes thousands of objects and no cycles: looking for some all the time costs a third of serving."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
