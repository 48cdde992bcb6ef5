"""A retained pool as a graph of occurrences: integer columns and the distinct texts they point to (Sec. 3.2).

A node is a row: searches and evidence in the order of the rollouts, so that edges follow from a few columns and
building is linear in the occurrences. No vectors and no torch here; ``batch.py`` turns columns into tensors.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

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
Columns = Mapping[str, Ints]
"""The columns of one graph, by name."""

NO_TEXT = -1
"""Text index of a search without text: its input vector is zero."""

TEXTS = ("question", "query", "content", "answer")
"""Columns with an entry for each distinct text of a node type: its row in a table of vectors."""
COLUMNS: Mapping[str, str | None] = {
    **dict.fromkeys(TEXTS),
    "document": None,  # an entry for each document, which has no features
    "candidate_answer": "answer",
    "candidate_votes": None,
    "rollout_candidate": "candidate_answer",
    "search_rollout": "rollout_candidate",
    "search_query": "query",
    "search_is_orphan": None,
    "evidence_search": "search_rollout",
    "evidence_slot": None,
    "evidence_content": "content",
    "evidence_document": "document",  # empty when the recipe has no documents
}
"""Each column with the column whose rows it numbers; None: plain values. The first word says what has a row."""


@dataclass(frozen=True, slots=True)
class PoolGraph:
    """One question's graph and the rollouts behind its candidates."""

    texts: Mapping[str, Sequence[str]]
    """The distinct texts of each of ``TEXTS``."""
    columns: Columns
    retained: Retained
    """As logged: documents are numbers in the columns only."""

    def all_texts(self) -> list[str]:
        return list(chain.from_iterable(self.texts.values()))

    def located(self, rows: Mapping[str, int]) -> Columns:
        """The columns, with each text's row in a table of vectors."""
        found = {kind: np.array([rows[text] for text in own], np.int32) for kind, own in self.texts.items()}
        return {**self.columns, **found}


def pool_texts(pools: Iterable[Pool], recipes: Mapping[str, GraphRecipe] = RECIPES) -> list[str]:
    """Every text whose vector TRACE needs for these pools, each once; the recipe is that of the pool's setting."""
    graphs = (build_graph(pool, recipes[pool.setting]) for pool in pools)
    return list(dict.fromkeys(text for graph in graphs for text in graph.all_texts()))


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
    wording = [search.query for _, search in searches]
    shown = [evidence.text for evidence in occurrences]
    keys = _document_keys(recipe, retained.kept)
    queries, contents, documents = _numbered(filter(None, wording)), _numbered(shown), _numbered(keys)
    answers, rollout_candidate, candidate_answer, votes = _candidates(retained, recipe)
    texts = {"question": (pool.question.text,), "query": (*queries,), "content": (*contents,), "answer": answers}
    columns = {
        **{kind: range(len(own)) for kind, own in texts.items()},
        "document": range(len(documents)),
        "candidate_answer": candidate_answer,
        "candidate_votes": votes,
        "rollout_candidate": rollout_candidate,
        "search_rollout": [number for number, _ in searches],
        "search_query": [queries[query] if query else NO_TEXT for query in wording],
        "search_is_orphan": [query is None for query in wording],
        "evidence_search": [node for node, (_, search) in enumerate(searches) for _ in search.evidence],
        "evidence_slot": _slots(recipe, searches, occurrences),
        "evidence_content": [contents[text] for text in shown],
        "evidence_document": [documents[key] for key in keys],
    }
    return PoolGraph(texts, {name: np.array(values, np.int32) for name, values in columns.items()}, retained)


def _numbered(keys: Iterable[str]) -> dict[str, int]:
    """Distinct keys to numbers, in order of first appearance."""
    return {key: number for number, key in enumerate(dict.fromkeys(keys))}


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
    positions = [position for _, search in searches for position in range(len(search.evidence))]
    ranks = [evidence.rank for evidence in occurrences]
    slots = [at if rank is None else rank - 1 for rank, at in zip(ranks, positions, strict=True)]
    return [slot if 0 <= slot < last else last for slot in slots]


def _candidates(retained: Retained, recipe: GraphRecipe) -> tuple[tuple[str, ...], list[int], list[int], list[int]]:
    """Answer texts, the candidate of each rollout, and each candidate's text and votes."""
    surface = [rollout.answer or "" for rollout in retained.kept]
    keys = list(map(normalize_answer, surface))
    votes, groups = Counter(keys), _numbered(keys)
    first = dict(zip(reversed(keys), reversed(surface), strict=True))
    if recipe.merge_answers:
        texts = tuple(first[key] for key in groups)
        return texts, [groups[key] for key in keys], list(groups.values()), [votes[key] for key in groups]
    if recipe.answer_text == "first_of_group":
        surface = [first[key] for key in keys]
    distinct = _numbered(surface)
    own = [distinct[text] for text in surface]
    return tuple(distinct), list(range(len(keys))), own, [votes[key] for key in keys]
