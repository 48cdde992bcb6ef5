"""The selector network of Section 3: encode (Eq. 3), propagate (Eq. 4), read (Eq. 5-7), score (Eq. 9)."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.trace.batch import Batch, Context, take
from tracerank.trace.product import Linear, linear
from tracerank.trace.recipe import GraphRecipe, NetConfig, Relation, relations

LOOKUP_ROWS = 256
"""Rows of a half-precision table are widened this many at a time, which stay in cache."""

States = dict[str, Tensor]
"""By node type: query, search, evidence and, where the recipe has them, document. [nodes, hidden] each."""


class TypeEncoder(nn.Module):
    """GELU(LN(W x + b)) for one text-bearing node type."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.project = Linear(width, hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, table: Tensor, rows: Tensor) -> Tensor:
        """States of some rows of a table of any float type."""
        looked_up = (table.index_select(0, some) for some in torch.split(rows.to(table.device), LOOKUP_ROWS))
        parts = [self.project(vectors.to(self.project.weight)) for vectors in looked_up]
        return functional.gelu(self.norm(torch.cat(parts)))

    def of_zero(self) -> Tensor:
        """[1, hidden]: the state of a node whose input vector is zero."""
        return functional.gelu(self.norm(self.project.bias)).unsqueeze(0)


class RelationLayer(nn.Module):
    """One layer of Eq. 4: a weight and a bias per relation, a LayerNorm per updated node type."""

    def __init__(self, recipe: GraphRecipe, hidden: int, dropout: float) -> None:
        super().__init__()
        self.relations = relations(recipe)
        self.dropout = dropout
        bound = 1 / math.sqrt(hidden)

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        # The slots' relations are stacked in checkpoints: search to evidence, and evidence to search.
        count = len(recipe.slots)
        self.slot_weight = parameter(hidden, count, hidden)
        self.slot_bias = parameter(count, hidden)
        self.slot_of_weight = parameter(count, hidden, hidden)
        self.slot_of_bias = parameter(count, hidden)
        self.slots = recipe.slots
        others = [each.name for each in self.relations if each.name.removesuffix("_of") not in self.slots]
        self.weight = nn.ParameterDict({name: parameter(hidden, hidden) for name in others})
        self.bias = nn.ParameterDict({name: parameter(hidden) for name in others})
        self.search_norm = nn.LayerNorm(hidden)
        self.evidence_norm = nn.LayerNorm(hidden)
        self.document_norm = nn.LayerNorm(hidden) if recipe.documents != "none" else None

    def parameters_of(self, relation: Relation) -> tuple[Tensor, Tensor]:
        """W_r and b_r, for messages as rows: h W_r + b_r."""
        if relation.name in self.weight:
            return self.weight[relation.name], self.bias[relation.name]
        slot = self.slots.index(relation.name.removesuffix("_of"))
        if relation.source == "search":
            return self.slot_weight[:, slot], self.slot_bias[slot]
        return self.slot_of_weight[slot], self.slot_of_bias[slot]

    def forward(self, states: States, graph: Batch) -> States:
        """Synchronous update of all node types that receive messages."""
        norms = {"search": self.search_norm, "evidence": self.evidence_norm, "document": self.document_norm}
        updated = {"query": states["query"]}
        for kind, norm in norms.items():
            if norm is not None:
                moved = functional.gelu(self.message(kind, states, graph))
                updated[kind] = norm(states[kind] + functional.dropout(moved, self.dropout, self.training))
        return updated

    def message(self, kind: str, states: States, graph: Batch) -> Tensor:
        """m_v of all nodes of a type: the sum over relations r of W_r Mean h_u + b_r; the bias also without u."""
        incoming = [(each, *self.parameters_of(each)) for each in self.relations if each.target == kind]
        biases = torch.stack([bias for *_, bias in incoming])
        # A product instead of a sum: its backward pass gives every bias a gradient with memory of its own.
        message = (biases.new_ones(len(biases)) @ biases).repeat(len(states[kind]), 1)
        for relation, weight, _ in incoming:
            neighbours = graph.neighbours[relation.name]
            transformed = linear(neighbours.means(states[relation.source]), weight.t())
            if neighbours.of_target is not None:
                transformed = take(transformed, neighbours.of_target)
            message.index_add_(0, neighbours.targets, transformed)
        return message


