"""The ``plus`` network: it starts as the vote and learns corrections.

score = a log(vote share of the group) + log(share of the form in its group)    the vote
      + linear corrections: by features, more or less so with more votes;
        by the mean vector of the own texts that hold the answer                fitted with a, a convex problem
      + a correction by attention over the pool's candidates                    learned on top
      + optional: a nonlinear correction; g (scaled cosine of TRACE)            learned on top

Every correction starts at zero (TRACE's by its factor g near zero), so an untrained net is the vote.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracerank.selectors.plus.facts import (
    CROSS_FAMILIES,
    FAMILY_OF,
    FEATURE_NAMES,
    FORM_SHARE,
    GROUP_SHARE,
    MARKS,
    POOL_SIZE,
    VOTE_FAMILY,
)
from tracerank.selectors.plus.inputs import PlusInputs, by_pool
from tracerank.selectors.trace.dropout import dropout
from tracerank.selectors.trace.graphs.schema import GraphRecipe
from tracerank.selectors.trace.inputs import Vectors
from tracerank.selectors.trace.net import NetConfig, TraceNet


@dataclass(frozen=True, slots=True)
class PlusConfig:
    """Sizes and parts of the network; 0 or False leaves a part out."""

    width: int
    """Length of the frozen vectors."""
    dropped_families: tuple[str, ...] = CROSS_FAMILIES
    """Families of features that are not looked at: what others saw comes by the links of the graph instead."""
    by_size: bool = True
    """The weights of the linear correction may change with the number of votes."""
    feature_hidden: int = 0
    """Width of the nonlinear correction."""
    vote_dropout: float = 0.0
    """Share of training pools whose votes are hidden."""
    among: int = 16
    """Width of the comparison between candidates."""
    cosines: bool = False
    """Cosines between question, answer and evidence are features."""
    sources: float = 0.1
    """Scale of the mean vector of own texts that hold the answer in a linear correction of its own; 0: none."""
    graph: bool = True
    """TRACE's own score enters, too."""
    gate: float = 0.1
    """Where the factor of TRACE's score starts."""
    marks: bool = True
    """Evidence states know whether the text holds the answer, and the like."""
    texts: bool = False
    """TRACE's encoders see the frozen vectors; otherwise its nodes know only marks, cosines and their links."""
    rank: int = 32
    """Length to which one shared projection shortens the frozen vectors."""
    input_dropout: float = 0.3
    """Share of vector elements that are hidden in training."""
    hidden: int = 32
    layers: int = 2
    heads: int = 4
    feed_forward: int = 64
    dropout: float = 0.3

    def __post_init__(self) -> None:
        sizes = (self.feature_hidden, self.among, self.rank)
        if self.width < 1 or min(sizes) < 0:
            raise ValueError("sizes must not be negative")
        for name in ("vote_dropout", "input_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")

    @property
    def net(self) -> NetConfig:
        """Of the part that is TRACE."""
        width = (self.rank or self.width) if self.texts else 1
        return NetConfig(width, self.hidden, self.layers, self.heads, self.feed_forward, self.dropout)


COSINES = 5
"""Angles that a candidate has."""
_COSINE_SCALE = 5.0
"""Differences of cosines within a pool are some tenths; features have a deviation of one."""


@dataclass(frozen=True, slots=True)
class Cosines:
    """Angles between frozen vectors."""

    of_candidates: Tensor
    """[candidates, COSINES]: as far as a candidate differs from its pool's mean."""
    of_occurrences: Tensor
    """[occurrences, 2]: with the question, and with the answer of the own rollout."""


