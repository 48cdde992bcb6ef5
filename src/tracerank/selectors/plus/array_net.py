"""``plus`` nets without torch: chances of a pool's candidates from the arrays of a folder, equal to torch's to 1e-5.

For nets that read no vectors of texts (``PlusConfig.sources`` is 0): marks, features and links are all they see, so
there is no encoder either. Another selector asks them by ``load_numpy_nets`` and ``net_chances``; training is torch's.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import CheckpointError
from tracerank.selectors.plus.array_layers import Linear, Norm, RelationArrays, States, gelu, softmax, unit
from tracerank.selectors.plus.array_weights import stacked
from tracerank.selectors.plus.choice import ABSTAINS
from tracerank.selectors.plus.description import (
    COMPARING_HEADS,
    WEIGHTS_FILE,
    PlusAbout,
    Weights,
    read_about,
    read_weights,
    write_folder,
)
from tracerank.selectors.plus.facts import (
    FAMILY_OF,
    FEATURE_NAMES,
    FORM_SHARE,
    GROUP_SHARE,
    POOL_SIZE,
    PlusFacts,
    facts_of,
)
from tracerank.trace.graphs.build import PoolGraph
from tracerank.trace.graphs.layout import content_cells, every_node, lay_out
from tracerank.trace.graphs.packed import Floats, GraphBatch, Longs, collate
from tracerank.trace.graphs.schema import GraphRecipe

RUN_OCCURRENCES = 2_000
"""Graphs are computed together up to so much evidence: beyond it states leave the cache, and memory grows."""


def load_numpy_nets(folder: str | Path) -> "ArrayNets":
    """The nets in a folder of kind ``trace-plus``, if they read no texts."""
    return ArrayNets(read_about(folder), read_weights(folder), str(Path(folder) / WEIGHTS_FILE))


def net_chances(nets: "ArrayNets", graph: PoolGraph, facts: PlusFacts | None = None) -> NDArray[np.float32]:
    """The chance of every candidate of one pool; they sum to one, and are none where nobody answered.

    The graph is ``build_graph(pool, nets.recipe)``. Candidates are its forms of answers in the order of their first
    rollouts; ``graph.rollout_candidate()`` has the candidate of each kept rollout. ``facts`` are those of
    ``facts_of(graph)``, when the caller has them already; their ``groups`` say which candidates are one answer.
    """
    if not graph.retained.kept:
        return np.zeros(0, np.float32)
    return nets.chances([graph], [facts or facts_of(graph)])


class ArrayNets:
    """Nets of one configuration, computed side by side."""

    encoder = None
    """They read no vectors."""

    def __init__(self, about: PlusAbout, weights: Weights, source: str = "the weights") -> None:
        """``weights`` as torch names them, the number of the net first; ``source`` is where they come from."""
        if about.config.sources or about.recipe.merge_evidence:
            raise CheckpointError(f"{source}: nets that read texts or merge evidence need torch")
        self.about, self.weights = about, weights
        named = stacked(about, weights, source)
        config, names = about.config, about.names
        self._columns = [FEATURE_NAMES.index(name) for name in names]
        self._size_column = names.index(POOL_SIZE)
        self._is_used = np.array([FAMILY_OF[name] not in config.dropped_families for name in names], np.float32)
        self._named = named
        self._linear = Linear.named(named, "linear")
        self._enter, self._marks = Linear.named(named, "enter"), Linear.named(named, "marks")
        # All texts are zeros, so each encoder has one state to give.
        query, self._answer, self._search, self._evidence = (
            gelu(Norm.named(named, f"trace.{kind}_encoder.norm")(named[f"trace.{kind}_encoder.project.bias"][:, None]))
            for kind in ("query", "answer", "search", "evidence")
        )
        self._votes = Linear.named(named, "trace.votes")
        self._layers = [RelationArrays(named, f"trace.layers.{n}", query) for n in range(config.layers)]
        self._reading = _Reading(named, config.heads)
        scale = np.minimum(np.exp(named["trace.log_scale"]), np.float32(config.net.largest_scale))
        self._asked = unit(Linear.named(named, "trace.query_readout")(query)) * scale[:, None, None]
        self._given = Linear.named(named, "trace.answer_readout")
        self._among = _Comparing(named) if config.among else None

    @property
    def recipe(self) -> GraphRecipe:
        return self.about.recipe

    def save(self, folder: str | Path) -> None:
        write_folder(self.about, self.weights, folder)

    def chances(self, graphs: Sequence[PoolGraph], facts: Sequence[PlusFacts]) -> NDArray[np.float32]:
        """Of all candidates of the graphs, each of which has some, in order; they sum to one in each pool."""
        found = []
        for run in _runs(graphs):
            batch = collate([graph.packed for graph in graphs[run]])
            scores = self._scores(batch, facts[run])
            table = softmax(_by_pool(scores, batch, -np.inf))
            found.append(table.mean(0).reshape(-1)[_places(batch)])
        return np.concatenate(found)

    def _scores(self, batch: GraphBatch, facts: Sequence[PlusFacts]) -> Floats:
        """[nets, candidates]"""
        features, groups, marks = (
            np.concatenate([getattr(each, name) for each in facts]) for name in ("features", "groups", "marks")
        )
        looks = self._looks(features)
        read = self._named["gate"][:, None] * self._traced(batch, looks, marks)
        scores = self._start(features, looks) + read
        if self._among is not None:
            scores += self._among(np.concatenate((looks, read[..., None]), -1), groups < 0, batch)
        return np.where(groups < 0, np.float32(ABSTAINS), scores)

    def _looks(self, features: Floats) -> Floats:
        """[nets, candidates, inputs]: standardised features, and which are missing."""
        seen = features[:, self._columns]
        missing = np.isnan(seen)
        values = (seen - self._named["centre"][:, None]) / self._named["scale"][:, None]
        values = np.clip(np.where(missing, np.float32(0), values), -5, 5) * self._is_used
        return np.concatenate((values, np.broadcast_to(missing * self._is_used, values.shape)), -1)

    def _start(self, features: Floats, looks: Floats) -> Floats:
        """[nets, candidates]: the vote, with linear corrections."""
        group, form = (features[:, FEATURE_NAMES.index(name)] for name in (GROUP_SHARE, FORM_SHARE))
        vote, share = np.nan_to_num(np.log(group)), np.nan_to_num(np.log(form / group))
        by_size = looks[..., self._size_column, None] * looks[..., : len(self._columns)]
        moved = self._linear(np.concatenate((looks, by_size), -1))[..., 0]
        scores: Floats = self._named["vote_scale"][:, None] * vote + share + moved
        return scores

    def _traced(self, batch: GraphBatch, looks: Floats, marks: Floats) -> Floats:
        """[nets, candidates]: the part that is TRACE."""
        recipe, named = self.about.recipe, self._named
        searches = np.repeat(self._search, batch.searches, axis=1)
        if recipe.keeps_bare_searches:
            searches += batch.search_is_orphan[:, None].astype(np.float32) * named["trace.orphan"][:, None]
        documents = None
        if recipe.documents != "none":
            documents = np.repeat(named["trace.document"][:, None], batch.documents, axis=1)
        states = States(searches, self._evidence + self._marks(marks), documents)
        layout = lay_out(batch, recipe, content_cells(batch), every_node(batch))
        for number, layer in enumerate(self._layers):
            last = number + 1 == len(self._layers)
            states = layer(states, layout, batch.evidence_document, updates_documents=not last)
        answers = self._answer + self._votes(batch.vote_features()) + self._enter(looks)
        answers = self._reading(answers, states, batch)
        scored: Floats = (self._asked * unit(self._given(answers))).sum(-1)
        return scored


class _Reading:
    """Each answer attends to the searches and evidence of its own rollouts (Eq. 5-8)."""

    def __init__(self, named: Mapping[str, Floats], heads: int) -> None:
        name = "trace.attention"
        nets, hidden, _ = named[f"{name}.query.weight"].shape
        self._query, self._output = Linear.named(named, f"{name}.query"), Linear.named(named, f"{name}.output")
        shape = (nets, heads, hidden // heads, hidden)
        self._keys = named[f"{name}.key.weight"].reshape(shape) / np.float32(math.sqrt(hidden // heads))
        self._values = named[f"{name}.value.weight"].reshape(shape).swapaxes(2, 3)
        self._types = named[f"{name}.type_embedding"]
        self._attention_norm = Norm.named(named, f"{name}.attention_norm")
        self._expand, self._contract = Linear.named(named, f"{name}.expand"), Linear.named(named, f"{name}.contract")
        self._output_norm = Norm.named(named, f"{name}.output_norm")

    def __call__(self, answers: Floats, states: States, batch: GraphBatch) -> Floats:
        attended = self._attention_norm(answers + self._output(self._read(answers, states, batch)))
        return self._output_norm(attended + self._contract(gelu(self._expand(attended))))

    def _read(self, answers: Floats, states: States, batch: GraphBatch) -> Floats:
        """[nets, candidates, hidden]: what the heads found, side by side; zero where there is nothing to read."""
        nets, candidates, hidden = answers.shape
        heads = self._keys.shape[1]
        of_search = batch.rollout_candidate[batch.search_rollout]
        candidate = np.concatenate((of_search, of_search[batch.evidence_search]))
        order = np.argsort(candidate, kind="stable")
        candidate = candidate[order]
        begins = np.flatnonzero(np.append(True, candidate[1:] != candidate[:-1])[: len(candidate)])
        readers = candidate[begins]
        pooled = np.zeros((nets, heads, candidates, hidden), np.float32)
        if len(readers):
            types = self._types[:, :, None]
            own = np.concatenate((states.searches + types[:, 0], states.evidence + types[:, 1]), axis=1)[:, order]
            # q . (K h) = (K^T q) . h: keys and values move to the few answers instead of the many states.
            asks = self._query(answers).reshape(nets, candidates, heads, -1).swapaxes(1, 2)
            sought = (asks @ self._keys)[:, :, candidate]
            logits = np.einsum("skmd,smd->skm", sought, own)
            place = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(candidate))))
            raised = np.exp(logits - np.maximum.reduceat(logits, begins, axis=2)[:, :, place])
            raised /= np.add.reduceat(raised, begins, axis=2)[:, :, place]
            pooled[:, :, readers] = np.add.reduceat(raised[..., None] * own[:, None], begins, axis=2)
        return (pooled @ self._values).swapaxes(1, 2).reshape(nets, candidates, hidden)


class _Comparing:
    """A correction of each candidate by attention over all candidates of its pool."""

    def __init__(self, named: Mapping[str, Floats]) -> None:
        self._enter, self._leave = Linear.named(named, "among.enter"), Linear.named(named, "among.leave")
        self._norm = Norm.named(named, "among.norm")
        weight, bias = named["among.attention.in_proj_weight"], named["among.attention.in_proj_bias"]
        self._project = Linear(weight.swapaxes(1, 2), bias[:, None])
        self._output = Linear.named(named, "among.attention.out_proj")

    def __call__(self, looks: Floats, abstains: NDArray[np.bool_], batch: GraphBatch) -> Floats:
        """[nets, candidates]"""
        states = gelu(self._enter(looks))
        nets, _, width = states.shape
        table = _by_pool(self._project(states), batch, 0.0)
        most = table.shape[2]
        split = table.reshape(nets, batch.pools, most, 3, COMPARING_HEADS, width // COMPARING_HEADS)
        asks, keys, values = (split[..., part, :, :].swapaxes(2, 3) for part in range(3))
        absent = _by_pool(abstains[None], batch, missing=True)[:, :, None, None]
        logits = asks @ keys.swapaxes(-1, -2) / np.float32(math.sqrt(width // COMPARING_HEADS))
        heard = softmax(np.where(absent, np.float32(-np.inf), logits)) @ values
        flat = heard.swapaxes(2, 3).reshape(nets, -1, width)[:, _places(batch)]
        moved: Floats = self._leave(gelu(self._norm(states + self._output(flat))))[..., 0]
        return moved


def _runs(graphs: Sequence[PoolGraph]) -> Iterator[slice]:
    """Neighbouring graphs with not too much evidence together."""
    begin = held = 0
    for number, graph in enumerate(graphs):
        # A packed graph has four columns of evidence and six shorter ones; its length will do as a measure.
        size = len(graph.packed) // 4
        if held and held + size > RUN_OCCURRENCES:
            yield slice(begin, number)
            begin, held = number, 0
        held += size
    if held:
        yield slice(begin, len(graphs))


def _places(batch: GraphBatch) -> Longs:
    """[candidates]: where each lies in a flattened table of pools and their candidates."""
    offsets = batch.candidate_offsets()
    most = int(np.diff(offsets).max())
    return np.arange(batch.candidates) + (np.arange(batch.pools) * most - offsets[:-1])[batch.candidate_pool]


def _by_pool(values: NDArray[np.generic], batch: GraphBatch, missing: float) -> Floats:
    """[nets, pools, most, …]: the candidates' values with a row per pool."""
    most = int(np.diff(batch.candidate_offsets()).max())
    table = np.full((len(values), batch.pools * most, *values.shape[2:]), missing, values.dtype)
    table[:, _places(batch)] = values
    return table.reshape(len(values), batch.pools, most, *values.shape[2:])
