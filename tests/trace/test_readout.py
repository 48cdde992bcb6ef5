"""What a candidate reads of its own rollout: attention, its controls, and the empty context."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.builders import (
    WIDTH,
    browsed,
    inputs_of,
    opened,
    pool,
    pool_of,
    random_pools,
    ranked,
    rollout,
    score,
    small_net,
)
from tests.slow_twin import attended, slow_graph, slow_scores
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.batch import Context
from tracerank.trace.net import AttentionReadout, States, TraceNet
from tracerank.trace.recipe import BROWSING_RECIPE, CONTROLS, RECIPES, WEBQA_RECIPE, NetConfig

Readout = Literal["answer", "fixed", "graph", "two_stage"]
READOUTS: tuple[Readout, ...] = ("answer", "fixed", "graph", "two_stage")
HIDDEN = 16


def context(candidates: list[int], nodes: list[list[int]], lengths: list[int] | None = None) -> Context:
    ends = torch.tensor([len(nodes[0])] * len(nodes) if lengths is None else lengths).unsqueeze(1)
    return Context(torch.tensor(candidates), torch.tensor(nodes), torch.arange(len(nodes[0])) >= ends)


def states(answers: int = 3, searches: int = 4, evidence: int = 6) -> tuple[Tensor, States]:
    torch.manual_seed(1)
    made = {"search": torch.randn(searches, HIDDEN), "evidence": torch.randn(evidence, HIDDEN)}
    return torch.randn(answers, HIDDEN), made


def by_loop(net: TraceNet, answers: Tensor, given: States, contexts: list[list[int]]) -> Tensor:
    assert net.attention is not None
    kinds = net.attention.type_embedding
    rows = [state + kinds[0] for state in given["search"]] + [state + kinds[1] for state in given["evidence"]]
    pairs = zip(answers, contexts, strict=True)
    return torch.stack([attended(net, answer, [rows[row] for row in nodes]) for answer, nodes in pairs])


def block(readout: Readout = "answer") -> tuple[TraceNet, AttentionReadout]:
    net = small_net(WEBQA_RECIPE, readout=readout)
    assert net.attention is not None
    return net, net.attention


@pytest.mark.parametrize("readout", ["answer", "fixed"])
def test_attention_is_a_softmax_over_the_own_context_candidate_by_candidate(readout: Readout) -> None:
    net, attention = block(readout)
    answers, given = states()
    inputs = [tensor.requires_grad_() for tensor in (answers, *given.values())]
    contexts = (context([2], [[0, 5, 9]]), context([0, 1], [[1, 4, 7, 7], [3, 0, 0, 0]], [4, 1]))
    got = attention(answers, given, contexts)
    wanted = by_loop(net, answers, given, [[1, 4, 7, 7], [3], [0, 5, 9]])
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)
    mixture, weights = torch.randn_like(got), [*inputs, *attention.parameters()]
    ours, theirs = (torch.autograd.grad((read * mixture).sum(), weights, retain_graph=True) for read in (got, wanted))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_padding_is_not_read_whatever_stands_there() -> None:
    _, attention = block()
    answers, given = states(answers=1)
    plain = attention(answers, given, (context([0], [[3, 6]]),))
    given["search"][0] = 1e6
    torch.testing.assert_close(attention(answers, given, (context([0], [[3, 6, 0, 0]], [2]),)), plain)


@pytest.mark.parametrize("nodes", [4, 0])
def test_nothing_to_read_adds_nothing_but_the_block_still_applies(nodes: int) -> None:
    net, attention = block()
    answers, given = states(searches=nodes, evidence=nodes)
    got = attention(answers, given, ())
    torch.testing.assert_close(got, by_loop(net, answers, given, [[], [], []]), atol=1e-6, rtol=0)


def test_searches_and_evidence_carry_different_type_embeddings() -> None:
    _, attention = block()
    answers, given = states(answers=1)
    given["evidence"] = given["search"]
    as_search, as_evidence = (attention(answers, given, (context([0], [[node]]),)) for node in (1, 5))
    assert (as_search - as_evidence).abs().max() > 1e-3


def test_very_large_states_stay_finite() -> None:
    _, attention = block()
    answers, given = states()
    loud = {kind: state * 1e4 for kind, state in given.items()}
    contexts = (context([0, 1, 2], [[0, 1, 4, 5]] * 3, [4, 2, 1]),)
    assert torch.isfinite(attention(answers * 1e4, loud, contexts)).all()


def test_an_answer_asks_with_itself_and_a_fixed_query_does_not() -> None:
    contexts = (context([0, 1], [[0, 1, 5, 8]] * 2),)
    for readout, is_own in (("answer", True), ("fixed", False)):
        _, attention = block(readout)  # type: ignore[arg-type]
        answers, given = states(answers=2)
        [(_, _, found)] = attention.weights(answers, given, contexts)
        assert bool((found[0] - found[1]).abs().max() > 1e-3) == is_own
        # The answer still enters through the residual.
        read = attention(answers, given, contexts)
        assert (read[0] - read[1]).abs().max() > 1e-3


@pytest.mark.parametrize("control", [None, "merge both"])
@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
@pytest.mark.parametrize("readout", READOUTS)
def test_every_readout_scores_as_its_loop_does(readout: Readout, setting: str, control: str | None) -> None:
    recipe = RECIPES[setting] if control is None else CONTROLS[setting][control]
    net, pools = small_net(recipe, readout=readout, layers=1), random_pools(setting, 8, seed=2)
    with torch.no_grad():
        wanted = slow_scores(net, slow_graph(pools, recipe))
    torch.testing.assert_close(torch.cat(score(net, pools)), wanted, atol=5e-5, rtol=0)


def test_graph_readout_hears_searches_and_evidence_as_two_means_and_keeps_its_biases() -> None:
    net = small_net(BROWSING_RECIPE, readout="graph", layers=0)
    made = [pool_of(rollout("x"), rollout("y", browsed("a", opened("p"), opened("q")), browsed("b", opened("r"))))]
    tensors, vectors = inputs_of(made, BROWSING_RECIPE)
    assert net.attention is None
    assert net.graph_readout is not None
    with torch.no_grad():
        answers, start = net.encode(tensors, vectors)
        readout, nothing = net.graph_readout, torch.zeros(HIDDEN)
        for row, (searches, evidence) in enumerate(
            ((nothing, nothing), (start["search"].mean(0), start["evidence"].mean(0)))
        ):
            heard = readout.from_searches(searches) + readout.from_evidence(evidence)
            wanted = readout.norm(answers[row] + functional.gelu(heard))
            torch.testing.assert_close(net.read(answers, start, tensors)[row], wanted, atol=1e-5, rtol=0)


def test_two_stage_readout_is_the_graph_readout_plus_a_residual() -> None:
    net = small_net(WEBQA_RECIPE, readout="two_stage")
    graph = TraceNet(replace(net.config, readout="graph"), WEBQA_RECIPE).eval()
    graph.load_state_dict({name: t for name, t in net.state_dict().items() if not name.startswith("attention.")})
    pools = [pool("Paris", "Rome"), pool_of(rollout("Oslo", ranked("a", "c")))]
    assert (torch.cat(score(net, pools)) - torch.cat(score(graph, pools))).abs().max() > 1e-3
    assert net.attention is not None
    with torch.no_grad():
        net.attention.output_norm.weight.zero_()
        net.attention.output_norm.bias.zero_()
    torch.testing.assert_close(torch.cat(score(net, pools)), torch.cat(score(graph, pools)), atol=1e-5, rtol=0)


def test_only_the_two_stage_attention_starts_as_nothing() -> None:
    for readout in READOUTS:
        attention = TraceNet(NetConfig(WIDTH, readout=readout), WEBQA_RECIPE).attention
        if attention is not None:
            assert bool(attention.output_norm.weight.any()) == (readout != "two_stage")
