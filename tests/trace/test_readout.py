"""What a candidate reads of its own rollout: attention, its controls, and the empty context."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.builders import browsed, inputs_of, opened, pool, pool_of, random_pools, ranked, rollout, score, small_net
from tests.slow_twin import attended, slow_graph, slow_scores
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.graphs.schema import BROWSING_RECIPE, CONTROLS, WEBQA_RECIPE
from tracerank.trace.inputs import Bucket
from tracerank.trace.net import AttentionReadout, TraceNet

Readout = Literal["answer", "fixed", "graph", "two_stage"]
READOUTS: tuple[Readout, ...] = ("answer", "fixed", "graph", "two_stage")
HIDDEN = 16


def bucket(candidates: list[int], rows: list[list[int]], lengths: list[int] | None = None) -> Bucket:
    padding = None
    if lengths is not None:
        padding = torch.arange(len(rows[0])).expand(len(rows), -1) >= torch.tensor(lengths).unsqueeze(1)
    return Bucket(torch.tensor(candidates), torch.tensor(rows), padding)


def states(answers: int = 3, searches: int = 4, evidence: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(answers, HIDDEN), torch.randn(searches, HIDDEN), torch.randn(evidence, HIDDEN)


def by_loop(net: TraceNet, answers: Tensor, searches: Tensor, evidence: Tensor, contexts: list[list[int]]) -> Tensor:
    assert net.attention is not None
    kinds = net.attention.type_embedding
    rows = [state + kinds[0] for state in searches] + [state + kinds[1] for state in evidence]
    return torch.stack(
        [
            attended(net, answer, [rows[row] for row in context])
            for answer, context in zip(answers, contexts, strict=True)
        ]
    )


def block(readout: Readout = "answer") -> tuple[TraceNet, AttentionReadout]:
    net = small_net(WEBQA_RECIPE, readout=readout)
    assert net.attention is not None
    return net, net.attention


@pytest.mark.parametrize("readout", ["answer", "fixed"])
def test_attention_is_a_softmax_over_the_own_context_candidate_by_candidate(readout: Readout) -> None:
    net, attention = block(readout)
    inputs = [tensor.requires_grad_() for tensor in states()]
    contexts = (bucket([2], [[0, 5, 9]]), bucket([0, 1], [[1, 4, 7, 8], [3, 0, 0, 0]], [4, 1]))
    got = attention(*inputs, contexts)
    wanted = by_loop(net, *inputs, [[1, 4, 7, 8], [3], [0, 5, 9]])
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)
    mixture = torch.randn_like(got)
    weights = [*inputs, *attention.parameters()]
    for ours, theirs in zip(
        *(torch.autograd.grad((read * mixture).sum(), weights, retain_graph=True) for read in (got, wanted)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_padding_is_not_read_whatever_stands_there() -> None:
    _, attention = block()
    answers, searches, evidence = states()
    plain = attention(answers[:1], searches, evidence, (bucket([0], [[3, 6]]),))
    padded = attention(answers[:1], searches, evidence, (bucket([0], [[3, 6, 0, 0]], [2]),))
    torch.testing.assert_close(padded, plain, atol=1e-6, rtol=0)
    loud = searches.clone()
    loud[0] = 1e6
    torch.testing.assert_close(attention(answers[:1], loud, evidence, (bucket([0], [[3, 6, 0, 0]], [2]),)), padded)


def test_nothing_to_read_adds_nothing_but_the_block_still_applies() -> None:
    net, attention = block()
    answers, searches, evidence = states()
    got = attention(answers, searches, evidence, ())
    normed = attention.attention_norm(answers)
    fed = attention.contract(functional.gelu(attention.expand(normed)))
    torch.testing.assert_close(got, attention.output_norm(normed + fed), atol=1e-6, rtol=0)
    torch.testing.assert_close(got, by_loop(net, answers, searches, evidence, [[], [], []]), atol=1e-6, rtol=0)


def test_no_states_at_all_are_read_as_nothing() -> None:
    _, attention = block()
    answers, searches, evidence = states(searches=0, evidence=0)
    assert torch.isfinite(attention(answers, searches, evidence, ())).all()


def test_the_order_of_a_context_does_not_matter() -> None:
    _, attention = block()
    inputs = states(answers=1)
    one, other = (attention(*inputs, (bucket([0], [rows]),)) for rows in ([0, 3, 5, 8], [8, 0, 5, 3]))
    torch.testing.assert_close(one, other, atol=1e-5, rtol=0)


def test_a_row_that_occurs_twice_is_read_twice() -> None:
    net, attention = block()
    inputs = states(answers=1)
    torch.testing.assert_close(
        attention(*inputs, (bucket([0], [[2, 7, 7]]),)), by_loop(net, *inputs, [[2, 7, 7]]), atol=1e-5, rtol=0
    )


def test_searches_and_evidence_carry_different_type_embeddings() -> None:
    _, attention = block()
    answers, searches, _ = states(answers=1)
    as_search = attention(answers, searches, searches, (bucket([0], [[1]]),))
    as_evidence = attention(answers, searches, searches, (bucket([0], [[5]]),))
    assert (as_search - as_evidence).abs().max() > 1e-3
    with torch.no_grad():
        attention.type_embedding[1] = attention.type_embedding[0]
    torch.testing.assert_close(attention(answers, searches, searches, (bucket([0], [[5]]),)), as_search)


def test_very_large_states_stay_finite() -> None:
    _, attention = block()
    answers, searches, evidence = states()
    contexts = (bucket([0, 1, 2], [[0, 1, 4, 5]] * 3, [4, 2, 1]),)
    assert torch.isfinite(attention(answers * 1e4, searches * 1e4, evidence * 1e4, contexts)).all()


def test_an_answer_asks_with_itself() -> None:
    _, attention = block()
    answers, searches, evidence = states(answers=2)
    shares = attention._attend(answers, searches, evidence, (bucket([0, 1], [[0, 1, 5, 8]] * 2),))
    assert (shares[0] - shares[1]).abs().max() > 1e-3


def test_a_fixed_query_reads_the_same_for_every_answer() -> None:
    _, attention = block("fixed")
    answers, searches, evidence = states(answers=2)
    assert attention.fixed_query is not None
    asks = attention.fixed_query.expand_as(answers)
    read = attention._attend(asks, searches, evidence, (bucket([0, 1], [[0, 1, 5, 8]] * 2),))
    torch.testing.assert_close(read[0], read[1])
    # The answer still enters through the residual.
    got = attention(answers, searches, evidence, (bucket([0, 1], [[0, 1, 5, 8]] * 2),))
    assert (got[0] - got[1]).abs().max() > 1e-3


def test_a_fixed_query_adds_one_learned_vector_and_nothing_else() -> None:
    fixed, answer = (dict(small_net(WEBQA_RECIPE, readout=r).named_parameters()) for r in ("fixed", "answer"))
    assert set(fixed) - set(answer) == {"attention.fixed_query"}
    assert fixed["attention.fixed_query"].shape == (HIDDEN,)
    assert set(answer) <= set(fixed)


@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
@pytest.mark.parametrize("readout", READOUTS)
def test_every_readout_scores_as_its_loop_does(readout: Readout, setting: str) -> None:
    recipe = WEBQA_RECIPE if setting == WEBQA else BROWSING_RECIPE
    net = small_net(recipe, readout=readout, layers=1)
    pools = random_pools(setting, 8, seed=2)
    with torch.no_grad():
        wanted = slow_scores(net, slow_graph(pools, recipe))
    torch.testing.assert_close(torch.cat(score(net, pools)), wanted, atol=5e-5, rtol=0)


@pytest.mark.parametrize("readout", READOUTS)
def test_merged_answers_read_all_their_rollouts_in_every_readout(readout: Readout) -> None:
    recipe = CONTROLS[BROWSING]["merge both"]
    net = small_net(recipe, readout=readout, layers=1)
    pools = random_pools(BROWSING, 8, seed=3)
    with torch.no_grad():
        wanted = slow_scores(net, slow_graph(pools, recipe))
    torch.testing.assert_close(torch.cat(score(net, pools)), wanted, atol=5e-5, rtol=0)


def test_graph_readout_hears_searches_and_evidence_as_two_means() -> None:
    net = small_net(WEBQA_RECIPE, readout="graph", layers=0)
    tensors, vectors = inputs_of([pool_of(rollout("x", ranked("a", "c", "d"), ranked("b", "e")))], WEBQA_RECIPE)
    assert net.attention is None
    assert net.graph_readout is not None
    with torch.no_grad():
        _, answers, start = net.encode(tensors, vectors)
        readout = net.graph_readout
        heard = readout.from_searches(start.searches.mean(0)) + readout.from_evidence(start.evidence.mean(0))
        wanted = readout.norm(answers + functional.gelu(heard))
        torch.testing.assert_close(net.read(answers, start, tensors), wanted, atol=1e-5, rtol=0)


def test_graph_readout_of_an_empty_context_keeps_its_biases() -> None:
    net = small_net(BROWSING_RECIPE, readout="graph")
    tensors, vectors = inputs_of([pool_of(rollout("x"), rollout("y", browsed("a", opened("p"))))], BROWSING_RECIPE)
    assert net.graph_readout is not None
    with torch.no_grad():
        _, answers, start = net.encode(tensors, vectors)
        readout = net.graph_readout
        biases = readout.from_searches.bias + readout.from_evidence.bias
        wanted = readout.norm(answers[:1] + functional.gelu(biases))
        torch.testing.assert_close(net.read(answers, start, tensors)[:1], wanted, atol=1e-5, rtol=0)


def test_two_stage_readout_is_the_graph_readout_plus_a_residual() -> None:
    net = small_net(WEBQA_RECIPE, readout="two_stage")
    graph = TraceNet(replace(net.config, readout="graph"), WEBQA_RECIPE).eval()
    graph.load_state_dict({name: t for name, t in net.state_dict().items() if not name.startswith("attention.")})
    pools = [pool("Paris", "Rome"), pool("Oslo")]
    assert (torch.cat(score(net, pools)) - torch.cat(score(graph, pools))).abs().max() > 1e-3
    assert net.attention is not None
    with torch.no_grad():
        net.attention.output_norm.weight.zero_()
        net.attention.output_norm.bias.zero_()
    torch.testing.assert_close(torch.cat(score(net, pools)), torch.cat(score(graph, pools)), atol=1e-5, rtol=0)


def test_two_stage_training_can_freeze_all_but_the_attention() -> None:
    net = small_net(WEBQA_RECIPE, readout="two_stage")
    for name, parameter in net.named_parameters():
        parameter.requires_grad_(name.startswith("attention."))
    tensors, vectors = inputs_of([pool("Paris", "Rome")], WEBQA_RECIPE)
    net(tensors, vectors).sum().backward()
    assert {name.partition(".")[0] for name, p in net.named_parameters() if p.grad is not None} == {"attention"}
