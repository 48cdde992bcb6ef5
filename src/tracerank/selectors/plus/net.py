"""The ``plus`` network: it starts as the vote and learns corrections.

score = a log(vote share of the group) + log(share of the form in its group)    the vote
      + linear corrections: by features, more or less so with more votes;
        by the mean vector of the own texts that hold the answer                fitted with a, a convex problem
      + g (scaled cosine of TRACE, whose nodes know marks and links, no texts)  learned on top
      + a correction by attention over the pool's candidates                    learned on top

Every correction starts at zero (TRACE's by its factor g near zero), so an untrained net is the vote.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.selectors.plus.choice import ABSTAINS
from tracerank.selectors.plus.description import COMPARING_HEADS, NO_TEXTS, PlusConfig
from tracerank.selectors.plus.facts import FAMILY_OF, FEATURE_NAMES, FORM_SHARE, GROUP_SHARE, MARKS, POOL_SIZE
from tracerank.selectors.plus.inputs import PlusInputs, by_pool
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.inputs import Vectors
from tracerank.trace.net import TraceNet


@torch.no_grad()
def sources_of(inputs: PlusInputs, scale: float) -> Tensor:
    """[candidates, width]: mean vector of the own texts that hold the answer, less the pool's mean of these.

    ``scale``: deviation of an element in relation to a feature's.
    """
    holds = inputs.marks[:, MARKS.index("holds_answer")] > 0
    texts = _unit(inputs.vectors.table, inputs.vectors.contents[inputs.graph.evidence_content[holds]])
    means = _mean(texts, inputs.occurrence_candidate[holds], len(inputs.groups))
    return scale * math.sqrt(texts.shape[1]) * _centred(means, inputs)


def _unit(table: Tensor, rows: Tensor) -> Tensor:
    return functional.normalize(table[rows].float(), dim=-1)


def _centred(values: Tensor, inputs: PlusInputs) -> Tensor:
    pool = inputs.graph.candidate_pool
    return values - _mean(values, pool, inputs.graph.pools)[pool]


def _mean(values: Tensor, of: Tensor, count: int) -> Tensor:
    sizes = torch.bincount(of, minlength=count).clamp_min(1)
    return values.new_zeros(count, values.shape[1]).index_add(0, of, values) / sizes.unsqueeze(-1)


class PlusNet(nn.Module):
    """Scores every candidate of a batch of graphs."""

    centre: Tensor
    scale: Tensor
    is_used: Tensor

    def __init__(self, config: PlusConfig, recipe: GraphRecipe, names: tuple[str, ...] = FEATURE_NAMES) -> None:
        """``names`` are the features that it looks at; a later version may compute others besides."""
        super().__init__()
        self.config = config
        self.recipe = recipe
        self.names = names
        count = len(names)
        self.register_buffer("centre", torch.zeros(count))
        self.register_buffer("scale", torch.ones(count))
        used = [FAMILY_OF[name] not in config.dropped_families for name in names]
        self.register_buffer("is_used", torch.tensor(used, dtype=torch.float32), persistent=False)
        inputs = 2 * count
        self.vote_scale = nn.Parameter(torch.ones(()))
        self.linear = _zero(nn.Linear(inputs + count, 1, bias=False))
        self.trust = _zero(nn.Linear(config.width, 1, bias=False)) if config.sources else None
        self.trace = TraceNet(config.net, recipe)
        self.gate = nn.Parameter(torch.tensor(config.gate))
        self.enter = nn.Linear(inputs, config.hidden, bias=False)
        self.marks = nn.Linear(len(MARKS), config.hidden, bias=False)
        self.among = Among(inputs + 1, config.among, config.dropout) if config.among else None

    def forward(self, inputs: PlusInputs) -> Tensor:
        """[candidates] scores."""
        looks = self.looks(inputs)
        read = self.gate * self._trace(inputs, looks)
        scores = self.start(votes(inputs), looks, self.sources(inputs)) + read
        if self.among is not None:
            scores = scores + self.among(torch.cat((looks, read.unsqueeze(-1)), -1), inputs)
        result: Tensor = scores.masked_fill(inputs.groups < 0, ABSTAINS)
        return result

    def start(self, votes: Tensor, looks: Tensor, sources: Tensor | None) -> Tensor:
        """[candidates]: the vote as a score, with linear corrections; all that is fitted in one go."""
        size = looks[:, self.names.index(POOL_SIZE)].unsqueeze(-1)
        looks = torch.cat((looks, size * looks[:, : len(self.names)]), -1)
        scores: Tensor = self.vote_scale * votes[:, 0] + votes[:, 1] + self.linear(looks).squeeze(-1)
        return scores if self.trust is None else scores + self.trust(sources).squeeze(-1)

    def sources(self, inputs: PlusInputs) -> Tensor | None:
        """[candidates, width]: what the linear correction by vectors looks at; None: there is none."""
        return sources_of(inputs, self.config.sources) if self.config.sources else None

    def looks(self, inputs: PlusInputs) -> Tensor:
        """[candidates, inputs]: standardised features, and which are missing."""
        features = inputs.features
        if self.names != FEATURE_NAMES:
            features = features[:, [FEATURE_NAMES.index(name) for name in self.names]]
        missing = features.isnan()
        values = ((features - self.centre) / self.scale).masked_fill(missing, 0.0).clamp(-5, 5) * self.is_used
        return torch.cat((values, missing.float() * self.is_used), -1)

    def _trace(self, inputs: PlusInputs, looks: Tensor) -> Tensor:
        query, answers, states = self.trace.encode(inputs.graph, _without_texts(inputs.vectors))
        answers = answers + self.enter(looks)
        # Occurrences of one text now differ, so tables of distinct texts no longer stand for them.
        states = states._replace(evidence=states.evidence + self.marks(inputs.marks), tables=None)
        states = self.trace.propagate(states, query, inputs.graph)
        answers = self.trace.read(answers, states, inputs.graph)
        return self.trace.score(query, answers, inputs.graph.candidate_pool)


def _without_texts(vectors: Vectors) -> Vectors:
    parts = (vectors.questions, vectors.queries, vectors.contents, vectors.answers)
    return Vectors(torch.zeros(1, NO_TEXTS), *map(torch.zeros_like, parts))


class Among(nn.Module):
    """A correction of each candidate by attention over all candidates of its pool, in whatever order they come."""

    def __init__(self, inputs: int, width: int, rate: float) -> None:
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.attention = nn.MultiheadAttention(width, COMPARING_HEADS, dropout=rate, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.leave = _zero(nn.Linear(width, 1, bias=False))

    def forward(self, looks: Tensor, inputs: PlusInputs) -> Tensor:
        """[candidates]"""
        states = by_pool(functional.gelu(self.enter(looks)), inputs, 0.0)
        absent = by_pool(inputs.groups < 0, inputs, missing=True)
        heard, _ = self.attention(states, states, states, key_padding_mask=absent, need_weights=False)
        moved: Tensor = self.leave(functional.gelu(self.norm(states + heard))).flatten()
        return moved[inputs.places]


def votes(inputs: PlusInputs) -> Tensor:
    """[candidates, 2]: log vote share of the group, and log share of the form in it.

    Summed over a group's forms, exp(a first + second) is the group's share to the power a.
    """
    group, form = (inputs.features[:, FEATURE_NAMES.index(name)] for name in (GROUP_SHARE, FORM_SHARE))
    return torch.nan_to_num(torch.stack((group.log(), (form / group).log()), -1))


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    return layer


def chances(nets: Sequence[PlusNet], inputs: PlusInputs) -> Tensor:
    """[candidates]: chances that sum to one in each pool, averaged over the nets."""
    with torch.inference_mode():
        tables = [by_pool(net(inputs), inputs, -torch.inf).softmax(-1) for net in nets]
        return torch.stack(tables).mean(0).flatten()[inputs.places]
