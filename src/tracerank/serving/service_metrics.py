"""What the service counts, in the form that Prometheus reads."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_POOLS = (1, 2, 4, 8, 16, 32, 64, 128)


class ServiceMetrics:
    """Counters of one running service."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("tracerank_requests", "Requests answered.", ("path", "status"), registry=self.registry)
        self.seconds = Histogram(
            "tracerank_request_seconds", "Time to answer.", ("path",), buckets=_SECONDS, registry=self.registry
        )
        self.batches = Histogram(
            "tracerank_batch_pools", "Pools decided together.", buckets=_POOLS, registry=self.registry
        )
        self.dropped = Counter("tracerank_rollouts_dropped", "Rollouts that were no candidate.", registry=self.registry)
        self.samples = Counter(
            "tracerank_samples", "Samples of chat completions.", ("outcome",), registry=self.registry
        )
        Gauge("tracerank_waiting", "Pools that wait for their turn.", registry=self.registry).set_function(waiting)

    def page(self) -> bytes:
        """All figures as text."""
        return generate_latest(self.registry)


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts and times every request."""

    app: "ASGIApp"
    metrics: ServiceMetrics

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def noted(message: "Message") -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            # The path as we declared it, never the client's own words: they would fill the memory.
            path = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - begun)
