"""Reasons cost no second embedding."""

from tests.serving.viewer.pages import selector
from tracerank.embedding.base import Embedder, Vectors
from tracerank.methods.trace_explain import explain_stream
from tracerank.methods.trace_selector import BLOCK_POOLS, TraceSelector
from tracerank.rollouts.worlds.generate import iter_world
from tracerank.rollouts.worlds.presets import PAPER
from tracerank.serving.explaining import explained


class Counting:
    """Counts how often it is asked."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.name = embedder.name
        self.width = embedder.width
        self.calls = 0

    def embed(self, texts: list[str]) -> Vectors:
        self.calls += 1
        return self.embedder.embed(texts)


def test_texts_are_embedded_once_a_block_and_the_reasons_stay_the_same() -> None:
    chooser = selector("webqa")
    counting = Counting(chooser.embedder)
    pools = list(iter_world(PAPER["webqa"], BLOCK_POOLS + 2, 3, 4))
    found = list(explained(TraceSelector(chooser.checkpoint, counting), pools))
    assert counting.calls == 2
    assert found == list(explain_stream(chooser, pools))
