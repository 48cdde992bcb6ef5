"""A small network in which every meaning of a pool attends to all texts of the pool, over marks of answers in texts.

After the mention network of the feasibility experiments, without its graph between texts. It is not monotone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from studies.quality.carry_marks import COSINE_MARK, MARKS, TEXT_MARKS, MarkedTable
from tracerank.selectors.features.fit import LabelledTable, question_weights
from tracerank.selectors.meaning.table import FIT, MEANING_FEATURES, SEARCHED, VOTES

NOBODY = -1e4
"""A score that no row which is there has."""
ROW_COLUMNS = tuple(
    place for place, feature in enumerate(MEANING_FEATURES.features) if feature.family in (VOTES, FIT, SEARCHED)
)
"""What the network knows of a meaning besides its marks: all that is not evidence."""
SHARE = next(place for place, feature in enumerate(MEANING_FEATURES.features) if feature.name == "vote_share")


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """How a network is trained."""

    width: int = 32
    heads: int = 4
    dropout: float = 0.3
    steps: int = 800
    batch: int = 32
    rate: float = 3e-3
    decay: float = 0.3
    has_cosines: bool = False
    """Whether it sees the cosines of the question with windows."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Pools padded to one size."""

    rows: Tensor
    start: Tensor
    is_row: Tensor
    marks: Tensor
    texts: Tensor
    is_text: Tensor


class Attention(nn.Module):
    """Scores of meanings: their share of votes, and what is read off the texts."""

    def __init__(self, plan: AttentionPlan, center: NDArray[np.float32], scale: NDArray[np.float32]) -> None:
        super().__init__()
        width, self._plan, self._center, self._scale = plan.width, plan, center, scale
        self.row = nn.Linear(len(ROW_COLUMNS), width)
        self.mark, self.text = nn.Linear(len(MARKS), width), nn.Linear(len(TEXT_MARKS), width)
        self.of_row, self.norm = nn.Linear(width, width, bias=False), nn.LayerNorm(width)
        self.attend, self.value = nn.Linear(width, plan.heads), nn.Linear(width, width)
        self.out, self.norm_out = nn.Linear(2 * width + 1, width), nn.LayerNorm(width)
        self.inner, self.outer, self.norm_end = (
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
            nn.LayerNorm(width),
        )
        self.score = nn.Linear(width, 1, bias=False)
        nn.init.zeros_(self.score.weight)
        self.votes = nn.Parameter(torch.ones(()))

    def batch(self, tables: Sequence[MarkedTable]) -> Batch:
        """Tables that have rows, as tensors."""
        rows, texts = max(len(one.values) for one in tables), max(1, *(len(one.texts) for one in tables))
        shapes = ((rows, len(ROW_COLUMNS)), (rows,), (rows, texts, len(MARKS)), (texts, len(TEXT_MARKS)))
        row, start, marks, text = (np.zeros((len(tables), *shape), np.float32) for shape in shapes)
        is_row, is_text = np.zeros((len(tables), rows), np.bool_), np.zeros((len(tables), texts), np.bool_)
        for place, one in enumerate(tables):
            size, seen = one.marks.shape[:2]
            row[place, :size] = ((one.values[:, ROW_COLUMNS] - self._center) / self._scale).clip(-5, 5)
            start[place, :size] = np.log(one.values[:, SHARE])
            marks[place, :size, :seen], text[place, :seen] = one.marks, one.texts
            is_row[place, :size], is_text[place, :seen] = True, True
        if not self._plan.has_cosines:
            marks[..., COSINE_MARK] = 0.0
        return Batch(*map(torch.from_numpy, (row, start, is_row, marks, text, is_text)))

    def forward(self, batch: Batch) -> Tensor:
        """[pools, rows]"""
        own = self.row(batch.rows)
        seen = self.mark(batch.marks) + self.text(batch.texts)[:, None] + self.of_row(own)[:, :, None]
        seen = functional.gelu(self.norm(seen))
        is_seen = batch.is_text[:, None, :, None]
        weights = self.attend(seen).masked_fill(~is_seen, NOBODY).softmax(2) * is_seen
        values = self.value(seen).unflatten(-1, (self._plan.heads, -1))
        read = (weights[..., None] * values).sum(2).flatten(2)
        count = batch.is_text.sum(1)[:, None, None].expand(-1, own.shape[1], 1).float()
        mean = (seen * is_seen).sum(2) / count.clamp_min(1)
        read = self.out(torch.cat((read, mean, torch.log1p(count) / 3), -1))
        hidden = self.norm_out(own + self._dropped(read))
        inner = self._dropped(functional.gelu(self.inner(hidden)))
        hidden = self.norm_end(hidden + self._dropped(self.outer(inner)))
        scores: Tensor = self.votes * batch.start + self.score(hidden).squeeze(-1)
        return scores.masked_fill(~batch.is_row, NOBODY)

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self._plan.dropout, self.training)

    @torch.no_grad()
    def scores(self, table: MarkedTable) -> NDArray[np.float64]:
        """Of one pool's rows."""
        return self(self.batch([table]))[0].numpy().astype(np.float64)


def train(examples: Sequence[LabelledTable], importance: Sequence[float], plan: AttentionPlan, seed: int) -> Attention:
    """A network that has learned a choice among meanings; questions are drawn by their weight."""
    weights = question_weights(examples) * np.asarray(importance)
    taught = [place for place, one in enumerate(examples) if 0 < one.right.sum() < len(one.right)]
    values = np.concatenate([examples[place].table.values[:, ROW_COLUMNS] for place in taught])
    torch.manual_seed(seed)
    net = Attention(plan, values.mean(axis=0), np.maximum(values.std(axis=0), 1e-3))
    chances = weights[taught] / weights[taught].sum()
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(net.parameters(), lr=plan.rate, weight_decay=plan.decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, plan.steps))
    net.train()
    for _ in range(plan.steps):
        drawn = [examples[place] for place in rng.choice(taught, plan.batch, p=chances)]
        scores = net(net.batch([_marked(one) for one in drawn]))
        wrong = torch.ones_like(scores, dtype=torch.bool)
        for place, one in enumerate(drawn):
            wrong[place, : len(one.right)] = torch.from_numpy(one.right < 0.5)
        loss = (scores.logsumexp(-1) - scores.masked_fill(wrong, NOBODY).logsumexp(-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return net.eval()


def _rate(step: int, steps: int) -> float:
    """A short rise, then half a cosine."""
    return min(1.0, (step + 1) / (0.05 * steps + 1)) * 0.5 * (1 + math.cos(math.pi * step / steps))


def _marked(one: LabelledTable) -> MarkedTable:
    if not isinstance(one.table, MarkedTable):
        raise TypeError("a network over marks needs tables with marks")
    return one.table
