"""Why a decision fell: attention against a loop over candidates, heads and states, and who else saw what."""

import math
from collections import defaultdict

import pytest
import torch

from tests.builders import (
    EVERY_RECIPE,
    graphs_of,
    pool,
    pool_of,
    random_pools,
    ranked,
    rollout,
    setting_of,
    small_net,
    table_of,
)
from tests.slow_twin import SlowCandidate, SlowStates, encoded, initial_states, propagated, slow_graph
from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import BROWSING_RECIPE, WEBQA_RECIPE, GraphRecipe
from tracerank.trace.selector import TraceSelector, read_weights
from tracerank.votes.explanation import explain_stream


def selector(recipe: GraphRecipe = WEBQA_RECIPE) -> TraceSelector:
    net = small_net(recipe)
    return TraceSelector(Checkpoint(net, EncoderIdentity("hash-32", 32)), HashEmbedder(32))


def shares_by_loop(net: TraceNet, candidate: SlowCandidate, states: SlowStates) -> tuple[list[float], list[float]]:
    """Weights on searches and on evidence: one head, then one state after the other."""
    readout = net.attention
    assert readout is not None
    votes = torch.tensor([math.log(1 + candidate.votes), candidate.votes / candidate.retained])
    asks = encoded(net, "answer", candidate.answer) + net.votes.weight @ votes
    if readout.fixed_query is not None:
        asks = readout.fixed_query
    context = [states.searches[node] + readout.type_embedding[0] for node in candidate.searches]
    context += [states.evidence[node] + readout.type_embedding[1] for node in candidate.evidence]
    totals = [0.0] * len(context)
    for head in range(readout.heads):
        rows = slice(head * readout.head_width, (head + 1) * readout.head_width)
        query = readout.query.weight[rows] @ asks
        logits = [float(query @ (readout.key.weight[rows] @ state)) / math.sqrt(len(query)) for state in context]
        whole = sum(map(math.exp, logits))
        for place, logit in enumerate(logits):
            totals[place] += math.exp(logit) / whole / readout.heads
    return totals[: len(candidate.searches)], totals[len(candidate.searches) :]


def by_text(pairs: list[tuple[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for text, weight in pairs:
        sums[text] += weight
    return dict(sums)


@pytest.mark.parametrize("readout", ["answer", "fixed"])
@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_weights_equal_a_loop_over_heads_and_states(name: str, readout: str) -> None:
    recipe = EVERY_RECIPE[name]
    net = small_net(recipe, readout=readout)
    pools = random_pools(setting_of(name), count=6, seed=3)
    graphs = graphs_of(pools, recipe)
    rows, table = table_of(graphs)
    found = [read_weights(net, graph, graph.located(rows), table) for graph in graphs]
    slow = slow_graph(pools, recipe)
    with torch.no_grad():
        states = propagated(net, slow, initial_states(net, slow))
        wanted = iter([shares_by_loop(net, candidate, states) for candidate in slow.candidates])
    candidates = iter(slow.candidates)
    compared = 0
    for graph, weights in zip(graphs, found, strict=True):
        assert weights is not None
        members: dict[int, list[int]] = defaultdict(list)
        for place, candidate in enumerate(graph.columns["rollout_candidate"].tolist()):
            members[candidate].append(place)
        for places in members.values():
            rollouts = [graph.retained.kept[place] for place in places]
            read = [weights[each.sample_id] for each in rollouts]
            searches, evidence = next(wanted)
            nodes = [slow.evidence[node] for node in next(candidates).evidence]
            assert [w for one in read for w in one.searches if w is not None] == pytest.approx(searches, abs=1e-5)
            flat = [w for one in read for part in one.evidence for w in part]
            texts = [seen.text for each in rollouts for search in each.searches for seen in search.evidence]
            if not recipe.merge_evidence:
                assert flat == pytest.approx(evidence, abs=1e-5)
            pairs = by_text(list(zip(texts, flat, strict=True)))
            assert pairs == pytest.approx(by_text(list(zip(nodes, evidence, strict=True))), abs=1e-5)
            compared += len(flat)
    assert compared > 20


@pytest.mark.parametrize("recipe", [WEBQA_RECIPE, BROWSING_RECIPE])
def test_what_an_answer_reads_of_its_rollout_sums_to_one(recipe: GraphRecipe) -> None:
    for _, explanation in explain_stream(selector(recipe), iter_world(PAPER["webqa"], 3, seed=2)):
        assert explanation.has_weights
        for each in explanation.rollouts:
            read = [w for w in each.search_weights if w is not None] + [seen.weight or 0 for seen in each.evidence]
            assert sum(read) == pytest.approx(float(bool(each.rollout.searches)), abs=1e-5)


def test_decisions_are_the_selectors_own_and_empty_pools_are_explained_by_nothing() -> None:
    chooser = selector()
    pools = [pool(), *iter_world(PAPER["webqa"], 2, seed=4), pool(None)]
    explained = list(explain_stream(chooser, pools))
    assert [each.question.id for each, _ in explained] == [each.question.id for each in pools]
    assert [e.decision for _, e in explained] == chooser.decide_many(pools)
    assert explained[0][1].rollouts == ()
    assert explained[0][1].selected is None


def test_a_net_without_attention_has_no_weights() -> None:
    net = small_net(WEBQA_RECIPE, readout="graph")
    [graph] = graphs_of([pool("a", "b")], WEBQA_RECIPE)
    rows, table = table_of([graph])
    assert read_weights(net, graph, graph.located(rows), table) is None


def test_a_search_that_the_recipe_leaves_out_has_no_weight() -> None:
    bare = pool_of(rollout("a", ranked("nothing came back"), ranked("something did", "x", "y")))
    [(_, explanation)] = explain_stream(selector(), [bare])
    first, second = explanation.rollouts[0].search_weights
    assert first is None
    assert second is not None
    assert [seen.search for seen in explanation.rollouts[0].evidence] == [1, 1]
