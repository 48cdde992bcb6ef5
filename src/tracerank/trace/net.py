"""The selector network: encode (Eq. 3), propagate, read (Eq. 5-8), score (App. A.4)."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.trace.dropout import dropout
from tracerank.trace.graphs.schema import GraphRecipe, relations
from tracerank.trace.inputs import Bucket, GraphTensors, Links, Vectors
from tracerank.trace.products import SHORT_SUM, linear, linear_of
from tracerank.trace.propagate import GraphReadout, RelationLayer, States, Tables, propagate_edges
from tracerank.trace.sizes import NetConfig


class TypeEncoder(nn.Module):
    """GELU(LN(W x + b)) for one text-bearing node type."""

    def __init__(self, width: int, hidden: int, *, longest_sum: int | None = None) -> None:
        super().__init__()
        self.longest_sum = longest_sum
        self.project = nn.Linear(width, hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, table: Tensor, rows: Tensor) -> Tensor:
        """States [n, hidden] of n rows of a table of any float type."""
        projected = linear_of(table, rows, self.project.weight, self.project.bias, self.longest_sum)
        return functional.gelu(self.norm(projected))

    def of_zero(self) -> Tensor:
        """[1, hidden]: the state of a node whose input vector is zero."""
        return functional.gelu(self.norm(self.project.bias)).unsqueeze(0)


class AttentionReadout(nn.Module):
    """One cross-attention block: four heads, residual, LayerNorm, feed-forward, residual, LayerNorm."""

    def __init__(self, hidden: int, heads: int, feed_forward: int, dropout: float, *, fixed_query: bool) -> None:
        super().__init__()
        self.heads = heads
        self.head_width = hidden // heads
        self.dropout = dropout
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.value = nn.Linear(hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, hidden, bias=False)
        self.type_embedding = nn.Parameter(torch.zeros(2, hidden))
        """Rows: searches, evidence."""
        self.attention_norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, feed_forward)
        self.contract = nn.Linear(feed_forward, hidden)
        self.output_norm = nn.LayerNorm(hidden)
        self.fixed_query = nn.Parameter(torch.randn(hidden) * hidden**-0.5) if fixed_query else None
        """Control: the same learned query for every candidate instead of its answer."""

    def forward(self, answers: Tensor, searches: Tensor, evidence: Tensor, contexts: tuple[Bucket, ...]) -> Tensor:
        """[candidates, hidden] answers, updated by what they read."""
        read = self._attend(answers, searches, evidence, contexts)
        attended = self.attention_norm(answers + self._drop(linear(read, self.output.weight)))
        expanded = functional.gelu(linear(attended, self.expand.weight, self.expand.bias))
        fed = linear(self._drop(expanded), self.contract.weight, self.contract.bias)
        result: Tensor = self.output_norm(attended + self._drop(fed))
        return result

    def _drop(self, states: Tensor) -> Tensor:
        return dropout(states, self.dropout, training=self.training)

    def weights(
        self, answers: Tensor, searches: Tensor, evidence: Tensor, contexts: tuple[Bucket, ...]
    ) -> Iterator["ContextWeights"]:
        """What each candidate's heads look at, a bucket at a time."""
        heads, width = self.heads, self.head_width
        asks = answers if self.fixed_query is None else self.fixed_query.expand_as(answers)
        states = torch.cat((searches + self.type_embedding[0], evidence + self.type_embedding[1]))
        # q . (K h) = (K^T q) . h: keys and values move to the few answers instead of the many states.
        queries = linear(asks, self.query.weight).view(-1, heads, width).transpose(0, 1)
        keys = self.key.weight.view(heads, width, heads * width)
        sought = torch.bmm(queries, keys).transpose(0, 1) / math.sqrt(width)
        for bucket in contexts:
            own = states.index_select(0, bucket.rows.view(-1)).view(*bucket.rows.shape, heads * width)
            logits = torch.bmm(sought.index_select(0, bucket.candidates), own.transpose(1, 2))
            if bucket.padding is not None:
                logits = logits.masked_fill(bucket.padding.unsqueeze(1), -torch.inf)
            yield ContextWeights(bucket, own, logits.softmax(-1))

    def _attend(self, answers: Tensor, searches: Tensor, evidence: Tensor, contexts: tuple[Bucket, ...]) -> Tensor:
        heads, width = self.heads, self.head_width
        hidden = heads * width
        pooled = answers.new_zeros(len(answers), heads, hidden)
        if contexts:
            found = [
                torch.bmm(read.weights, read.states) for read in self.weights(answers, searches, evidence, contexts)
            ]
            pooled = pooled.index_copy_(0, torch.cat([bucket.candidates for bucket in contexts]), torch.cat(found))
        values = self.value.weight.view(heads, width, hidden).transpose(1, 2)
        return torch.bmm(pooled.transpose(0, 1), values).transpose(0, 1).reshape(-1, hidden)


