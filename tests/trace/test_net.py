"""The whole network: what may change a score and what may not."""

from dataclasses import replace
from random import Random
from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.builders import (
    CHUNKS,
    SETTINGS,
    browsed,
    graphs_of,
    inputs_of,
    opened,
    pool,
    pool_of,
    pools_of,
    random_pool,
    random_pools,
    ranked,
    rollout,
    score,
    small_net,
)
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import CONTROLS, RECIPES, WEBQA_RECIPE

NETS = {setting: small_net(RECIPES[setting]) for setting in SETTINGS}

Readout = Literal["answer", "fixed", "graph", "two_stage"]


def close(got: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(got, wanted, atol=5e-5, rtol=0)


# Batching and order.


@pytest.mark.parametrize("setting", SETTINGS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_batching_does_not_change_scores(setting: str, data: st.DataObject) -> None:
    pools = data.draw(pools_of(setting))
    together = score(NETS[setting], pools)
    for got, each in zip(together, pools, strict=True):
        close(got, score(NETS[setting], [each])[0])


@pytest.mark.parametrize("setting", SETTINGS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_reordering_rollouts_permutes_scores(setting: str, data: st.DataObject) -> None:
    [before] = data.draw(pools_of(setting, at_most=1))
    order = data.draw(st.permutations(range(len(before))))
    after = pool_of(*(before.rollouts[place] for place in order), question=before.question.text)
    was, now = (by_sample(NETS[setting], each) for each in (before, after))
    assert set(was) == {order[sample] for sample in now}
    for sample, got in now.items():
        assert got == pytest.approx(was[order[sample]], abs=5e-5)


def by_sample(net: TraceNet, pool: Pool) -> dict[int, float]:
    kept = graphs_of([pool], net.recipe)[0].retained.kept
    return {r.sample_id: float(value) for r, value in zip(kept, score(net, [pool])[0], strict=True)}


def test_pools_without_candidates_have_no_scores_and_disturb_nobody() -> None:
    for setting in SETTINGS:
        nothing, some, _ = score(NETS[setting], [pool(), pool("Paris", "Rome"), pool(None, "")])
        assert len(nothing) == 0
        close(some, score(NETS[setting], [pool("Paris", "Rome")])[0])
        assert [len(each) for each in score(NETS[setting], [pool(), pool(None)])] == [0, 0]


def test_a_batch_without_candidates_can_be_trained_on() -> None:
    tensors, vectors = inputs_of([pool()], WEBQA_RECIPE)
    small_net(WEBQA_RECIPE).train()(tensors, vectors).sum().backward()


# What travels between rollouts.


@pytest.mark.parametrize(
    ("setting", "control"),
    [
        (WEBQA, "no cross-rollout"),
        (WEBQA, "no content links"),
        (BROWSING, "no cross-rollout"),
        (BROWSING, "no Doc or content links"),
    ],
)
def test_without_cross_rollout_links_editing_one_rollout_leaves_the_others_alone(setting: str, control: str) -> None:
    net = small_net(CONTROLS[setting][control])
    rng = Random(3)
    compared = 0
    for _ in range(25):
        before, donor = random_pool(setting, rng), random_pool(setting, rng)
        kept = graphs_of([before], net.recipe)[0].retained.kept
        donated = [r.searches for r in graphs_of([donor], net.recipe)[0].retained.kept]
        if len(kept) < 2 or not donated:
            continue
        before = pool_of(*kept)
        # The answer stays, so the votes stay; everything else of the last rollout is another's.
        after = pool_of(*kept[:-1], replace(kept[-1], searches=donated[0]))
        was, now = (score(net, [each])[0] for each in (before, after))
        close(now[:-1], was[:-1])
        compared += 1
    assert compared >= 8


def webqa_pair(second: str) -> Pool:
    return pool_of(rollout("x", ranked("a", *CHUNKS[:3])), rollout("y", ranked(second, *CHUNKS[2:5])))


def browsing_pair(second: str) -> Pool:
    return pool_of(
        rollout("x", browsed("a", opened("p", "url:1"))), rollout("y", browsed("b", opened(second, "url:1")))
    )


def test_with_links_a_rollout_hears_through_which_search_another_met_the_same_chunk() -> None:
    was, now = (score(NETS[WEBQA], [webqa_pair(query)])[0] for query in ("b", "another search"))
    assert abs(float(was[0] - now[0])) > 1e-3
    alone = small_net(CONTROLS[WEBQA]["no cross-rollout"])
    was, now = (score(alone, [webqa_pair(query)])[0] for query in ("b", "another search"))
    close(was[0], now[0])


def test_with_documents_a_rollout_hears_what_another_read_of_the_same_source() -> None:
    was, now = (score(NETS[BROWSING], [browsing_pair(text)])[0] for text in ("q", "another part"))
    assert abs(float(was[0] - now[0])) > 1e-3
    alone = small_net(CONTROLS[BROWSING]["no cross-rollout"])
    was, now = (score(alone, [browsing_pair(text)])[0] for text in ("q", "another part"))
    close(was[0], now[0])


def test_bypassing_the_graph_leaves_every_rollout_alone() -> None:
    net = small_net(WEBQA_RECIPE, layers=0)
    was, now = (score(net, [webqa_pair(query)])[0] for query in ("b", "another search"))
    close(was[0], now[0])
    assert abs(float(was[1] - now[1])) > 1e-3


def test_pools_do_not_hear_each_other_even_with_the_same_evidence() -> None:
    first, second = webqa_pair("b"), webqa_pair("another search")
    close(score(NETS[WEBQA], [first, second])[0], score(NETS[WEBQA], [first])[0])


def test_rollouts_that_did_and_said_the_same_score_the_same() -> None:
    twins = pool_of(*(rollout("x", ranked("a", "c", "d", "e")) for _ in range(3)), rollout("y", ranked("b", "c")))
    scores = score(NETS[WEBQA], [twins])[0]
    close(scores[1:3], scores[:1].expand(2))


# Vectors, scale, sizes.


@pytest.mark.parametrize("setting", SETTINGS)
def test_half_precision_vectors_score_nearly_the_same(setting: str) -> None:
    net, pools = NETS[setting], random_pools(setting, 12, seed=2)
    for with_gradients in (True, False):
        with torch.set_grad_enabled(with_gradients):
            single, half = (net(*inputs_of(pools, net.recipe, dtype)) for dtype in (torch.float32, torch.float16))
        assert half.dtype == torch.float32
        torch.testing.assert_close(half, single, atol=0.05, rtol=0)


def test_the_state_of_no_text_is_that_of_a_zero_vector() -> None:
    encoder = NETS[WEBQA].search_encoder
    torch.testing.assert_close(encoder.of_zero(), encoder(torch.zeros(1, 32), torch.tensor([0])), atol=1e-6, rtol=0)


@pytest.mark.parametrize("layers", [0, 1, 3])
@pytest.mark.parametrize("readout", ["answer", "fixed", "graph", "two_stage"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_variant_learns_with_every_parameter_it_has(setting: str, readout: Readout, layers: int) -> None:
    net = small_net(RECIPES[setting], readout=readout, layers=layers).train()
    tensors, vectors = inputs_of(random_pools(setting, 12, seed=5), net.recipe)
    scores = net(tensors, vectors)
    scores.square().sum().backward()
    assert torch.isfinite(scores).all()
    unused = {name for name, p in net.named_parameters() if p.grad is None or not p.grad.any()}
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in net.parameters())
    assert unused == set(_unused(setting, layers))


def _unused(setting: str, layers: int) -> list[str]:
    if setting == WEBQA:
        return []
    if layers == 0:
        return ["document"]
    last = f"layers.{layers - 1}"
    # The last document states speak to nobody; with one layer evidence hears the shared initial one.
    return [
        f"{last}.{name}"
        for name in ("weight.in_document", "bias.in_document", "document_norm.weight", "document_norm.bias")
    ]


def test_scoring_draws_no_random_numbers() -> None:
    state = torch.get_rng_state()
    score(NETS[WEBQA], [pool("Paris", "Rome")])
    assert torch.equal(torch.get_rng_state(), state)
