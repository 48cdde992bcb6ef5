"""Graphs, scores, loss and gradients against what the official implementation produced for 60 questions."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.edges import listed_contexts, listed_edges
from tests.golden import GOLDEN, needs_golden
from tests.sha256 import Sha256Embedder
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers import read_pools
from tracerank.trace.batch import collate
from tracerank.trace.graph import NO_TEXT, PoolGraph, build_graph
from tracerank.trace.losses import selection_loss
from tracerank.trace.official import ANSWER, EVIDENCE, RELATIONS, translate
from tracerank.trace.recipe import OFFICIAL_RECIPES, RECIPES
from tracerank.trace.recipe import SETTINGS as SEARCH_SETTINGS
from tracerank.trace.selector import TraceSelector, embedded

K = 16
QUESTIONS = {WEBQA: 40, BROWSING: 20}

pytestmark = needs_golden

BOTH = pytest.mark.parametrize("setting", [WEBQA, BROWSING])
EACH = pytest.mark.parametrize(("setting", "index"), [(s, i) for s, count in QUESTIONS.items() for i in range(count)])


class OnceEmbedder(Sha256Embedder):
    """Embeds each text once and keeps it: half a million digests are the slow part of these tests."""

    def __init__(self) -> None:
        self.kept: dict[str, np.ndarray] = {}

    def embed(self, texts: list[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self.kept]
        self.kept.update(zip(new, super().embed(new), strict=True))
        return np.stack([self.kept[text] for text in texts])


@dataclass(frozen=True)
class Reference:
    """One setting: the reference's facts in its order, and our pools and selector for them."""

    setting: str
    facts: list[dict[str, Any]]
    training: dict[str, Any]
    pools: list[Pool]
    selector: TraceSelector

    def graph(self, index: int) -> PoolGraph:
        return build_graph(self.pools[index], OFFICIAL_RECIPES[self.setting])


def read_reference(setting: str, embedder: Sha256Embedder) -> Reference:
    expected = json.loads((GOLDEN / f"{setting}_expected.json").read_text(encoding="utf-8"))
    read = read_pools(GOLDEN / f"{setting}_raw.jsonl")
    pools = {pool.question.id: labelled(pool.first(K), PAPER) for pool in read}
    facts = expected["questions"]
    ids = [str(fact["qid"]) if "qid" in fact else fact["graph_id"].partition(":")[2] for fact in facts]
    return Reference(
        setting,
        facts,
        expected["training_facts"],
        [pools[id_] for id_ in ids],
        TraceSelector.from_official(GOLDEN / f"{setting}_best.pt", embedder),
    )


@pytest.fixture(scope="session")
def references() -> dict[str, Reference]:
    embedder = OnceEmbedder()
    return {setting: read_reference(setting, embedder) for setting in QUESTIONS}


@dataclass(frozen=True)
class Learned:
    """One step's loss and gradients over all questions with candidates, dropout off."""

    loss: float
    positive_weight: float
    gradient_norms: dict[str, float]
    """By official parameter name."""


@pytest.fixture(scope="session")
def learned(references: dict[str, Reference]) -> dict[str, Learned]:
    return {setting: learn(reference) for setting, reference in references.items()}


def learn(reference: Reference) -> Learned:
    net, embedder = reference.selector.net, reference.selector.embedder
    graphs = [reference.graph(index) for index, fact in enumerate(reference.facts) if not fact["empty"]]
    columns, table = embedded(graphs, embedder)
    batch = collate(columns, net.recipe)
    labels = torch.tensor([rollout.label for graph in graphs for rollout in graph.retained.kept])
    weight = float((1 - labels).sum() / labels.sum())
    net.zero_grad()
    scores, plan = net(batch, table), SEARCH_SETTINGS[reference.setting].plan
    loss = selection_loss(scores, labels, batch.candidate_pool, batch.pools, weight, plan.listwise_mixed_only)
    loss.backward()
    norms = official_norms(reference, dict(net.named_parameters()))
    net.zero_grad()
    return Learned(loss.item(), weight, norms)


def official_norms(reference: Reference, ours: dict[str, torch.nn.Parameter]) -> dict[str, float]:
    """The L2 norm of the gradient of each official parameter, wherever ours keeps its values."""
    names = list(reference.training["gradient_l2_by_parameter"])
    state = torch.load(GOLDEN / f"{reference.setting}_best.pt", weights_only=True)["model_state"]
    assert sorted(state) == sorted(names)
    # Translate a state whose every value is the number of its tensor: it says which value went where.
    numbers = {name: torch.full_like(state[name], number, dtype=torch.float64) for number, name in enumerate(names)}
    net = reference.selector.net
    origins: dict[str, Tensor] = translate(numbers, reference.setting, net.recipe, net.config.layers)
    squares = torch.zeros(len(names), dtype=torch.float64)
    for name, origin in origins.items():
        gradient = ours[name].grad
        if gradient is not None:
            squares.index_add_(0, origin.flatten().long(), gradient.flatten().double().square())
    return dict(zip(names, squares.sqrt().tolist(), strict=True))


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def edges_sha256(edges: list[tuple[int, int]]) -> str:
    return sha256(json.dumps([list(edge) for edge in sorted(edges)], separators=(",", ":")))


