"""Decisions with their reasons: by attention, by what holds the answers, else by what rollouts share."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tracerank.embedding.base import Embedder, Vectors
from tracerank.evaluation.evaluate import decide_stream
from tracerank.methods.base import Method
from tracerank.methods.explanation import Explanation, explain_pool
from tracerank.pools.pool import Pool
from tracerank.selectors.features.explain import explain_features
from tracerank.selectors.features.selector import FeatureSelector
from tracerank.selectors.gate.selector import GatedSelector


class _EmbeddedOnce:
    """An embedder that is asked for the same texts twice in a row, for the decision and for the weights."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.width = embedder.width
        self._last: tuple[list[str], Vectors] | None = None

    def embed(self, texts: list[str]) -> Vectors:
        if self._last is None or self._last[0] != texts:
            self._last = None  # not both blocks at once in memory
            self._last = texts, self._embedder.embed(texts)
        return self._last[1]


def explained(method: Method, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
    """Each pool with its decision explained, in order."""
    if method.name == "trace":
        from tracerank.selectors.trace.explain import explain_stream
        from tracerank.selectors.trace.selector import TraceSelector

        assert isinstance(method, TraceSelector)
        # Its encoder was checked when the method was made.
        once = TraceSelector(method.checkpoint, _EmbeddedOnce(method.embedder), allow_encoder_mismatch=True)
        return explain_stream(once, pools)
    if isinstance(method, GatedSelector):
        return _behind_gate(method, pools)
    if isinstance(method, FeatureSelector):
        return explain_features(method, pools)
    return ((pool, explain_pool(pool, decision)) for pool, decision in decide_stream(method, pools))


def _behind_gate(method: GatedSelector, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
    """What the selector says; its reasons only where the gate lets its choice through."""
    for pool, own in explained(method.selector, pools):
        decision = method.settle(pool, own.decision)
        is_own = own.decision.sample_id in decision.group
        yield pool, replace(own, decision=decision, reasons=own.reasons if is_own else ())
