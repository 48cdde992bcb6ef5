"""One test for each fact that the paper states about graph, network and loss (Sec. 3, App. A)."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.builders import (
    WIDTH,
    batch_of,
    browsed,
    found,
    graphs_of,
    inputs_of,
    opened,
    pool,
    pool_of,
    ranked,
    rollout,
    score,
    small_net,
    vector,
)
from tests.edges import Edges, listed_edges
from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.losses import term_counts
from tracerank.trace.net import RelationLayer, TraceNet
from tracerank.trace.recipe import (
    BROWSING_RECIPE,
    CONTROLS,
    RECIPES,
    SETTINGS,
    WEBQA_RECIPE,
    GraphRecipe,
    NetConfig,
    relations,
)
from tracerank.trace.selector import TraceSelector

BOTH = pytest.mark.parametrize("recipe", [WEBQA_RECIPE, BROWSING_RECIPE], ids=[WEBQA, BROWSING])


def selector(recipe: GraphRecipe = WEBQA_RECIPE) -> TraceSelector:
    embedder = HashEmbedder(WIDTH)
    return TraceSelector(Checkpoint(small_net(recipe), EncoderIdentity(embedder.name, WIDTH)), embedder)


def columns_of(pool: Pool, recipe: GraphRecipe) -> dict[str, np.ndarray]:
    [graph] = graphs_of([pool], recipe)
    return dict(graph.columns)


def edge_count(pool: Pool, recipe: GraphRecipe, relation: str) -> int:
    return len(edges_of(pool, recipe)[relation])


def edges_of(pool: Pool, recipe: GraphRecipe) -> dict[str, Edges]:
    """Directed edges by the name of the relation."""
    listed = listed_edges(batch_of([pool], recipe), recipe)
    return {relation.name: edges for relation, edges in listed.items()}


def first_layer(net: TraceNet) -> RelationLayer:
    layer = net.layers[0]
    assert isinstance(layer, RelationLayer)
    return layer


# Pools: Sec. 3.1, App. A.1.


def test_first_k_takes_the_lowest_ids_and_does_not_replace_invalid_samples() -> None:
    samples = pool("Paris", None, "Rome", "", "Oslo", "Bern")
    shuffled = Pool(samples.question, samples.rollouts[::-1])
    assert [r.sample_id for r in shuffled.first(4).rollouts] == [0, 1, 2, 3]
    assert [r.sample_id for r in shuffled.first(4).retained().kept] == [0, 2]


def test_webqa_retains_answers_with_evidence_and_browsing_every_answer() -> None:
    samples = pool_of(
        rollout("x", ranked("a", "c")), rollout("y", ranked("b")), rollout("z"), rollout(None, ranked("a", "c"))
    )
    assert [r.answer for r in graphs_of([samples], WEBQA_RECIPE)[0].retained.kept] == ["x"]
    assert [r.answer for r in graphs_of([samples], BROWSING_RECIPE)[0].retained.kept] == ["x", "y", "z"]


def test_votes_are_recomputed_for_each_retained_pool() -> None:
    samples = pool("Paris", "Rome", "Paris", "Paris")
    votes = [columns_of(samples.first(k), WEBQA_RECIPE)["candidate_votes"].tolist() for k in (1, 2, 3, 4)]
    assert votes == [[1], [1, 1], [2, 1, 2], [3, 1, 3, 3]]


def test_an_empty_pool_returns_no_answer() -> None:
    decision = selector().decide(pool(None, "", None))
    assert (decision.answer, decision.sample_id, decision.scores) == (None, None, {})
    assert set(decision.dropped) == {0, 1, 2}
    assert selector().decide(pool()).answer is None


def test_the_highest_scoring_existing_answer_is_returned() -> None:
    samples = pool("Paris", "Rome", "Oslo", "Bern")
    decision = selector().decide(samples)
    best = max(decision.scores, key=decision.scores.__getitem__)
    assert decision.sample_id == best
    assert decision.answer == samples.rollouts[best].answer


def test_identical_answers_may_score_differently() -> None:
    samples = pool("Paris", "Paris", "Rome")
    scores = selector().decide(samples).scores
    assert abs(scores[0] - scores[1]) > 1e-3


# The graph: Sec. 3.2, App. A.1 and A.3.


def test_the_same_text_returned_twice_is_two_evidence_nodes() -> None:
    samples = pool_of(rollout("x", ranked("a", "c", "d", "e"), ranked("b", "c", "d", "e")))
    assert len(columns_of(samples, WEBQA_RECIPE)["evidence_content"]) == 6


def test_ranks_are_relations_in_both_directions() -> None:
    names = [relation.name for relation in relations(WEBQA_RECIPE)]
    assert [name for name in names if name.startswith("rank")] == [
        "rank1",
        "rank2",
        "rank3",
        "rank1_of",
        "rank2_of",
        "rank3_of",
    ]


def test_the_query_reaches_the_first_search_of_every_webqa_rollout_only() -> None:
    samples = pool_of(rollout("x", ranked("a", "c"), ranked("b", "d")), rollout("y", ranked("e", "f")))
    assert edges_of(samples, WEBQA_RECIPE)["starts"] == [(0, 0), (0, 2)]
    assert "starts" not in {relation.name for relation in relations(BROWSING_RECIPE)}


def test_time_runs_forward_in_webqa_and_both_ways_in_browsing() -> None:
    assert [r.name for r in relations(WEBQA_RECIPE) if r.source == r.target == "search"] == ["next"]
    assert [r.name for r in relations(BROWSING_RECIPE) if r.source == r.target == "search"] == ["next", "previous"]


def test_empty_returns_create_no_nodes_and_time_follows_the_rest() -> None:
    samples = pool_of(rollout("x", ranked("a", "c"), ranked("nothing"), ranked("b", "d")))
    assert len(columns_of(samples, WEBQA_RECIPE)["search_query"]) == 2
    assert edge_count(samples, WEBQA_RECIPE, "next") == 1


@pytest.mark.parametrize("counts", [(1,), (3,), (1, 1), (2, 3), (2, 2, 4), (1, 0, 5)])
def test_content_pairs_become_two_directed_edges_each(counts: tuple[int, ...]) -> None:
    # One content, n_r times in rollout r, always behind another chunk.
    samples = pool_of(
        *(
            rollout("x", ranked(f"q{r}", f"own {r}"), *(ranked(f"q{r} {i}", "c") for i in range(n)))
            for r, n in enumerate(counts)
        )
    )
    across = sum(n * m for r, n in enumerate(counts) for m in counts[r + 1 :])
    within = sum(n * (n - 1) // 2 for n in counts)
    assert edge_count(samples, WEBQA_RECIPE, "same_content_cross") == 2 * across
    assert edge_count(samples, WEBQA_RECIPE, "same_content_within") == 2 * within


@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_a_document_seen_m_times_has_2m_edges_where_a_clique_has_m_times_m_less_one(m: int) -> None:
    samples = pool_of(*(rollout("x", browsed("a", opened("the same part", "url:1"))) for _ in range(m)))
    incidence = sum(edge_count(samples, BROWSING_RECIPE, name) for name in ("in_document", "holds"))
    assert incidence == 2 * m
    assert edge_count(samples, CONTROLS[BROWSING]["content links only"], "same_content_cross") == m * (m - 1)


def test_every_evidence_occurrence_has_one_document() -> None:
    samples = pool_of(
        rollout("x", browsed("a", opened("p", "url:1"), found("q", "url:1"), opened("r"))),
        rollout("y", browsed("b", opened("p", "url:2"))),
    )
    assert edge_count(samples, BROWSING_RECIPE, "in_document") == 4
    assert len(columns_of(samples, BROWSING_RECIPE)["evidence_content"]) == 4


# Initial states: Eq. 3, App. A.4.


@BOTH
def test_the_vote_feature_is_log_one_plus_votes_and_the_share_of_the_retained(recipe: GraphRecipe) -> None:
    tensors, _ = inputs_of(
        [pool("Paris", "the paris.", None, "Rome")], recipe
    )  # R = 3: the empty answer is no candidate
    torch.testing.assert_close(
        tensors.vote_features, torch.tensor([[math.log(3), 2 / 3], [math.log(3), 2 / 3], [math.log(2), 1 / 3]])
    )


def test_an_answer_begins_as_its_encoded_text_plus_its_votes() -> None:
    net = small_net(WEBQA_RECIPE)
    tensors, vectors = inputs_of([pool("Paris", "Rome", "Rome")], WEBQA_RECIPE)
    with torch.no_grad():
        answers, _ = net.encode(tensors, vectors)
        encoder = net.answer_encoder
        x = torch.from_numpy(vector("Rome"))
        phi = functional.gelu(encoder.norm(encoder.project.weight @ x + encoder.project.bias))
        wanted = phi + net.votes.weight @ torch.tensor([math.log(3), 2 / 3])
    torch.testing.assert_close(answers[1], wanted, atol=1e-5, rtol=0)


def test_documents_share_one_initial_state_which_begins_as_zero() -> None:
    fresh = TraceNet(NetConfig(WIDTH), BROWSING_RECIPE)
    assert fresh.document is not None
    assert torch.equal(fresh.document, torch.zeros(256))
    net = small_net(BROWSING_RECIPE)
    tensors, vectors = inputs_of(
        [pool_of(rollout("x", browsed("a", opened("p", "url:1"), opened("q", "url:2"))))], BROWSING_RECIPE
    )
    states = net.encode(tensors, vectors)[1]
    assert states["document"] is not None
    assert net.document is not None
    assert torch.equal(states["document"], net.document.expand(2, -1))


def test_an_orphan_has_a_zero_input_and_an_indicator_that_begins_as_zero() -> None:
    fresh = TraceNet(NetConfig(WIDTH), BROWSING_RECIPE)
    assert fresh.orphan is not None
    assert torch.equal(fresh.orphan, torch.zeros(256))
    net = small_net(BROWSING_RECIPE)
    searches = (browsed(None, opened("p")), browsed("", opened("p")), browsed("a", opened("p")))
    samples = pool_of(rollout("x", *searches))
    tensors, vectors = inputs_of([samples], BROWSING_RECIPE)
    states = net.encode(tensors, vectors)[1]["search"]
    encoder = net.search_encoder
    of_zero = functional.gelu(encoder.norm(encoder.project.weight @ torch.zeros(WIDTH) + encoder.project.bias))
    torch.testing.assert_close(states[0], of_zero + net.orphan, atol=1e-6, rtol=0)
    torch.testing.assert_close(states[1], of_zero, atol=1e-6, rtol=0)
    assert graphs_of([samples], BROWSING_RECIPE)[0].texts["query"] == ("a",)  # no synthetic query is embedded


# Propagation: Eq. 4, App. A.4.


@BOTH
def test_an_empty_neighbourhood_keeps_the_bias(recipe: GraphRecipe) -> None:
    # One search alone: nothing comes before or after it, no content or tool is repeated.
    net = small_net(recipe, layers=1)
    tensors, vectors = inputs_of([pool_of(rollout("x", browsed("a", opened("p"))))], recipe)

    def searched() -> torch.Tensor:
        with torch.no_grad():
            _, states = net.encode(tensors, vectors)
            return net.propagate(states, tensors)["search"]

    before = searched()
    with torch.no_grad():
        first_layer(net).bias["next"] += 1.0
    assert (searched() - before).abs().max() > 1e-2
    with torch.no_grad():
        first_layer(net).weight["next"] += 1.0
    shifted = searched()
    with torch.no_grad():
        first_layer(net).weight["next"] -= 2.0
    torch.testing.assert_close(searched(), shifted)  # the mean itself is zero, so its weight is not heard


@BOTH
def test_queries_and_answers_receive_no_messages(recipe: GraphRecipe) -> None:
    assert not {relation.target for relation in relations(recipe)} & {"query", "answer"}
    net = small_net(recipe)
    tensors, vectors = inputs_of([pool("Paris", "Rome")], recipe)
    with torch.no_grad():
        answers, states = net.encode(tensors, vectors)
        kept = states["query"].clone(), answers.clone()
        propagated = net.propagate(states, tensors)
        # The states that enter the readout and the score are the initial ones.
        read = net.read(kept[1], propagated, tensors)
        torch.testing.assert_close(net(tensors, vectors), net.score(kept[0], read, tensors.candidate_pool))
        assert torch.equal(states["query"], kept[0])
        assert torch.equal(answers, kept[1])


def test_updates_are_synchronous() -> None:
    # After one layer a search has heard its evidence as it was, not as the same layer made it.
    net = small_net(WEBQA_RECIPE, layers=1)
    tensors, vectors = inputs_of([pool_of(rollout("x", ranked("a", "c", "d", "e")))], WEBQA_RECIPE)
    with torch.no_grad():
        _, states = net.encode(tensors, vectors)
        before = net.propagate(states, tensors)["search"]
        first_layer(net).slot_weight += 1.0
        torch.testing.assert_close(net.propagate(states, tensors)["search"], before)


def test_matching_chunks_talk_in_one_hop_and_observations_of_a_document_in_two() -> None:
    def is_heard(recipe: GraphRecipe, layers: int) -> bool:
        """Whether the first rollout hears in which words the second searched for the same thing."""
        net = small_net(recipe, layers=layers)
        was, now = (
            pool_of(
                rollout("x", browsed("a", opened("p", "url:1"))), rollout("y", browsed(words, opened("p", "url:1")))
            )
            for words in ("b", "other words")
        )
        return abs(float(score(net, [was])[0][0] - score(net, [now])[0][0])) > 1e-4

    # One hop takes the words to the second rollout's evidence; then it is one more, or two by way of the document.
    assert [is_heard(WEBQA_RECIPE, layers) for layers in (1, 2, 3)] == [False, True, True]
    assert [is_heard(BROWSING_RECIPE, layers) for layers in (1, 2, 3)] == [False, False, True]


# Readout and score: Sec. 3.4, App. A.4.


@BOTH
def test_answers_read_only_their_own_rollout(recipe: GraphRecipe) -> None:
    net = small_net(recipe)
    samples = pool_of(rollout("x", ranked("a", "c", "d", "e")), rollout("y", ranked("b", "c", "d", "e")))
    tensors, vectors = inputs_of([samples], recipe)
    with torch.no_grad():
        answers, states = net.encode(tensors, vectors)
        states = net.propagate(states, tensors)
        before = net.read(answers, states, tensors)
        searches, evidence = states["search"].clone(), states["evidence"].clone()
        searches[1], evidence[3:] = 7.0, -7.0
        after = net.read(answers, states | {"search": searches, "evidence": evidence}, tensors)
    torch.testing.assert_close(after[0], before[0])
    assert (after[1] - before[1]).abs().max() > 1e-3


def test_documents_are_not_read() -> None:
    net = small_net(BROWSING_RECIPE)
    tensors, vectors = inputs_of([pool_of(rollout("x", browsed("a", opened("p", "url:1"))))], BROWSING_RECIPE)
    rows = torch.cat([context.nodes[~context.is_padding] for context in tensors.contexts])
    assert sorted(rows.tolist()) == [0, 1]  # one search, one evidence
    with torch.no_grad():
        answers, states = net.encode(tensors, vectors)
        other = states | {"document": states["document"] + 9.0}
        assert torch.equal(net.read(answers, other, tensors), net.read(answers, states, tensors))


def test_an_empty_context_adds_nothing_and_is_still_scored() -> None:
    net = small_net(BROWSING_RECIPE)
    tensors, vectors = inputs_of([pool_of(rollout("x"))], BROWSING_RECIPE)
    with torch.no_grad():
        answers, states = net.encode(tensors, vectors)
        assert net.attention is not None
        block = net.attention
        normed = block.attention_norm(answers)
        wanted = block.output_norm(normed + block.contract(functional.gelu(block.expand(normed))))
        torch.testing.assert_close(net.read(answers, states, tensors), wanted, atol=1e-6, rtol=0)
    assert len(score(net, [pool_of(rollout("x"))])[0]) == 1


def test_gamma_is_the_exponential_of_eta_at_most_100_and_begins_at_10() -> None:
    net = TraceNet(NetConfig(WIDTH), WEBQA_RECIPE)
    assert net.log_scale.item() == pytest.approx(math.log(10))
    assert net.scale().item() == pytest.approx(10)
    for eta, gamma in ((0.0, 1.0), (math.log(99), 99.0), (math.log(101), 100.0), (50.0, 100.0)):
        with torch.no_grad():
            net.log_scale.fill_(eta)
        assert net.scale().item() == pytest.approx(gamma, rel=1e-5)


def test_a_score_is_gamma_times_a_cosine() -> None:
    net = small_net(WEBQA_RECIPE)
    tensors, vectors = inputs_of([pool("Paris", "Rome")], WEBQA_RECIPE)
    with torch.no_grad():
        answers, states = net.encode(tensors, vectors)
        read = net.read(answers, net.propagate(states, tensors), tensors)
        cosine = functional.cosine_similarity(net.query_readout(states["query"]), net.answer_readout(read))
        torch.testing.assert_close(net(tensors, vectors), net.scale() * cosine, atol=1e-5, rtol=0)


@BOTH
def test_parameters_have_the_papers_shapes(recipe: GraphRecipe) -> None:
    width, d = 4096, 256
    shapes = {name: tuple(p.shape) for name, p in TraceNet(NetConfig(width), recipe).named_parameters()}
    for kind in ("query", "answer", "search", "evidence"):
        assert shapes[f"{kind}_encoder.project.weight"] == (d, width)
        assert shapes[f"{kind}_encoder.norm.weight"] == (d,)
    assert shapes["votes.weight"] == (d, 2)
    assert {name.split(".")[1] for name in shapes if name.startswith("layers.")} == {"0", "1", "2", "3"}  # L = 4
    slots = len(recipe.slots)
    assert shapes["layers.0.slot_weight"] == (d, slots, d)
    assert shapes["layers.0.slot_of_weight"] == (slots, d, d)
    assert shapes["layers.3.weight.next"] == (d, d)
    assert shapes["layers.3.bias.next"] == (d,)
    for name in ("query", "key", "value", "output"):
        assert shapes[f"attention.{name}.weight"] == (d, d)
        assert f"attention.{name}.bias" not in shapes
    assert (shapes["attention.expand.weight"], shapes["attention.contract.weight"]) == ((1024, d), (d, 1024))
    for name in ("query_readout", "answer_readout"):  # separate and affine
        assert (shapes[f"{name}.weight"], shapes[f"{name}.bias"]) == ((d, d), (d,))


def test_the_readout_has_four_heads_of_width_64_and_dropout_is_a_tenth() -> None:
    net = TraceNet(NetConfig(WIDTH), WEBQA_RECIPE)
    assert net.attention is not None
    assert (net.attention.heads, net.config.hidden // net.attention.heads) == (4, 64)
    assert {net.attention.dropout, first_layer(net).dropout} == {0.1}


@BOTH
def test_every_relation_of_every_layer_has_its_own_weight_and_bias(recipe: GraphRecipe) -> None:
    net = TraceNet(NetConfig(WIDTH, hidden=16, feed_forward=32), recipe)
    for layer in net.layers:
        assert isinstance(layer, RelationLayer)
        weights = layer.slot_weight.shape[1] + layer.slot_of_weight.shape[0] + len(layer.weight)
        assert weights == len(relations(recipe))
        assert set(layer.weight) == set(layer.bias)


# Controls: App. B.


def test_the_fixed_query_control_adds_a_256_dimensional_vector() -> None:
    full, fixed = (TraceNet(NetConfig(WIDTH, readout=readout), WEBQA_RECIPE) for readout in ("answer", "fixed"))
    sizes = [sum(p.numel() for p in net.parameters()) for net in (full, fixed)]
    assert sizes[1] - sizes[0] == 256


def test_merged_answers_use_the_first_members_text_all_votes_and_all_rollouts() -> None:
    recipe = CONTROLS[WEBQA]["merge answers"]
    samples = pool("The Paris", "Rome", "paris")
    [graph] = graphs_of([samples], recipe)
    assert graph.texts["answer"] == ("The Paris", "Rome")
    assert graph.columns["candidate_votes"].tolist() == [2, 1]
    assert graph.columns["rollout_candidate"].tolist() == [0, 1, 0]
    # Process nodes and edges stay those of the occurrence graph.
    full = columns_of(samples, RECIPES[WEBQA])
    for name in ("search_rollout", "search_query", "evidence_search", "evidence_content", "evidence_slot"):
        assert np.array_equal(graph.columns[name], full[name])


def test_controls_keep_the_vote_features() -> None:
    samples = [pool("Paris", "Paris", "Rome")]
    full = inputs_of(samples, WEBQA_RECIPE)[0].vote_features
    for name in ("no cross-rollout", "no content links", "merge evidence"):
        assert torch.equal(inputs_of(samples, CONTROLS[WEBQA][name])[0].vote_features, full)


# Loss: Sec. 3.5, App. A.4; its values are in tests/trace/test_losses.py.


@pytest.mark.parametrize(("setting", "batch", "mixed_only"), [(WEBQA, 256, False), (BROWSING, 4, True)])
def test_training_takes_three_epochs_of_sixteen_samples_a_question(setting: str, batch: int, mixed_only: bool) -> None:
    plan = SETTINGS[setting].plan
    assert (plan.k, plan.epochs, plan.learning_rate, plan.weight_decay) == (16, 3, 3e-4, 1e-4)
    assert (plan.batch_pools, plan.listwise_mixed_only, plan.vote_rate) == (batch, mixed_only, 1.0)


@pytest.mark.parametrize(("needs_negatives", "listwise"), [(False, 2), (True, 1)], ids=[WEBQA, BROWSING])
def test_listwise_terms_count_pools_with_a_correct_answer_or_mixed_ones_and_hard_ranking_mixed_ones(
    needs_negatives: bool, listwise: int
) -> None:
    labels = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])  # mixed, all correct, all wrong
    assert term_counts(labels, torch.tensor([0, 0, 1, 1, 2, 2]), 3, needs_negatives).tolist() == [6, listwise, 1]


def test_labels_are_never_an_input() -> None:
    samples = pool("Paris", "Rome")
    labelled = Pool(samples.question, tuple(replace(r, label=1.0) for r in samples.rollouts))
    assert selector().decide(samples).scores == selector().decide(labelled).scores
