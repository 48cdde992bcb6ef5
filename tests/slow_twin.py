"""Graph and network once more, as loops over rollouts, nodes and edges: slow, plain and independent of the arrays.

Follows Sec. 3 and App. A.4 of the paper word by word; the fast code must agree with it in values and gradients.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from tests.builders import vector
from tracerank.answers.exact import normalize_answer
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Rollout
from tracerank.trace.net import RelationLayer, TraceNet
from tracerank.trace.recipe import GraphRecipe, relations


@dataclass
class SlowCandidate:
    pool: int
    answer: str
    votes: int
    retained: int
    searches: list[int] = field(default_factory=list)
    evidence: list[int] = field(default_factory=list)


@dataclass
class SlowGraph:
    """The nodes of several pools, numbered through, and a set of edges for every relation."""

    questions: list[str] = field(default_factory=list)
    searches: list[tuple[str, bool]] = field(default_factory=list)
    """Text and whether it is an orphan."""
    evidence: list[str] = field(default_factory=list)
    documents: int = 0
    candidates: list[SlowCandidate] = field(default_factory=list)
    edges: dict[str, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))

    def neighbours(self, relation: str, target: int) -> list[int]:
        return sorted(source for source, heard in self.edges[relation] if heard == target)


def slow_graph(pools: Sequence[Pool], recipe: GraphRecipe) -> SlowGraph:
    graph = SlowGraph()
    for pool in pools:
        _add_pool(graph, pool, recipe)
    return graph


def _add_pool(graph: SlowGraph, pool: Pool, recipe: GraphRecipe) -> None:
    query = len(graph.questions)
    graph.questions.append(pool.question.text)
    kept = [
        r for r in pool.rollouts if r.problem is None and r.answer and (r.has_evidence or not recipe.needs_evidence)
    ]
    candidates = _candidates(kept, query, recipe)
    graph.candidates += _distinct(candidates)
    documents: dict[object, int] = {}
    merged: dict[str, int] = {}
    seen: list[tuple[str, int, int]] = []  # text, rollout, node
    for number, rollout in enumerate(kept):
        candidate = candidates[number]
        previous = None
        for search in rollout.searches:
            if not search.evidence and not recipe.keeps_bare_searches:
                continue
            node = len(graph.searches)
            graph.searches.append((search.query or "", search.query is None))
            candidate.searches.append(node)
            if previous is None:
                graph.edges["starts"].add((query, node))
            else:
                graph.edges["next"].add((previous, node))
                graph.edges["previous"].add((node, previous))
            previous = node
            for place, evidence in enumerate(search.evidence):
                if recipe.merge_evidence and evidence.text in merged:
                    occurrence = merged[evidence.text]
                else:
                    occurrence = merged[evidence.text] = len(graph.evidence)
                    graph.evidence.append(evidence.text)
                if not (recipe.merge_evidence and occurrence in candidate.evidence):
                    candidate.evidence.append(occurrence)
                slot = slot_name(evidence, place, recipe)
                graph.edges[slot].add((node, occurrence))
                graph.edges[f"{slot}_of"].add((occurrence, node))
                if recipe.documents != "none":
                    key: object = evidence.document.key if evidence.document else ("private", len(seen))
                    if recipe.documents == "rollout":
                        key = (number, key)
                    document = documents.setdefault(key, graph.documents + len(documents))
                    graph.edges["in_document"].add((occurrence, document))
                    graph.edges["holds"].add((document, occurrence))
                seen.append((evidence.text, number, occurrence))
    graph.documents += len(documents)
    for text, number, node in seen:
        for other_text, other_number, other in seen:
            if text == other_text and node != other:
                where = "within" if number == other_number else "cross"
                graph.edges[f"same_content_{where}"].add((node, other))


def slot_name(evidence: Evidence, place: int, recipe: GraphRecipe) -> str:
    if recipe.slot_by == "tool":
        return "find" if evidence.tool == "find" else "open"
    rank = place + 1 if evidence.rank is None else evidence.rank
    return {1: "rank1", 2: "rank2"}.get(rank, "rank3")


def _candidates(kept: list[Rollout], query: int, recipe: GraphRecipe) -> list[SlowCandidate]:
    """The candidate of each kept rollout; merged answers share one object."""
    made: list[SlowCandidate] = []
    groups: dict[str, SlowCandidate] = {}
    keys = [normalize_answer(rollout.answer) for rollout in kept]
    for rollout, key in zip(kept, keys, strict=True):
        candidate = SlowCandidate(query, rollout.answer or "", keys.count(key), len(kept))
        first = groups.setdefault(key, candidate)
        if recipe.merge_answers:
            candidate = first
        elif recipe.answer_text == "first_of_group":
            candidate.answer = first.answer
        made.append(candidate)
    return made


def _distinct(candidates: list[SlowCandidate]) -> list[SlowCandidate]:
    return [c for place, c in enumerate(candidates) if not any(c is earlier for earlier in candidates[:place])]


@dataclass
class SlowStates:
    searches: list[Tensor]
    evidence: list[Tensor]
    documents: list[Tensor]

    def of(self, kind: str) -> list[Tensor]:
        return {"search": self.searches, "evidence": self.evidence, "document": self.documents}[kind]


def encoded(net: TraceNet, kind: str, text: str) -> Tensor:
    """GELU(LN(W x + b)); a text that is empty has a zero input."""
    encoder = getattr(net, f"{kind}_encoder")
    width = net.config.width
    x = torch.from_numpy(vector(text, width)) if text else torch.zeros(width)
    return functional.gelu(encoder.norm(encoder.project.weight @ x + encoder.project.bias))


def initial_states(net: TraceNet, graph: SlowGraph) -> SlowStates:
    searches = []
    for text, is_orphan in graph.searches:
        state = encoded(net, "search", text)
        searches.append(state + net.orphan if is_orphan and net.orphan is not None else state)
    evidence = [encoded(net, "evidence", text) for text in graph.evidence]
    return SlowStates(searches, evidence, [net.document for _ in range(graph.documents)])  # type: ignore[misc]


def propagated(net: TraceNet, graph: SlowGraph, states: SlowStates) -> SlowStates:
    """Eq. 4, node by node and relation by relation."""
    queries = [encoded(net, "query", text) for text in graph.questions]
    for layer in net.layers:
        assert isinstance(layer, RelationLayer)
        new = SlowStates([], [], [])
        for kind in ("search", "evidence", "document"):
            norm = getattr(layer, f"{kind}_norm")
            for node, state in enumerate(states.of(kind)):
                message = torch.zeros_like(state)
                for relation in relations(net.recipe):
                    if relation.target != kind:
                        continue
                    weight, bias = layer.parameters_of(relation)
                    heard = queries if relation.source == "query" else states.of(relation.source)
                    neighbours = [heard[number] for number in graph.neighbours(relation.name, node)]
                    mean = sum(neighbours) / len(neighbours) if neighbours else torch.zeros_like(state)
                    message = message + mean @ weight + bias
                new.of(kind).append(norm(state + functional.gelu(message)))
        states = new
    return states


def attended(net: TraceNet, answer: Tensor, context: list[Tensor]) -> Tensor:
    """One QFormer block for one candidate; ``context`` already has its type embeddings."""
    block = net.attention
    assert block is not None
    asks = answer if block.fixed_query is None else block.fixed_query
    width = net.config.hidden // block.heads
    heads = []
    for head in range(block.heads):
        rows = slice(head * width, (head + 1) * width)
        query = block.query.weight[rows] @ asks
        read = torch.zeros(width)
        if context:
            logits = [query @ (block.key.weight[rows] @ state) / math.sqrt(width) for state in context]
            shares = torch.stack(logits).softmax(0)
            read = sum(
                (share * (block.value.weight[rows] @ state) for share, state in zip(shares, context, strict=True)), read
            )
        heads.append(read)
    answer = block.attention_norm(answer + block.output.weight @ torch.cat(heads))
    result: Tensor = block.output_norm(answer + block.contract(functional.gelu(block.expand(answer))))
    return result


def slow_scores(net: TraceNet, graph: SlowGraph) -> Tensor:
    """[candidates], dropout off."""
    states = propagated(net, graph, initial_states(net, graph))
    scores = []
    for candidate in graph.candidates:
        votes = torch.tensor([math.log(1 + candidate.votes), candidate.votes / candidate.retained])
        answer = encoded(net, "answer", candidate.answer) + net.votes.weight @ votes
        searches = [states.searches[node] for node in candidate.searches]
        evidence = [states.evidence[node] for node in candidate.evidence]
        scores.append(_score(net, graph.questions[candidate.pool], _read(net, answer, searches, evidence)))
    return torch.stack(scores) if scores else torch.zeros(0)


def _read(net: TraceNet, answer: Tensor, searches: list[Tensor], evidence: list[Tensor]) -> Tensor:
    if net.graph_readout is not None:
        readout, nothing = net.graph_readout, torch.zeros_like(answer)
        heard = readout.from_searches(sum(searches) / len(searches) if searches else nothing)
        heard = heard + readout.from_evidence(sum(evidence) / len(evidence) if evidence else nothing)
        answer = readout.norm(answer + functional.gelu(heard))
    if net.attention is None:
        return answer
    kinds = net.attention.type_embedding
    read = attended(net, answer, [state + kinds[0] for state in searches] + [state + kinds[1] for state in evidence])
    return answer + read if net.config.readout == "two_stage" else read


def _score(net: TraceNet, question: str, answer: Tensor) -> Tensor:
    asked, given = net.query_readout(encoded(net, "query", question)), net.answer_readout(answer)
    scale = torch.clamp(net.log_scale.exp(), max=100.0)
    return scale * functional.cosine_similarity(asked, given, dim=0)