@torch.no_grad()
def cosines_of(inputs: PlusInputs) -> Cosines:
    """Best and mean angles of own evidence with question and answer, and between these two."""
    vectors, graph = inputs.vectors, inputs.graph
    candidate, pool = inputs.occurrence_candidate, graph.candidate_pool
    parts = (vectors.questions, vectors.answers, vectors.contents)
    questions, answers, contents = (_unit(vectors.table, rows) for rows in parts)
    answers = answers[graph.candidate_answer]
    # A content belongs to one pool, so its cosine with the question is needed once.
    content_pool = pool.new_zeros(len(contents)).index_copy(0, graph.evidence_content, pool[candidate])
    asked = (contents * questions[content_pool]).sum(-1)[graph.evidence_content]
    given = (contents[graph.evidence_content] * answers[candidate]).sum(-1)
    best = [_largest(values, candidate, len(answers)) for values in (asked, given, asked + given)]
    mean = _mean(asked, candidate, len(answers))
    of_candidates = torch.stack((*best, mean, (answers * questions[pool]).sum(-1)), -1)
    return Cosines(_COSINE_SCALE * _centred(of_candidates, inputs), torch.stack((asked, given), -1))


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


def _largest(values: Tensor, of: Tensor, count: int) -> Tensor:
    # A candidate without evidence keeps 0, as if nothing were alike.
    return values.new_zeros(count).scatter_reduce(0, of, values, "amax", include_self=False)


def _mean(values: Tensor, of: Tensor, count: int) -> Tensor:
    sizes = torch.bincount(of, minlength=count).clamp_min(1)
    summed = values.new_zeros(count, *values.shape[1:]).index_add(0, of, values)
    return summed / (sizes if values.dim() == 1 else sizes.unsqueeze(-1))


ABSTAINS = -1e4
"""Score of a candidate that abstains."""


