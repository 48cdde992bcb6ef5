"""Decisions with their reasons: by the attention of a method that reads evidence, else by what rollouts share."""

from collections.abc import Iterable, Iterator

from tracerank.evaluation.evaluate import decide_stream
from tracerank.methods.base import Method
from tracerank.methods.explanation import Explanation, explain_pool
from tracerank.pools.pool import Pool


def explained(method: Method, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
    """Each pool with its decision explained, in order."""
    if method.name == "trace":
        from tracerank.methods.trace_explain import explain_stream
        from tracerank.methods.trace_selector import TraceSelector

        assert isinstance(method, TraceSelector)
        return explain_stream(method, pools)
    return ((pool, explain_pool(pool, decision)) for pool, decision in decide_stream(method, pools))
