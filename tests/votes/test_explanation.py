"""Reasons cost no second embedding, and a gate passes them on."""

import pytest

from tests.builders import pool
from tests.viewer.pages import selector
from tracerank.embedding.base import Embedder, Vectors
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.selectors.gate.selector import BY_VOTE, Chance, Gate, GatedSelector
from tracerank.trace.bridge import BLOCK_POOLS
from tracerank.trace.selector import TraceSelector
from tracerank.votes.base import Decision
from tracerank.votes.explanation import explain_stream
from tracerank.votes.voting import MajorityVote


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
    found = list(explain_stream(TraceSelector(chooser.checkpoint, counting), pools))
    assert counting.calls == 2
    assert found == list(explain_stream(chooser, pools))


@pytest.mark.parametrize("threshold", [None, 0.0])
def test_behind_a_gate_reasons_are_given_where_the_selector_has_its_way(threshold: float | None) -> None:
    by_score, even = Chance((4.0, 0.0, 0.0, 0.0)), Chance((0.0, 0.0, 0.0, 0.0))
    gated = GatedSelector(MajorityVote(), load_selector(), Gate(threshold, BY_VOTE, by_score, even))
    pools = list(iter_world(PAPER["webqa"], 30, 3, 4))
    found = [explanation for _, explanation in explain_stream(gated, pools)]
    assert [each.decision for each in found] == gated.decide_many(pools)
    own = load_selector().decide_many(pools)
    kept = [
        each
        for each, choice in zip(found, own, strict=True)
        # A tie is none of the selector's business: the vote's first stays.
        if choice.sample_id not in each.decision.group
        and choice.scores[choice.sample_id or 0] > choice.scores.get(each.decision.sample_id or 0, 0.0)
    ]
    assert all(each.reasons == () for each in kept)
    assert bool(kept) is (threshold is None)
    assert any(each.reasons for each in found)
    assert all(each.has_weights for each in found)


def test_a_users_own_method_is_explained_whatever_its_name_is() -> None:
    class Own:
        name = "trace"

        def decide(self, pool: Pool) -> Decision:
            first = pool.rollouts[0]
            return Decision(pool.question.id, first.answer, first.sample_id)

    [(_, explanation)] = explain_stream(Own(), [pool("Paris", "Rome")])
    assert explanation.decision.answer == "Paris"
    assert explanation.reasons == ()
