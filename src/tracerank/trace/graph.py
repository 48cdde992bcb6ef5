"""A retained pool as a graph of occurrences: integer columns and the distinct texts they point to (Sec. 3.2).

A node is a row: searches and evidence in the order of the rollouts, so that edges follow from a few columns and
building is linear in the occurrences. Vectors and torch have no place here; ``inputs.py`` turns batches into tensors.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.exact import normalize_answer
from tracerank.pools.documents import document_keys
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Retained, Rollout, Search
from tracerank.trace.recipe import RECIPES, GraphRecipe

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

NO_TEXT = -1
"""Text index of a search without text: its input vector is zero."""

COUNTS = ("queries", "contents", "answers", "documents")
"""How many distinct ones the columns point to."""
COLUMNS = (
    "rollout_candidate",
    "candidate_answer",
    "candidate_votes",
    "search_rollout",
    "search_query",
    "search_is_orphan",
    "evidence_search",
    "evidence_slot",
    "evidence_content",
    "evidence_document",  # empty when the recipe has no documents
)
HEADER = len(COUNTS) + len(COLUMNS)
INDEX_OF = {
    "rollout_candidate": "candidates",
    "candidate_answer": "answers",
    "search_rollout": "rollouts",
    "search_query": "queries",
    "evidence_search": "searches",
    "evidence_content": "contents",
    "evidence_document": "documents",
}
"""What a column's values number; batching shifts them by how many of these the earlier graphs have."""


@dataclass(frozen=True, slots=True)
class GraphTexts:
    """The distinct texts of one graph, by node type; the arrays hold indices into them."""

    question: str
    queries: tuple[str, ...]
    contents: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def count(self) -> int:
        return 1 + len(self.queries) + len(self.contents) + len(self.answers)

    def all(self) -> tuple[str, ...]:
        """Question, queries, contents, answers: the order in which vectors are looked up."""
        return (self.question, *self.queries, *self.contents, *self.answers)


@dataclass(frozen=True, slots=True)
class PoolGraph:
    """One question's graph and the rollouts behind its candidates."""

    texts: GraphTexts
    packed: Ints
    """The counts, the length of each column, and the columns, end to end: what training keeps on disk."""
    retained: Retained
    """As logged: documents are numbers in the array only."""

    def rollout_candidate(self) -> list[int]:
        """The candidate of each kept rollout."""
        return [int(candidate) for candidate in self.packed[HEADER : HEADER + len(self.retained.kept)]]


def pool_texts(pools: Iterable[Pool], recipes: Mapping[str, GraphRecipe] = RECIPES) -> list[str]:
    """Every text whose vector TRACE needs for these pools, each once; the recipe is that of the pool's setting."""
    graphs = (build_graph(pool, recipes[pool.setting]) for pool in pools)
    return list(dict.fromkeys(text for graph in graphs for text in graph.texts.all()))


def _numbered(keys: Iterable[str]) -> dict[str, int]:
    """Distinct keys to numbers, in order of first appearance."""
    return {key: number for number, key in enumerate(dict.fromkeys(keys))}


def build_graph(pool: Pool, recipe: GraphRecipe) -> PoolGraph:
    """The graph of what the recipe retains of the pool."""
    retained = pool.unlinked(recipe.retention)
    searches = [
        (number, search)
        for number, rollout in enumerate(retained.kept)
        for search in rollout.searches
        if search.evidence or recipe.keeps_bare_searches
    ]
    occurrences = [evidence for _, search in searches for evidence in search.evidence]
    evidence_search = [node for node, (_, search) in enumerate(searches) for _ in search.evidence]
    wording = [search.query for _, search in searches]
    texts = [evidence.text for evidence in occurrences]
    keys = _document_keys(recipe, retained.kept)
    queries, contents, documents = _numbered(filter(None, wording)), _numbered(texts), _numbered(keys)
    answers, rollout_candidate, candidate_answer, votes = _candidates(retained, recipe)
    packed = _pack(
        (len(queries), len(contents), len(answers), len(documents)),
        rollout_candidate=rollout_candidate,
        candidate_answer=candidate_answer,
        candidate_votes=votes,
        search_rollout=[number for number, _ in searches],
        search_query=[queries[query] if query else NO_TEXT for query in wording],
        search_is_orphan=[query is None for query in wording],
        evidence_search=evidence_search,
        evidence_slot=_slots(recipe, searches, occurrences),
        evidence_content=[contents[text] for text in texts],
        evidence_document=[documents[key] for key in keys],
    )
    return PoolGraph(GraphTexts(pool.question.text, tuple(queries), tuple(contents), answers), packed, retained)


def _document_keys(recipe: GraphRecipe, kept: Sequence[Rollout]) -> list[str]:
    if recipe.documents == "none":
        return []
    found = document_keys(kept, recipe.document_rules)
    # An unknown source is a document of its own: it must link nothing.
    named = [f"unnamed:{index}" if key is None else key for index, key in enumerate(chain.from_iterable(found))]
    if recipe.documents == "pool":
        return named
    owners = [number for number, keys in enumerate(found) for _ in keys]
    return [f"{number}/{key}" for number, key in zip(owners, named, strict=True)]


