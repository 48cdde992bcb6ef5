"""Each candidate reads the states of its own rollout: the answer-conditioned QFormer (Eq. 5-8, App. A.4)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.selectors.trace.dropout import dropout
from tracerank.selectors.trace.inputs import Bucket


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
        asks = answers if self.fixed_query is None else self.fixed_query.expand_as(answers)
        read = self._attend(asks, searches, evidence, contexts)
        attended = self.attention_norm(answers + self._drop(self.output(read)))
        fed = self.contract(self._drop(functional.gelu(self.expand(attended))))
        result: Tensor = self.output_norm(attended + self._drop(fed))
        return result

    def _drop(self, states: Tensor) -> Tensor:
        return dropout(states, self.dropout, training=self.training)

    def _attend(self, asks: Tensor, searches: Tensor, evidence: Tensor, contexts: tuple[Bucket, ...]) -> Tensor:
        heads, width = self.heads, self.head_width
        hidden = heads * width
        states = torch.cat((searches + self.type_embedding[0], evidence + self.type_embedding[1]))
        # q . (K h) = (K^T q) . h: keys and values move to the few answers instead of the many states.
        queries = self.query(asks).view(-1, heads, width).transpose(0, 1)
        sought = torch.bmm(queries, self.key.weight.view(heads, width, hidden)).transpose(0, 1) / math.sqrt(width)
        pooled = asks.new_zeros(len(asks), heads, hidden)
        for bucket in contexts:
            own = states[bucket.rows]  # [candidates, length, hidden]
            logits = torch.bmm(sought[bucket.candidates], own.transpose(1, 2))
            if bucket.padding is not None:
                logits = logits.masked_fill(bucket.padding.unsqueeze(1), -torch.inf)
            pooled = pooled.index_copy(0, bucket.candidates, torch.bmm(logits.softmax(-1), own))
        values = self.value.weight.view(heads, width, hidden).transpose(1, 2)
        return torch.bmm(pooled.transpose(0, 1), values).transpose(0, 1).reshape(-1, hidden)