class ContextWeights(NamedTuple):
    """Attention of the candidates of one bucket."""

    bucket: Bucket
    states: Tensor
    """[candidates, length, hidden]: their contexts."""
    weights: Tensor
    """[candidates, heads, length]"""


class TraceNet(nn.Module):
    """Scores every candidate of a batch of graphs."""

    def __init__(self, config: NetConfig, recipe: GraphRecipe) -> None:
        super().__init__()
        self.config = config
        self.recipe = recipe
        hidden = config.hidden
        # The score compares these two with each other: what is lost by rounding here is not averaged out.
        self.query_encoder = TypeEncoder(config.width, hidden, longest_sum=SHORT_SUM)
        self.answer_encoder = TypeEncoder(config.width, hidden, longest_sum=SHORT_SUM)
        self.search_encoder = TypeEncoder(config.width, hidden)
        self.evidence_encoder = TypeEncoder(config.width, hidden)
        self.votes = nn.Linear(2, hidden, bias=False)
        nn.init.zeros_(self.votes.weight)
        self.orphan = nn.Parameter(torch.zeros(hidden)) if recipe.keeps_bare_searches else None
        self.document = nn.Parameter(torch.zeros(hidden)) if recipe.documents != "none" else None
        self.layers = nn.ModuleList(
            RelationLayer(relations(recipe), len(recipe.slots), hidden, config.dropout) for _ in range(config.layers)
        )
        self.graph_readout = GraphReadout(hidden, config.dropout) if config.readout in ("graph", "two_stage") else None
        self.attention = (
            None
            if config.readout == "graph"
            else AttentionReadout(
                hidden, config.heads, config.feed_forward, config.dropout, fixed_query=config.readout == "fixed"
            )
        )
        if config.readout == "two_stage" and self.attention is not None:
            nn.init.zeros_(self.attention.output_norm.weight)  # the residual starts as nothing
        self.query_readout = nn.Linear(hidden, hidden)
        self.answer_readout = nn.Linear(hidden, hidden)
        self.log_scale = nn.Parameter(torch.tensor(math.log(config.initial_scale)))

    def forward(self, graph: GraphTensors, vectors: Vectors) -> Tensor:
        """[candidates] scores."""
        query, answers, states = self.encode(graph, vectors)
        states = self.propagate(states, query, graph)
        answers = self.read(answers, states, graph)
        return self.score(query, answers, graph.candidate_pool)

    def encode(self, graph: GraphTensors, vectors: Vectors) -> tuple[Tensor, Tensor, States]:
        """Initial states; each distinct text is encoded once and then taken by its occurrences."""
        table = vectors.table
        queries = torch.cat((self.search_encoder(table, vectors.queries), self.search_encoder.of_zero()))
        searches = queries.index_select(0, graph.search_query)
        has_orphans = self.orphan is not None and graph.has_orphans
        if self.orphan is not None and has_orphans:
            searches = searches + graph.search_is_orphan * self.orphan
        contents = self.evidence_encoder(table, vectors.contents)
        answers = self.answer_encoder(table, vectors.answers).index_select(0, graph.candidate_answer)
        documents = None if self.document is None else self.document.expand(graph.documents, -1)
        tables = Tables(None if has_orphans else queries, graph.search_query, contents, graph.evidence_content)
        return (
            self.query_encoder(table, vectors.questions),
            answers + self.votes(graph.vote_features),
            States(searches, contents.index_select(0, graph.evidence_content), documents, tables),
        )

    def propagate(self, states: States, query: Tensor, graph: GraphTensors) -> States:
        """L layers of relation-specific messages; answers take no part."""
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, RelationLayer)
            # Documents only speak to evidence of the next layer, so the last layer's update would go unheard.
            last = number + 1 == len(self.layers)
            if isinstance(graph.links, Links):
                states = layer(states, query, graph.links, updates_documents=not last)
            else:
                states = propagate_edges(layer, states, query, graph.links, self.recipe.slots)
        return states

    def read(self, answers: Tensor, states: States, graph: GraphTensors) -> Tensor:
        """Candidate representations from the states of their own rollouts."""
        if self.graph_readout is not None:
            answers = self.graph_readout(answers, states, graph.contexts)
        if self.attention is not None:
            read = self.attention(answers, states.searches, states.evidence, graph.contexts)
            # The second stage learns a residual on top of the frozen graph readout.
            answers = answers + read if self.config.readout == "two_stage" else read
        return answers

    def score(self, query: Tensor, answers: Tensor, candidate_pool: Tensor) -> Tensor:
        """Scaled cosine between the question and each candidate (Eq. 9)."""
        asked = functional.normalize(
            linear(query, self.query_readout.weight, self.query_readout.bias), dim=-1
        ).index_select(0, candidate_pool)
        given = functional.normalize(linear(answers, self.answer_readout.weight, self.answer_readout.bias), dim=-1)
        return self.scale() * (asked * given).sum(-1)

    def scale(self) -> Tensor:
        """gamma = min(exp(eta), 100)."""
        return self.log_scale.exp().clamp(max=self.config.largest_scale)
