"""Fitting the two heads of the span scorer: listwise, over all spans of the passages found for a question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from torch import Tensor, nn

from studies.shipped_weights.lexical_data import Example
from studies.shipped_weights.lexical_weights import dense_features
from tracerank.answers.exact import normalize_answer
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.lexical.analysis import (
    CONTEXTS,
    CROSS_BUCKETS,
    MAX_RELATION_KEYS,
    asked_share,
    bare_title,
    crosses,
)
from tracerank.lab.lexical.questions import parse_question
from tracerank.lab.lexical.span_scorer import DENSE, SpanScorer
from tracerank.lab.lexical.spans import hash_of

HIDDEN = (64, 32)
EPOCHS = 3
BATCH = 24
NEGATIVES = 120
"""Wrong spans a question and epoch, drawn anew each time."""
CROSS_DROPOUT = 0.25
BRIDGE_WEIGHT = 0.5
CROSS_SCALE = 0.5
MAX_FOUND, MAX_GOLD = 8, 3
_CROSSES = (MAX_RELATION_KEYS + 2) * CONTEXTS


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """All spans of the passages found for a question."""

    dense: np.ndarray
    crosses: np.ndarray
    """Padded with CROSS_BUCKETS."""
    targets: np.ndarray
    """(spans, 2): is an answer; names another gold passage that the question does not name."""


def found_for(example: Example, retriever: Retriever) -> list[Passage]:
    """What an agent may meet: the question's own results, those about its names, and the gold passages."""
    parsed = parse_question(example.question.text)
    rng = Random(hash_of(parsed.text))
    found = list(retriever.search(parsed.text, 5))
    for name in parsed.names[:2]:
        words = rng.sample(parsed.relation, min(2, len(parsed.relation)))
        found += retriever.search(" ".join([name, *words]), 2)
    met = _distinct(found)[:MAX_FOUND]
    known = {(passage.title, passage.text) for passage in met}
    return met + [passage for passage in example.gold if (passage.title, passage.text) not in known][:MAX_GOLD]


def _distinct(passages: Iterable[Passage]) -> list[Passage]:
    return list({(passage.title, passage.text): passage for passage in passages}.values())


def listing_of(example: Example, retriever: Retriever, scorer: SpanScorer) -> Listing | None:
    """The features and targets of a question; None: nothing was found."""
    view = scorer.lens(example.question.text).view
    passages = found_for(example, retriever)
    if not passages:
        return None
    answers = set(map(normalize_answer, example.question.references))
    titles = {normalize_answer(bare_title(title)) for title in example.gold_titles}
    dense, crossed, targets = [], [], []
    for passage in (scorer.analyse(found.title, found.text) for found in passages):
        dense.append(dense_features(view, passage).astype(np.float16))
        buckets = np.full((len(passage), _CROSSES), CROSS_BUCKETS, np.int32)
        own = crosses(view, passage)
        buckets[:, : own.shape[1]] = own
        crossed.append(buckets)
        # An option is named by the question; only the names to follow are learned from a comparison. A passage's own
        # title is not worth following: its page has been found already.
        shares = asked_share(view, passage).tolist()
        targets += [
            (name in answers and not view.parsed.options, name in titles and share < 1 and not is_title)
            for name, share, is_title in zip(passage.names, shares, passage.is_title.tolist(), strict=True)
        ]
    return Listing(np.concatenate(dense), np.concatenate(crossed), np.array(targets))


class Heads(nn.Module):
    """The scorer in torch."""

    def __init__(self) -> None:
        super().__init__()
        self.cross = nn.EmbeddingBag(CROSS_BUCKETS + 1, 2, mode="sum", padding_idx=CROSS_BUCKETS)
        nn.init.zeros_(self.cross.weight)
        first, second = HIDDEN
        self.dense = nn.Sequential(
            *(nn.Linear(DENSE, first), nn.ReLU()),
            *(nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 2)),
        )

    def forward(self, dense: Tensor, crossed: Tensor) -> Tensor:
        crossed = torch.where(torch.rand(crossed.shape) < CROSS_DROPOUT, CROSS_BUCKETS, crossed).int()
        return self.dense(dense) + self.cross(crossed) * CROSS_SCALE

    def arrays(self) -> tuple[np.ndarray, tuple[tuple[np.ndarray, np.ndarray], ...]]:
        """Cross table and layers for inference, where nothing is left out."""
        table = self.cross.weight[:-1].detach().numpy() * CROSS_SCALE * (1 - CROSS_DROPOUT)
        layers = [layer for layer in self.dense if isinstance(layer, nn.Linear)]
        return table, tuple((layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in layers)


def fit_heads(listings: Sequence[Listing], seed: int = 0, epochs: int = EPOCHS) -> Heads:
    """Train both heads; a question without a right span for a head does not teach it."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    heads = Heads()
    tables = torch.optim.Adagrad(heads.cross.parameters(), lr=0.06)
    layers = torch.optim.AdamW(heads.dense.parameters(), lr=2e-3, weight_decay=1e-3)
    useful = [listing for listing in listings if listing.targets.any()]
    steps = epochs * -(-len(useful) // BATCH)
    decay = torch.optim.lr_scheduler.LinearLR(layers, 1.0, 0.02, steps)
    for _ in range(epochs):
        order = rng.permutation(len(useful))
        for start in range(0, len(order), BATCH):
            loss = _loss(heads, [useful[place] for place in order[start : start + BATCH]], rng)
            tables.zero_grad()
            layers.zero_grad()
            loss.backward()
            tables.step()
            layers.step()
            decay.step()
    return heads.eval()


def _loss(heads: Heads, batch: Sequence[Listing], rng: np.random.Generator) -> Tensor:
    dense, crossed, targets, question = [], [], [], []
    for number, listing in enumerate(batch):
        kept = listing.targets.any(axis=1) | (rng.random(len(listing.dense)) < NEGATIVES / len(listing.dense))
        dense.append(listing.dense[kept])
        crossed.append(listing.crosses[kept])
        targets.append(listing.targets[kept])
        question += [number] * int(kept.sum())
    logits = heads(torch.from_numpy(np.concatenate(dense)).float(), torch.from_numpy(np.concatenate(crossed)))
    right = torch.from_numpy(np.concatenate(targets))
    group = torch.tensor(question)
    answer, bridge = (listwise(logits[:, head], right[:, head], group, len(batch)) for head in (0, 1))
    return answer + BRIDGE_WEIGHT * bridge


def listwise(logits: Tensor, right: Tensor, group: Tensor, groups: int) -> Tensor:
    """Mean over groups of -log of the probability that a right member is drawn."""
    has_right = torch.zeros(groups).index_add(0, group, right.float()) > 0
    everything = log_sum_exp(logits, group, groups)
    rights = log_sum_exp(logits[right], group[right], groups)
    return (everything - rights)[has_right].mean()


def log_sum_exp(logits: Tensor, group: Tensor, groups: int) -> Tensor:
    """By group; a group without members gets a very small number."""
    top = torch.full((groups,), -1e9).scatter_reduce(0, group, logits.detach(), "amax")
    return top + torch.zeros(groups).index_add(0, group, (logits - top[group]).exp()).clamp_min(1e-30).log()