def evidence_order(graph: PoolGraph) -> list[int]:
    """The reference's number of each of our evidence rows: by event within a rollout (WebQA has no events)."""
    order: list[int] = []
    for rollout in graph.retained.kept:
        events = [seen.event for search in rollout.searches for seen in search.evidence]
        begin = len(order)
        by_event = sorted(range(len(events)), key=lambda row, events=events: events[row] or 0)
        place = {row: number for number, row in enumerate(by_event)}
        order += [begin + place[row] for row in range(len(events))]
    return order


def official_edges(reference: Reference, index: int) -> dict[str, list[tuple[int, int]]]:
    """Every edge under the reference's names and in its numbering; documents keep our numbers."""
    graph, recipe = reference.graph(index), reference.selector.net.recipe
    batch, order = collate([graph.columns], recipe), evidence_order(graph)
    number = {"evidence": lambda row: order[row]}
    found = {
        "|".join(RELATIONS[relation.name]): [
            (number.get(relation.source, int)(source), number.get(relation.target, int)(target))
            for source, target in edges
        ]
        for relation, edges in listed_edges(batch, recipe).items()
    }
    if reference.setting == WEBQA:
        contents = graph.columns["evidence_content"].tolist()
        found["chunk|indexes|chunk_occurrence"] = [(content, row) for row, content in enumerate(contents)]
    read = [(node, candidate) for candidate, nodes in listed_contexts(batch).items() for node in nodes]
    searches, answer = len(batch.search_query), ANSWER[reference.setting]
    return found | {
        f"subquery|qformer_context|{answer}": [(node, candidate) for node, candidate in read if node < searches],
        f"{EVIDENCE[reference.setting]}|qformer_context|{answer}": [
            (order[node - searches], candidate) for node, candidate in read if node >= searches
        ],
    }


# Graphs.


@BOTH
def test_a_converted_file_holds_the_same_pools(setting: str, tmp_path: Path) -> None:
    pools = read_pools(GOLDEN / f"{setting}_raw.jsonl")
    write_pools(tmp_path / "pools.jsonl.gz", pools)
    assert read_pools(tmp_path / "pools.jsonl.gz") == pools


@EACH
def test_the_same_rollouts_are_candidates(references: dict[str, Reference], setting: str, index: int) -> None:
    fact, graph = references[setting].facts[index], references[setting].graph(index)
    assert [rollout.sample_id for rollout in graph.retained.kept] == fact["retained_sample_ids"]
    assert fact["empty"] == (not graph.retained.kept)
    assert sha256(*graph.texts["question"]) == fact["question_text_sha256"]


@EACH
def test_candidates_have_the_same_votes_and_embedded_answers(
    references: dict[str, Reference], setting: str, index: int
) -> None:
    fact, graph = references[setting].facts[index], references[setting].graph(index)
    assert graph.columns["candidate_votes"].tolist() == fact.get("candidate_vote_count", [])
    answers = [graph.texts["answer"][answer] for answer in graph.columns["candidate_answer"]]
    assert answers == fact.get("candidate_embedded_answer", [])


@EACH
def test_nodes_are_as_many_and_carry_the_same_texts(references: dict[str, Reference], setting: str, index: int) -> None:
    fact, graph = references[setting].facts[index], references[setting].graph(index)
    columns, texts = graph.columns, graph.texts
    candidates, queries, contents = (
        columns[name].tolist() for name in ("candidate_answer", "search_query", "evidence_content")
    )
    if fact["empty"]:
        assert candidates == queries == contents == []
        return
    counts = {"query": 1, ANSWER[setting]: len(candidates), "subquery": len(queries)}
    counts[EVIDENCE[setting]] = len(contents)
    if setting == WEBQA:
        counts["chunk"] = len(texts["content"])
    else:
        # The reference keeps isolated documents besides; they touch no score.
        assert len(columns["document"]) == fact["distinct_documents"]
        counts["document"] = fact["document_nodes_in_reference_graph"]
    assert counts == fact["node_counts"]
    wording = [None if query == NO_TEXT else sha256(texts["query"][query]) for query in queries]
    assert wording == [search["text_sha256"] for search in fact["subqueries"]]
    orphans = [int(search.get("is_orphan", False)) for search in fact["subqueries"]]
    assert columns["search_is_orphan"].tolist() == orphans
    theirs = [fact["evidence"][row]["text_sha256"] for row in evidence_order(graph)]
    assert [sha256(texts["content"][content]) for content in contents] == theirs


