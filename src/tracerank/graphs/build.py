"""A retained pool as a graph of occurrences: one integer array and the distinct texts it points to.

Knows nothing of vectors: a node holds the index of its text. Edges are not listed; they follow from the
array (``graphs/edges.py`` lists them for statistics and tests), so building is linear in the occurrences.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tracerank.graphs.packed import HEADER, NO_TEXT, Ints, pack
from tracerank.graphs.schema import GraphRecipe
from tracerank.pools.answers import normalize_answer
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Retained


@dataclass(frozen=True, slots=True)
class GraphTexts:
    """The distinct texts of one graph, by node type; the arrays hold indices into them."""

    question: str
    queries: tuple[str, ...]
    contents: tuple[str, ...]
    answers: tuple[str, ...]

    def all(self) -> tuple[str, ...]:
        """Question, queries, contents, answers: the order in which vectors are looked up."""
        return (self.question, *self.queries, *self.contents, *self.answers)


@dataclass(frozen=True, slots=True)
class PoolGraph:
    """One question's graph and the rollouts behind its candidates."""

    texts: GraphTexts
    packed: Ints
    """The structure as one array: see ``graphs/packed.py``."""
    retained: Retained

    def rollout_candidate(self) -> list[int]:
        """The candidate of each kept rollout."""
        return [int(candidate) for candidate in self.packed[HEADER : HEADER + len(self.retained.kept)]]


class _Numbering(dict[str, int]):
    """Numbers keys in order of first sight."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


def build_graph(pool: Pool, recipe: GraphRecipe) -> PoolGraph:
    """The graph of what the recipe retains of the pool."""
    retained = pool.retained(recipe.retention, recipe.document_rules)
    slots_of = _slot_rule(recipe)
    queries, contents, documents = _Numbering(), _Numbering(), _Numbering()
    search_rollout: list[int] = []
    search_query: list[int] = []
    orphans: list[int] = []
    evidence_search: list[int] = []
    slots: list[int] = []
    evidence_content: list[int] = []
    evidence_document: list[int] = []
    for number, rollout in enumerate(retained.kept):
        scope = f"{number}/" if recipe.documents == "rollout" else ""
        for search in rollout.searches:
            evidence = search.evidence
            if not (evidence or recipe.keeps_bare_searches):
                continue
            if recipe.documents != "none":
                # A source that nobody named is its own document: it must link nothing.
                begin = len(slots)
                evidence_document += [
                    documents[scope + e.document.key if e.document else f"unnamed:{begin + place}"]
                    for place, e in enumerate(evidence)
                ]
            evidence_search += [len(search_rollout)] * len(evidence)
            slots += slots_of(evidence)
            evidence_content += [contents[occurrence.text] for occurrence in evidence]
            search_rollout.append(number)
            search_query.append(queries[search.query] if search.query else NO_TEXT)
            orphans.append(search.query is None)
    answers, rollout_candidate, candidate_answer, votes = _candidates(retained, recipe)
    packed = pack(
        (len(queries), len(contents), len(answers), len(documents)),
        rollout_candidate=rollout_candidate,
        candidate_answer=candidate_answer,
        candidate_votes=votes,
        search_rollout=search_rollout,
        search_query=search_query,
        search_is_orphan=orphans,
        evidence_search=evidence_search,
        evidence_slot=slots,
        evidence_content=evidence_content,
        evidence_document=evidence_document,
    )
    return PoolGraph(GraphTexts(pool.question.text, tuple(queries), tuple(contents), answers), packed, retained)


def _slot_rule(recipe: GraphRecipe) -> Callable[[tuple[Evidence, ...]], list[int]]:
    numbers = range(len(recipe.slots))
    if recipe.slot_by == "rank":
        return partial(_slots_by_rank, {number + 1: number for number in numbers}, numbers[-1])
    return partial(_slots_by_tool, dict(zip(recipe.slots, numbers, strict=True)))


def _slots_by_rank(slot_of: dict[int | None, int], last: int, evidence: tuple[Evidence, ...]) -> list[int]:
    ranks = [e.rank for e in evidence]
    if None in ranks:
        ranks = [place + 1 if rank is None else rank for place, rank in enumerate(ranks)]
    return [slot_of.get(rank, last) for rank in ranks]


def _slots_by_tool(slot_of: dict[str, int], evidence: tuple[Evidence, ...]) -> list[int]:
    # Text that a search itself returned was shown whole, as an opened page is.
    return [slot_of.get(e.tool, 0) for e in evidence]


def _candidates(retained: Retained, recipe: GraphRecipe) -> tuple[tuple[str, ...], list[int], list[int], list[int]]:
    """Answer texts, the candidate of each rollout, and each candidate's text and votes."""
    surface = [rollout.answer or "" for rollout in retained.kept]
    groups = _Numbering()
    group_of_surface = {text: groups[normalize_answer(text)] for text in dict.fromkeys(surface)}
    group_of = [group_of_surface[text] for text in surface]
    votes = [0] * len(groups)
    first: list[int] = []
    for index, group in enumerate(group_of):
        if votes[group] == 0:
            first.append(index)
        votes[group] += 1
    if recipe.merge_answers:
        return tuple(surface[index] for index in first), group_of, list(range(len(first))), votes
    if recipe.answer_text == "first_of_group":
        surface = [surface[first[group]] for group in group_of]
    texts = _Numbering()
    chosen = [texts[text] for text in surface]
    return tuple(texts), list(range(len(surface))), chosen, [votes[group] for group in group_of]
