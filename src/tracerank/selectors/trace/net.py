"""The selector network: encode, propagate, read, score."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.selectors.trace.encode import TypeEncoder
from tracerank.selectors.trace.graphs.schema import GraphRecipe, relations
from tracerank.selectors.trace.inputs import GraphTensors, Links, Vectors
from tracerank.selectors.trace.propagate import RelationLayer, States, Tables
from tracerank.selectors.trace.propagate_edges import GraphReadout, propagate_edges
from tracerank.selectors.trace.readout import AttentionReadout


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Sizes and variants of the network; defaults are the paper's (Sec. 3.3, App. A.4)."""

    width: int
    """Length of the frozen vectors."""
    hidden: int = 256
    layers: int = 4
    """0 bypasses the GNN (control)."""
    heads: int = 4
    feed_forward: int = 1024
    dropout: float = 0.1
    readout: Literal["answer", "fixed", "graph", "two_stage"] = "answer"
    """Attention asked by the answer, by a fixed query, no attention but graph messages, or both in two stages."""
    initial_scale: float = 10.0
    largest_scale: float = 100.0

    def __post_init__(self) -> None:
        if min(self.width, self.hidden, self.heads, self.feed_forward) < 1 or self.layers < 0:
            raise ValueError("sizes must be positive")
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")


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
        asked = functional.normalize(self.query_readout(query), dim=-1).index_select(0, candidate_pool)
        given = functional.normalize(self.answer_readout(answers), dim=-1)
        return self.scale() * (asked * given).sum(-1)

    def scale(self) -> Tensor:
        """gamma = min(exp(eta), 100)."""
        return self.log_scale.exp().clamp(max=self.config.largest_scale)