class GraphReadout(nn.Module):
    """Control: answers receive the means of their searches and of their evidence instead of attending to them."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.from_searches = Linear(hidden, hidden)
        self.from_evidence = Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = dropout

    def forward(self, answers: Tensor, states: States, contexts: Sequence[Context]) -> Tensor:
        """[candidates, hidden]"""
        searches, nodes = len(states["search"]), torch.cat((states["search"], states["evidence"]))
        means = nodes.new_zeros(2, *answers.shape)
        for context in contexts:
            own, is_search = take(nodes, context.nodes), context.nodes < searches
            for kind, is_kind in enumerate((is_search, ~is_search)):
                counted = (is_kind & ~context.is_padding).unsqueeze(2)
                mean = (own * counted).sum(1) / counted.sum(1).clamp(min=1)
                means[kind].index_copy_(0, context.candidates, mean)
        moved = functional.gelu(self.from_searches(means[0]) + self.from_evidence(means[1]))
        result: Tensor = self.norm(answers + functional.dropout(moved, self.dropout, self.training))
        return result


class AttentionReadout(nn.Module):
    """The answer-conditioned QFormer: cross-attention and a feed-forward net, each with residual and LayerNorm."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        hidden = config.hidden
        self.heads, self.head_width = config.heads, hidden // config.heads
        self.dropout = config.dropout
        self.query = Linear(hidden, hidden, bias=False)
        self.key = Linear(hidden, hidden, bias=False)
        self.value = Linear(hidden, hidden, bias=False)
        self.output = Linear(hidden, hidden, bias=False)
        self.type_embedding = nn.Parameter(torch.zeros(2, hidden))
        """Rows: searches, evidence."""
        self.attention_norm = nn.LayerNorm(hidden)
        self.expand = Linear(hidden, config.feed_forward)
        self.contract = Linear(config.feed_forward, hidden)
        self.output_norm = nn.LayerNorm(hidden)
        is_fixed = config.readout == "fixed"
        self.fixed_query = nn.Parameter(torch.randn(hidden) * hidden**-0.5) if is_fixed else None
        """Control: the same learned query for every candidate instead of its answer."""

    def forward(self, answers: Tensor, states: States, contexts: Sequence[Context]) -> Tensor:
        """[candidates, hidden]: answers, updated by what they read."""
        attended = self.attention_norm(answers + self._drop(self.output(self._read(answers, states, contexts))))
        expanded = self._drop(functional.gelu(self.expand(attended)))
        result: Tensor = self.output_norm(attended + self._drop(self.contract(expanded)))
        return result

    def weights(
        self, answers: Tensor, states: States, contexts: Sequence[Context]
    ) -> Iterator[tuple[Context, Tensor, Tensor]]:
        """Each context, its states [candidates, length, hidden] and alpha of Eq. 7 [candidates, heads, length]."""
        queries = answers if self.fixed_query is None else self.fixed_query.expand_as(answers)
        of_search, of_evidence = self.type_embedding
        nodes = torch.cat((states["search"] + of_search, states["evidence"] + of_evidence))
        # q . (W_K h) = (W_K^T q) . h: keys and values move to the few answers instead of the many states.
        by_head = self.query(queries).view(-1, self.heads, self.head_width).transpose(0, 1)
        sought = torch.bmm(by_head, self._by_head(self.key)).transpose(0, 1) / math.sqrt(self.head_width)
        for context in contexts:
            own = take(nodes, context.nodes)
            logits = torch.bmm(sought.index_select(0, context.candidates), own.transpose(1, 2))
            logits = logits.masked_fill(context.is_padding.unsqueeze(1), -torch.inf)
            yield context, own, logits.softmax(-1)

    def _read(self, answers: Tensor, states: States, contexts: Sequence[Context]) -> Tensor:
        """[candidates, hidden]: z_i of Eq. 7, head by head; zero where a rollout has neither searches nor evidence."""
        pooled = answers.new_zeros(len(answers), self.heads, answers.shape[1])
        for context, own, weights in self.weights(answers, states, contexts):
            pooled = pooled.index_copy(0, context.candidates, torch.bmm(weights, own))
        read = torch.bmm(pooled.transpose(0, 1), self._by_head(self.value).transpose(1, 2))
        return read.transpose(0, 1).reshape(answers.shape)

    def _by_head(self, layer: Linear) -> Tensor:
        return layer.weight.view(self.heads, self.head_width, -1)

    def _drop(self, states: Tensor) -> Tensor:
        return functional.dropout(states, self.dropout, self.training)


