"""Prometheus metrics of the service."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_POOLS = (1, 2, 4, 8, 16, 32, 64)


class ServiceMetrics:
    """Metrics of one running service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self.requests = Counter("tracerank_requests", "Requests answered.", ("path", "status"), registry=own)
        self.seconds = Histogram(
            "tracerank_request_seconds", "Time to answer.", ("path",), buckets=_SECONDS, registry=own
        )
        self.batches = Histogram("tracerank_batch_pools", "Pools decided together.", buckets=_POOLS, registry=own)
        self.dropped = Counter("tracerank_rollouts_dropped", "Rollouts that were no candidate.", registry=own)
        self.samples = Counter("tracerank_samples", "Samples of chat completions.", ("outcome",), registry=own)
        self.waiting = Gauge("tracerank_waiting", "Requests that wait for their decision.", registry=own)


@dataclass(frozen=True, slots=True)
class Counted:
    """Middleware that counts and times every request."""

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
            # The route's own path: paths made up by clients would fill the memory.
            path = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - begun)