class PlusNet(nn.Module):
    """Scores every candidate of a batch of graphs."""

    centre: Tensor
    scale: Tensor
    is_used: Tensor
    is_vote: Tensor

    def __init__(self, config: PlusConfig, recipe: GraphRecipe) -> None:
        super().__init__()
        self.config = config
        self.recipe = recipe
        count = len(FEATURE_NAMES)
        self.register_buffer("centre", torch.zeros(count))
        self.register_buffer("scale", torch.ones(count))
        used = [FAMILY_OF[name] not in config.dropped_families for name in FEATURE_NAMES]
        self.register_buffer("is_used", torch.tensor(used, dtype=torch.float32), persistent=False)
        votes = [FAMILY_OF[name] == VOTE_FAMILY for name in FEATURE_NAMES]
        self.register_buffer("is_vote", torch.tensor(votes, dtype=torch.float32), persistent=False)
        inputs = 2 * count + (COSINES if config.cosines else 0)
        self.vote_scale = nn.Parameter(torch.ones(()))
        self.linear = _zero(nn.Linear(inputs + (count if config.by_size else 0), 1, bias=False))
        self.trust = _zero(nn.Linear(config.width, 1, bias=False)) if config.sources else None
        self.expand = nn.Linear(inputs, config.feature_hidden) if config.feature_hidden else None
        self.contract = _zero(nn.Linear(config.feature_hidden, 1, bias=False)) if config.feature_hidden else None
        self.trace = TraceNet(config.net, recipe) if config.graph else None
        self.gate = nn.Parameter(torch.tensor(config.gate)) if config.graph else None
        self.shorten = (
            nn.Linear(config.width, config.rank, bias=False) if config.graph and config.texts and config.rank else None
        )
        self.enter = nn.Linear(inputs, config.hidden, bias=False) if config.graph and config.marks else None
        marks = len(MARKS) + (2 if config.cosines else 0)
        self.marks = nn.Linear(marks, config.hidden, bias=False) if config.graph and config.marks else None
        self.among = Among(inputs + config.graph, config.among, config.dropout) if config.among else None

    def forward(self, inputs: PlusInputs) -> Tensor:
        """[candidates] scores."""
        hides = torch.rand(inputs.graph.pools) < self.config.vote_dropout if self.training else None
        shows = None if hides is None else (~hides).float()[inputs.graph.candidate_pool]
        cosines = self.cosines(inputs)
        looks = self.looks(inputs, cosines, shows)
        vote = votes(inputs) if shows is None else votes(inputs) * shows.unsqueeze(-1)
        scores = self.start(vote, looks, self.sources(inputs))
        if self.expand is not None and self.contract is not None:
            moved = self._drop(functional.gelu(self.expand(self._drop(looks))))
            scores = scores + self.contract(moved).squeeze(-1)
        if self.trace is not None and self.gate is not None:
            read = self.gate * self._trace(inputs, looks, cosines)
            scores = scores + read
            looks = torch.cat((looks, read.unsqueeze(-1)), -1)
        if self.among is not None:
            scores = scores + self.among(looks, inputs)
        result: Tensor = scores.masked_fill(inputs.groups < 0, ABSTAINS)
        return result

    def _drop(self, values: Tensor) -> Tensor:
        return dropout(values, self.config.dropout, training=self.training)

    def start(self, votes: Tensor, looks: Tensor, sources: Tensor | None) -> Tensor:
        """[candidates]: the vote as a score, with linear corrections; all that is fitted in one go."""
        if self.config.by_size:
            size = looks[:, FEATURE_NAMES.index(POOL_SIZE)].unsqueeze(-1)
            looks = torch.cat((looks, size * looks[:, : len(FEATURE_NAMES)]), -1)
        scores: Tensor = self.vote_scale * votes[:, 0] + votes[:, 1] + self.linear(looks).squeeze(-1)
        return scores if self.trust is None else scores + self.trust(sources).squeeze(-1)

    def sources(self, inputs: PlusInputs) -> Tensor | None:
        """[candidates, width]: what the linear correction by vectors looks at; None: there is none."""
        return sources_of(inputs, self.config.sources) if self.config.sources else None

    def cosines(self, inputs: PlusInputs) -> Cosines | None:
        """Angles between vectors; None: the net does not look at them."""
        return cosines_of(inputs) if self.config.cosines else None

    def looks(self, inputs: PlusInputs, cosines: Cosines | None, shows: Tensor | None = None) -> Tensor:
        """[candidates, inputs]: standardised features, which are missing, and cosines."""
        missing = inputs.features.isnan()
        values = ((inputs.features - self.centre) / self.scale).masked_fill(missing, 0.0).clamp(-5, 5) * self.is_used
        if shows is not None:
            values = values * (1 - self.is_vote * (1 - shows).unsqueeze(-1))
        parts = [values, missing.float() * self.is_used]
        if cosines is not None:
            parts.append(cosines.of_candidates)
        return torch.cat(parts, -1)

    def _trace(self, inputs: PlusInputs, looks: Tensor, cosines: Cosines | None) -> Tensor:
        assert self.trace is not None
        query, answers, states = self.trace.encode(inputs.graph, self._shortened(inputs.vectors))
        if self.enter is not None:
            answers = answers + self.enter(looks)
        if self.marks is not None:
            marks = inputs.marks if cosines is None else torch.cat((inputs.marks, cosines.of_occurrences), -1)
            # Occurrences of one text now differ, so tables of distinct texts no longer stand for them.
            states = states._replace(evidence=states.evidence + self.marks(marks), tables=None)
        states = self.trace.propagate(states, query, inputs.graph)
        answers = self.trace.read(answers, states, inputs.graph)
        return self.trace.score(query, answers, inputs.graph.candidate_pool)

    def _shortened(self, vectors: Vectors) -> Vectors:
        parts = (vectors.questions, vectors.queries, vectors.contents, vectors.answers)
        if not self.config.texts:
            return Vectors(torch.zeros(1, 1), *map(torch.zeros_like, parts))
        rows, place = torch.unique(torch.cat(parts), return_inverse=True)
        table = dropout(vectors.table[rows].float(), self.config.input_dropout, training=self.training)
        if self.shorten is not None:
            table = self.shorten(table)
        return Vectors(table, *place.split([len(part) for part in parts]))


class Among(nn.Module):
    """A correction of each candidate by attention over all candidates of its pool, in whatever order they come."""

    def __init__(self, inputs: int, width: int, rate: float) -> None:
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.attention = nn.MultiheadAttention(width, 2, dropout=rate, batch_first=True)
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
