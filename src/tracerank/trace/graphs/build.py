"""A retained pool as a graph of occurrences: one integer array and the distinct texts it points to.

Knows nothing of vectors: a node holds the index of its text. Edges are not listed; they follow from the
array (``edges.py`` lists them for statistics and tests), so building is linear in the occurrences.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from tracerank.answers.equivalence import group_answers
from tracerank.answers.exact import normalize_answer
from tracerank.pools.documents import document_keys
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Retained, Rollout, Search
from tracerank.trace.graphs.packed import HEADER, NO_TEXT, Ints, pack
from tracerank.trace.graphs.schema import RECIPES, GraphRecipe


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
    """The structure as one array: see ``trace/graphs/packed.py``."""
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
    """Distinct keys to numbers, in order of first sight."""
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
    asked = [search.query for _, search in searches]
    texts = [evidence.text for evidence in occurrences]
    keys = _document_keys(recipe, retained.kept)
    queries, contents, documents = _numbered(filter(None, asked)), _numbered(texts), _numbered(keys)
    answers, rollout_candidate, candidate_answer, votes = _candidates(retained, recipe, pool.question.text)
    packed = pack(
        (len(queries), len(contents), len(answers), len(documents)),
        rollout_candidate=rollout_candidate,
        candidate_answer=candidate_answer,
        candidate_votes=votes,
        search_rollout=[number for number, _ in searches],
        search_query=[queries[query] if query else NO_TEXT for query in asked],
        search_is_orphan=[query is None for query in asked],
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
    # A source that nobody named is its own document: it must link nothing.
    keys = chain.from_iterable(found)
    named = [f"unnamed:{place}" if key is None else key for place, key in enumerate(keys)]
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
        places = [place for _, search in searches for place in range(1, len(search.evidence) + 1)]
        ranks = [place if rank is None else rank for rank, place in zip(ranks, places, strict=True)]
    slot_of_rank: dict[int | None, int] = {number + 1: number for number in range(last)}
    return [slot_of_rank.get(rank, last) for rank in ranks]


def _candidates(
    retained: Retained, recipe: GraphRecipe, question: str
) -> tuple[tuple[str, ...], list[int], list[int], list[int]]:
    """Answer texts, the candidate of each rollout, and each candidate's text and votes."""
    surface = [rollout.answer or "" for rollout in retained.kept]
    group_of = _answer_groups(surface, recipe, question)
    votes = [0] * (max(group_of, default=-1) + 1)
    first: list[int] = []
    for index, group in enumerate(group_of):
        if votes[group] == 0:
            first.append(index)
        votes[group] += 1
    if recipe.merge_answers:
        return tuple(surface[index] for index in first), group_of, list(range(len(first))), votes
    if recipe.answer_text == "first_of_group":
        surface = [surface[first[group]] for group in group_of]
    texts = _numbered(surface)
    return (
        tuple(texts),
        list(range(len(surface))),
        [texts[text] for text in surface],
        [votes[group] for group in group_of],
    )


def _answer_groups(surface: list[str], recipe: GraphRecipe, question: str) -> list[int]:
    """The group of each answer, numbered by first appearance."""
    distinct = list(dict.fromkeys(surface))
    keys = [normalize_answer(text) for text in distinct]
    if recipe.equality != "exact":
        # What answers nothing (an abstention) is one only with its like.
        found = group_answers(distinct, question, recipe.equality)
        keys = [key if group < 0 else f"\0{group}" for key, group in zip(keys, found, strict=True)]
    groups = _numbered(keys)
    group_of_surface = {text: groups[key] for text, key in zip(distinct, keys, strict=True)}
    return [group_of_surface[text] for text in surface]