class TraceNet(nn.Module):
    """Scores every candidate of a batch of graphs."""

    def __init__(self, config: NetConfig, recipe: GraphRecipe) -> None:
        super().__init__()
        self.config = config
        self.recipe = recipe
        hidden = config.hidden
        self.query_encoder = TypeEncoder(config.width, hidden)
        self.answer_encoder = TypeEncoder(config.width, hidden)
        self.search_encoder = TypeEncoder(config.width, hidden)
        self.evidence_encoder = TypeEncoder(config.width, hidden)
        self.votes = Linear(2, hidden, bias=False)
        nn.init.zeros_(self.votes.weight)
        self.orphan = nn.Parameter(torch.zeros(hidden)) if recipe.keeps_bare_searches else None
        self.document = nn.Parameter(torch.zeros(hidden)) if recipe.documents != "none" else None
        self.layers = nn.ModuleList(RelationLayer(recipe, hidden, config.dropout) for _ in range(config.layers))
        self.graph_readout = GraphReadout(hidden, config.dropout) if config.readout in ("graph", "two_stage") else None
        self.attention = None if config.readout == "graph" else AttentionReadout(config)
        if config.readout == "two_stage" and self.attention is not None:
            nn.init.zeros_(self.attention.output_norm.weight)  # the residual starts as nothing
        self.query_readout = Linear(hidden, hidden)
        self.answer_readout = Linear(hidden, hidden)
        self.log_scale = nn.Parameter(torch.tensor(math.log(config.initial_scale)))

    def forward(self, graph: Batch, table: Tensor) -> Tensor:
        """[candidates] scores."""
        answers, states = self.encode(graph, table)
        states = self.propagate(states, graph)
        answers = self.read(answers, states, graph)
        return self.score(states["query"], answers, graph.candidate_pool)

    def encode(self, graph: Batch, table: Tensor) -> tuple[Tensor, States]:
        """Initial states of answers and of all nodes; each distinct text is encoded once."""
        texts = graph.texts
        queries = torch.cat((self.search_encoder(table, texts["query"]), self.search_encoder.of_zero()))
        states = {
            "query": self.query_encoder(table, texts["question"]),
            "search": take(queries, graph.search_query),
            "evidence": take(self.evidence_encoder(table, texts["content"]), graph.evidence_content),
        }
        if self.orphan is not None:
            states["search"] = states["search"] + graph.search_is_orphan * self.orphan
        if self.document is not None:
            states["document"] = self.document.expand(graph.documents, -1)
        answers = take(self.answer_encoder(table, texts["answer"]), graph.candidate_answer)
        return answers + self.votes(graph.vote_features), states

    def attention_weights(self, graph: Batch, table: Tensor) -> Tensor | None:
        """[candidates, searches + evidence]: alpha of Eq. 7, mean over the heads; None if the net reads without it."""
        if self.attention is None:
            return None
        answers, states = self.encode(graph, table)
        states = self.propagate(states, graph)
        if self.graph_readout is not None:
            answers = self.graph_readout(answers, states, graph.contexts)
        found = torch.zeros(len(answers), len(states["search"]) + len(states["evidence"]))
        for context, _, weights in self.attention.weights(answers, states, graph.contexts):
            found.index_put_((context.candidates.unsqueeze(1), context.nodes), weights.mean(1), accumulate=True)
        return found

    def propagate(self, states: States, graph: Batch) -> States:
        """L layers of relation-specific messages; answers take no part."""
        for layer in self.layers:
            states = layer(states, graph)
        return states

    def read(self, answers: Tensor, states: States, graph: Batch) -> Tensor:
        """Candidate representations from the states of their own rollouts."""
        if self.graph_readout is not None:
            answers = self.graph_readout(answers, states, graph.contexts)
        if self.attention is not None:
            read = self.attention(answers, states, graph.contexts)
            # The second stage learns a residual on top of the frozen graph readout.
            answers = answers + read if self.config.readout == "two_stage" else read
        return answers

    def score(self, query: Tensor, answers: Tensor, candidate_pool: Tensor) -> Tensor:
        """Scaled cosine between the question and each candidate (Eq. 9)."""
        question = functional.normalize(self.query_readout(query), dim=-1)
        answer = functional.normalize(self.answer_readout(answers), dim=-1)
        return self.scale() * (take(question, candidate_pool) * answer).sum(-1)

    def scale(self) -> Tensor:
        """gamma = min(exp(eta), 100)."""
        return self.log_scale.exp().clamp(max=self.config.largest_scale)
