"""How much the rollouts of a question share: the counts of App. A.3 and the overlap of App. E.

Pairs are counted from group sizes, graph by graph; the quadratic number of same-content edges is never listed.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, combinations
from statistics import fmean
from typing import Any

import numpy as np

from tracerank.errors import UsageError
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.trace.graph import GraphBatch, build_graph, collate
from tracerank.trace.recipe import GraphRecipe, Relation, relations

IDENTICAL_CONTENT = "identical content"
SAME_DOCUMENT = "same document"


@dataclass(frozen=True, slots=True)
class Sharing:
    """What one matching rule links, per question graph; graphs without a shared group count with zero."""

    groups_mean: float
    """Distinct contents or documents that at least two rollouts saw."""
    pairs_mean: float
    """Unordered pairs of occurrences of one group in different rollouts."""
    pairs_median: float
    pairs_p90: float
    pairs_total: int
    graphs_share: float
    """Share of graphs with at least one such pair, between 0 and 1."""
    within_edges_mean: float
    """Ordered pairs of occurrences of one group in the same rollout."""
    overlap_mean: float | None
    """Jaccard similarity of two rollouts' retrieved sets (App. E); None: no question has two retained rollouts."""


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """The statistics of many question graphs; totals unless named a mean."""

    questions: int
    rollouts: int
    """Before anything was dropped."""
    retained: int
    dropped: Mapping[str, int]
    """Reason to number of rollouts."""
    searches: int
    occurrences: int
    """Evidence occurrences."""
    edges_mean: Mapping[Relation, float]
    """Directed message edges per graph."""
    sharing: Mapping[str, Sharing]
    """By matching rule: identical content and, in recipes with documents, same document."""
    differing_content: float | None
    """Share of same-document cross-rollout pairs with different content; None: there are no such pairs."""

    def mean(self, total: int) -> float:
        """A total per question graph."""
        return total / self.questions if self.questions else 0.0

    def record(self) -> dict[str, Any]:
        """The statistics as JSON has them, relations by name."""
        plain = {name: value for name, value in asdict(self).items() if name != "edges_mean"}
        return {**plain, "edges_mean": {str(relation): mean for relation, mean in self.edges_mean.items()}}


def graph_statistics(pools: Iterable[Pool], recipe: GraphRecipe) -> GraphStatistics:
    """Statistics over a stream of pools; keeps a few numbers per graph."""
    tally = _Tally(recipe)
    for pool in pools:
        tally.add(pool)
    return tally.result()


def shared_setting(pools: Iterable[Pool]) -> tuple[str, Iterator[Pool]]:
    """The setting of the first readable pool, and all the pools, which must agree: one recipe counts them."""
    stream = iter(pools)
    early = []
    for pool in stream:
        early.append(pool)
        if _shows_setting(pool):
            break
    if not early:
        raise UsageError("no pools, so no search setting: give some")
    name = early[-1].setting
    return name, _agreeing(chain(early, stream), name)


def _agreeing(pools: Iterable[Pool], name: str) -> Iterator[Pool]:
    for pool in pools:
        if _shows_setting(pool) and pool.setting != name:
            raise UsageError(
                f"question {pool.question.id!r} has {pool.setting} rollouts, those before it {name}; "
                "count them apart, or choose with --setting"
            )
        yield pool


def _shows_setting(pool: Pool) -> bool:
    return any(rollout.problem is None for rollout in pool.rollouts)


@dataclass(frozen=True, slots=True)
class _Counts:
    """One graph by one matching rule: shared groups, cross-rollout pairs and ordered within-rollout pairs."""

    groups: int
    pairs: int
    within: int
    overlap: float | None