@EACH
def test_edges_are_the_same(references: dict[str, Reference], setting: str, index: int) -> None:
    fact = references[setting].facts[index]
    if fact["empty"]:
        return
    edges = official_edges(references[setting], index)
    assert {name: len(pairs) for name, pairs in edges.items()} == fact["edge_counts"]
    # Document numbers are each implementation's own; their sharing is compared below.
    theirs = {name: digest for name, digest in fact["edges_sha256"].items() if "document" not in name}
    assert {name: edges_sha256(edges[name]) for name in theirs} == theirs


@pytest.mark.parametrize("index", range(QUESTIONS[BROWSING]))
def test_the_same_evidence_shares_documents(references: dict[str, Reference], index: int) -> None:
    fact, graph = references[BROWSING].facts[index], references[BROWSING].graph(index)
    theirs = [fact["evidence"][number]["document"] for number in evidence_order(graph)]
    pairs = set(zip(graph.columns["evidence_document"].tolist(), theirs, strict=True))
    assert len(pairs) == len({ours for ours, _ in pairs}) == len({theirs for _, theirs in pairs})


# Scores.


@EACH
def test_a_question_alone_has_the_same_scores_and_selection(
    references: dict[str, Reference], setting: str, index: int
) -> None:
    fact, reference = references[setting].facts[index], references[setting]
    decision = reference.selector.decide(reference.pools[index])
    if fact["empty"]:
        assert (decision.answer, decision.sample_id, decision.scores) == (None, None, {})
        return
    assert list(decision.scores) == fact["retained_sample_ids"]
    assert list(decision.scores.values()) == pytest.approx(fact["scores"], abs=1e-5)
    assert decision.sample_id in fact["tied_sample_ids"]
    assert decision.scores[decision.sample_id] == pytest.approx(fact["selected_score"], abs=1e-5)
    assert decision.answer == next(
        rollout.answer for rollout in reference.pools[index].rollouts if rollout.sample_id == decision.sample_id
    )


@BOTH
def test_all_questions_in_batches_have_the_same_scores(references: dict[str, Reference], setting: str) -> None:
    reference = references[setting]
    decisions = reference.selector.decide_many(reference.pools)
    for fact, decision in zip(reference.facts, decisions, strict=True):
        assert list(decision.scores.values()) == pytest.approx(fact["scores"] or [], abs=1e-5)
        assert decision.sample_id in fact.get("tied_sample_ids", [None])


# Learning.


@BOTH
def test_the_loss_over_all_questions_is_the_same(
    references: dict[str, Reference], learned: dict[str, Learned], setting: str
) -> None:
    wanted = references[setting].training
    assert learned[setting].positive_weight == pytest.approx(wanted["positive_weight"], rel=1e-6)
    loss = wanted["loss_dropout_off_all_nonempty_questions_one_batch"]
    assert learned[setting].loss == pytest.approx(loss, abs=1e-5)


@BOTH
def test_every_parameter_has_the_same_gradient_norm(
    references: dict[str, Reference], learned: dict[str, Learned], setting: str
) -> None:
    wanted = references[setting].training["gradient_l2_by_parameter"]
    assert {name: norm or 0.0 for name, norm in wanted.items()} == pytest.approx(
        learned[setting].gradient_norms, rel=1e-3, abs=1e-9
    )


# Where the paper's recipe and the official one part.


@EACH
def test_the_papers_graph_differs_from_the_official_one_only_where_documented(
    references: dict[str, Reference], setting: str, index: int
) -> None:
    pool = references[setting].pools[index]
    paper, official = (build_graph(pool, recipes[setting]).columns for recipes in (RECIPES, OFFICIAL_RECIPES))
    may_differ = {WEBQA: ("candidate_answer", "answer"), BROWSING: ("evidence_document", "document")}[setting]
    for name, values in paper.items():
        assert name in may_differ or np.array_equal(values, official[name]), name


def test_webqa_answers_are_embedded_by_their_own_text_by_default(references: dict[str, Reference]) -> None:
    differing = 0
    for fact, pool in zip(references[WEBQA].facts, references[WEBQA].pools, strict=True):
        graph = build_graph(pool, RECIPES[WEBQA])
        answers = [graph.texts["answer"][answer] for answer in graph.columns["candidate_answer"]]
        assert answers == [rollout.answer for rollout in graph.retained.kept]
        differing += answers != fact.get("candidate_embedded_answer", [])
    assert differing > 0