def _slots(recipe: GraphRecipe, searches: list[tuple[int, Search]], occurrences: list[Evidence]) -> list[int]:
    last = len(recipe.slots) - 1
    if recipe.slot_by == "tool":
        slot_of_tool = {tool: number for number, tool in enumerate(recipe.slots)}
        # Text that a search itself returned was shown whole, as an opened page is.
        return [slot_of_tool.get(evidence.tool, 0) for evidence in occurrences]
    ranks = [evidence.rank for evidence in occurrences]
    if None in ranks:
        positions = [position for _, search in searches for position in range(1, len(search.evidence) + 1)]
        ranks = [position if rank is None else rank for rank, position in zip(ranks, positions, strict=True)]
    slot_of_rank: dict[int | None, int] = {number + 1: number for number in range(last)}
    return [slot_of_rank.get(rank, last) for rank in ranks]


def _candidates(retained: Retained, recipe: GraphRecipe) -> tuple[tuple[str, ...], list[int], list[int], list[int]]:
    """Answer texts, the candidate of each rollout, and each candidate's text and votes."""
    surface = [rollout.answer or "" for rollout in retained.kept]
    keys = list(map(normalize_answer, surface))
    votes, groups = Counter(keys), _numbered(keys)
    first = {key: surface[index] for index, key in reversed(list(enumerate(keys)))}
    if recipe.merge_answers:
        texts = tuple(first[key] for key in groups)
        return texts, [groups[key] for key in keys], list(groups.values()), [votes[key] for key in groups]
    if recipe.answer_text == "first_of_group":
        surface = [first[key] for key in keys]
    distinct = _numbered(surface)
    own = [distinct[text] for text in surface]
    return tuple(distinct), list(range(len(keys))), own, [votes[key] for key in keys]


def _pack(counts: tuple[int, int, int, int], **columns: Sequence[int]) -> Ints:
    flat = [*counts, *(len(columns[name]) for name in COLUMNS)]
    for name in COLUMNS:
        flat += columns[name]
    return np.array(flat, dtype=np.int32)


def unpack(packed: Sequence[Ints]) -> tuple[dict[str, Longs], dict[str, Longs], dict[str, Ints]]:
    """Counts and column lengths, both per graph, and the joined columns of several graphs."""
    headers = np.array([graph[:HEADER] for graph in packed], dtype=np.int64).reshape(-1, HEADER)
    body = np.concatenate(packed) if len(packed) else np.zeros(0, np.int32)
    sizes = headers[:, len(COUNTS) :]
    ends = np.cumsum(sizes.sum(axis=1) + HEADER)
    begins = ends[:, None] - sizes.sum(axis=1, keepdims=True) + np.cumsum(sizes, axis=1) - sizes
    columns = {}
    for number, name in enumerate(COLUMNS):
        lengths = sizes[:, number]
        shift = begins[:, number] - (np.cumsum(lengths) - lengths)
        columns[name] = body[np.repeat(shift, lengths) + np.arange(lengths.sum())]
    return dict(zip(COUNTS, headers.T, strict=False)), dict(zip(COLUMNS, sizes.T, strict=True)), columns


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """The columns of several packed graphs, renumbered to be one graph; rows keep the pools' order."""

    pools: int
    queries: int
    contents: int
    answers: int
    documents: int
    candidate_pool: Ints
    rollout_candidate: Ints
    rollout_pool: Ints
    candidate_answer: Ints
    candidate_votes: Ints
    search_rollout: Ints
    search_query: Ints
    search_is_orphan: Ints
    evidence_search: Ints
    evidence_slot: Ints
    evidence_content: Ints
    evidence_document: Ints

    @property
    def candidates(self) -> int:
        return len(self.candidate_pool)

    @property
    def searches(self) -> int:
        return len(self.search_rollout)

    @property
    def occurrences(self) -> int:
        return len(self.evidence_search)

    def candidate_offsets(self) -> Longs:
        """Where each pool's candidates begin, with the end appended."""
        counts = np.bincount(self.candidate_pool, minlength=self.pools)
        return np.concatenate(([0], np.cumsum(counts)))

    def evidence_nodes(self, recipe: GraphRecipe) -> Longs:
        """The node of each occurrence: its own, or that of its content when the recipe merges evidence."""
        return self.evidence_content.astype(np.int64) if recipe.merge_evidence else np.arange(self.occurrences)

    def evidence_rollout(self) -> Longs:
        """The rollout of each occurrence."""
        return self.search_rollout[self.evidence_search].astype(np.int64)

    def vote_features(self) -> Floats:
        """[candidates, 2]: log(1 + c) and c / R for c votes of R retained rollouts (Eq. 3)."""
        retained = np.bincount(self.rollout_pool, minlength=self.pools)[self.candidate_pool]
        votes = self.candidate_votes.astype(np.float32)
        return np.stack((np.log1p(votes), votes / np.maximum(retained, 1)), axis=1).astype(np.float32)


def collate(graphs: Sequence[Ints]) -> GraphBatch:
    """One batch of packed graphs, in order."""
    counts, lengths, columns = unpack(graphs)
    sizes = counts | {"candidates": lengths["candidate_answer"], "rollouts": lengths["rollout_candidate"]}
    sizes["searches"] = lengths["search_rollout"]
    for name, numbered in INDEX_OF.items():
        before = (np.cumsum(sizes[numbered]) - sizes[numbered]).astype(np.int32)
        values = columns[name]
        columns[name] = np.where(values < 0, values, values + np.repeat(before, lengths[name]))
    pools = np.arange(len(graphs), dtype=np.int32)
    totals: dict[str, Any] = {name: int(sizes[name].sum()) for name in COUNTS}
    return GraphBatch(
        pools=len(graphs),
        **totals,
        candidate_pool=np.repeat(pools, sizes["candidates"]),
        rollout_pool=np.repeat(pools, sizes["rollouts"]),
        **dict[str, Any](columns),
    )