@dataclass(slots=True)
class _Tally:
    recipe: GraphRecipe
    questions: int = 0
    rollouts: int = 0
    retained: int = 0
    searches: int = 0
    occurrences: int = 0
    same_source_and_content: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    edges: Counter[str] = field(default_factory=Counter)
    counts: dict[str, list[_Counts]] = field(default_factory=dict)

    def add(self, pool: Pool) -> None:
        graph = build_graph(pool, self.recipe)
        batch = collate([graph.packed])
        kept = len(graph.retained.kept)
        self.questions += 1
        self.rollouts += len(pool)
        self.retained += kept
        self.searches += batch.searches
        self.occurrences += batch.occurrences
        self.dropped.update(drop_reasons(pool, graph.retained.dropped))
        rollout = batch.evidence_rollout().tolist()
        content, document = batch.evidence_content.tolist(), batch.evidence_document.tolist()
        contents = _count(content, rollout, kept)
        self.counts.setdefault(IDENTICAL_CONTENT, []).append(contents)
        if self.recipe.documents != "none":
            self.counts.setdefault(SAME_DOCUMENT, []).append(_count(document, rollout, kept))
            both = list(zip(document, content, strict=True))
            self.same_source_and_content += _count(both, rollout, kept).pairs
        self.edges.update(_edge_counts(batch, self.recipe, contents))

    def result(self) -> GraphStatistics:
        sharing = {rule: _sharing(counts) for rule, counts in self.counts.items()}
        same_document = sharing[SAME_DOCUMENT].pairs_total if SAME_DOCUMENT in sharing else 0
        return GraphStatistics(
            questions=self.questions,
            rollouts=self.rollouts,
            retained=self.retained,
            dropped=dict(self.dropped.most_common()),
            searches=self.searches,
            occurrences=self.occurrences,
            edges_mean={each: self.edges[each.name] / max(self.questions, 1) for each in relations(self.recipe)},
            sharing=sharing,
            differing_content=1 - self.same_source_and_content / same_document if same_document else None,
        )


def _count(groups: Sequence[Hashable], rollout: Sequence[int], rollouts: int) -> _Counts:
    """Counts from n_gr, the occurrences of group g in rollout r."""
    found: dict[Hashable, Counter[int]] = {}
    for group, seen_by in zip(groups, rollout, strict=True):
        found.setdefault(group, Counter())[seen_by] += 1
    totals = sum(sum(n.values()) ** 2 for n in found.values())
    squares = sum(count**2 for n in found.values() for count in n.values())
    saw: list[set[Hashable]] = [set() for _ in range(rollouts)]
    for group, by in found.items():
        for number in by:
            saw[number].add(group)
    overlaps = [len(one & other) / max(len(one | other), 1) for one, other in combinations(saw, 2)]
    return _Counts(
        groups=sum(len(by) > 1 for by in found.values()),
        pairs=(totals - squares) // 2,  # sum over r < s of n_gr n_gs
        within=squares - len(groups),
        overlap=fmean(overlaps) if overlaps else None,
    )


def _edge_counts(batch: GraphBatch, recipe: GraphRecipe, contents: _Counts) -> dict[str, int]:
    """Directed edges by relation, each counted once."""
    node, search = batch.evidence_nodes(recipe).tolist(), batch.evidence_search.tolist()
    starting = len(set(batch.search_rollout.tolist()))
    found = {
        "starts": starting,
        "next": batch.searches - starting,
        "previous": batch.searches - starting,
        "same_content_within": contents.within,
        "same_content_cross": 2 * contents.pairs,
    }
    shown = set(zip(batch.evidence_slot.tolist(), node, search, strict=True))
    for number, slot in enumerate(recipe.slots):
        found[slot] = found[f"{slot}_of"] = sum(slot_number == number for slot_number, *_ in shown)
    if recipe.documents != "none":
        found["in_document"] = found["holds"] = len(set(zip(node, batch.evidence_document.tolist(), strict=True)))
    return found


def _sharing(counts: Sequence[_Counts]) -> Sharing:
    pairs = [each.pairs for each in counts]
    overlaps = [each.overlap for each in counts if each.overlap is not None]
    median, p90 = np.percentile(pairs, (50, 90))
    return Sharing(
        groups_mean=fmean(each.groups for each in counts),
        pairs_mean=fmean(pairs),
        pairs_median=float(median),
        pairs_p90=float(p90),
        pairs_total=sum(pairs),
        graphs_share=fmean(each > 0 for each in pairs),
        within_edges_mean=fmean(each.within for each in counts),
        overlap_mean=fmean(overlaps) if overlaps else None,
    )
