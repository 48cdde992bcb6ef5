"""OpenTelemetry spans of decisions, in programs that use ``opentelemetry``; in any other program nothing happens."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision

NAME = "tracerank.decide"


@contextmanager
def decision_span(method: str) -> Iterator[Callable[[Pool, Decision], object]]:
    """A span around deciding; what it yields is called with the decision. Texts are left out: they may be private."""
    api = sys.modules.get("opentelemetry.trace")  # a program that exports spans has imported it
    if api is None:
        yield lambda pool, decision: None
        return
    with api.get_tracer("tracerank").start_as_current_span(NAME) as span:

        def record(pool: Pool, decision: Decision) -> None:
            known = {
                "method": method,
                "rollouts": len(pool),
                "dropped": len(decision.dropped),
                "agree": len(decision.group),
                "sample_id": decision.sample_id,
                "confidence": decision.confidence,
                "rank_score": decision.rank_score,
            }
            span.set_attributes({f"tracerank.{name}": value for name, value in known.items() if value is not None})

        yield record
