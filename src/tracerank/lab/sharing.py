"""How much the rollouts of a question share: the counts of App. A.3 and the overlap of App. E.

Pairs are counted from group sizes, graph by graph; the quadratic number of same-content edges is never listed.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from tracerank.errors import UsageError
from tracerank.fitting.train import guess_setting
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.trace.batch import collate
from tracerank.trace.graph import build_graph
from tracerank.trace.recipe import GraphRecipe, relations

IDENTICAL_CONTENT = "identical content"
SAME_DOCUMENT = "same document"
BOTH = "both"


@dataclass(frozen=True, slots=True)
class Sharing:
    """What one matching rule links, per question graph; graphs without a shared group count with zero."""

    groups_mean: float
    """Distinct contents or documents that at least two rollouts saw."""
    pairs_mean: float
    """Unordered pairs of occurrences of one group in different rollouts."""
    pairs_median: float
    pairs_p90: float
    graphs_share: float
    """Share of graphs with at least one such pair, between 0 and 1."""
    overlap_mean: float | None
    """Jaccard similarity of two rollouts' retrieved sets (App. E); None: no question has two retained rollouts."""


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """The statistics of many question graphs; totals unless named a mean."""

    questions: int
    rollouts: int
    """Before anything was dropped."""
    retained: int
    searches: int
    occurrences: int
    """Evidence occurrences."""
    dropped: Mapping[str, int]
    """Reason to number of rollouts."""
    sharing: Mapping[str, Sharing]
    """By matching rule: identical content and, in recipes with documents, same document."""
    differing_content: float | None
    """Share of same-document cross-rollout pairs with different content; None: there are no such pairs."""
    edges_mean: Mapping[str, float]
    """Directed message edges per graph, by ``source|relation|target``."""

    def mean(self, total: int) -> float:
        """A total per question graph."""
        return total / self.questions if self.questions else 0.0


def graph_statistics(pools: Iterable[Pool], recipe: GraphRecipe) -> GraphStatistics:
    """Statistics over a stream of pools; keeps a few numbers per graph."""
    totals, dropped, edges = Counter[str](), Counter[str](), Counter[str]()
    counts: dict[str, list[_Counts]] = {IDENTICAL_CONTENT: [], SAME_DOCUMENT: [], BOTH: []}
    for pool in pools:
        graph = build_graph(pool, recipe)
        columns, kept = graph.columns, len(graph.retained.kept)
        search, content = columns["evidence_search"], columns["evidence_content"].tolist()
        totals.update(questions=1, rollouts=len(pool), retained=kept)
        totals.update(searches=len(columns["search_query"]), occurrences=len(search))
        dropped.update(drop_reasons(pool, graph.retained.dropped))
        rollout = columns["search_rollout"][search].tolist()
        counts[IDENTICAL_CONTENT].append(_count(content, rollout, kept))
        if recipe.documents != "none":
            document = columns["evidence_document"].tolist()
            counts[SAME_DOCUMENT].append(_count(document, rollout, kept))
            counts[BOTH].append(_count(list(zip(document, content, strict=True)), rollout, kept))
        for name, heard in collate([columns], recipe).neighbours.items():
            edges[name] += int((heard.sizes if heard.of_target is None else heard.sizes[heard.of_target]).sum())
    pairs = {rule: sum(each.pairs for each in found) for rule, found in counts.items()}
    both = counts.pop(BOTH)
    return GraphStatistics(
        **{name: totals[name] for name in ("questions", "rollouts", "retained", "searches", "occurrences")},
        dropped=dict(dropped.most_common()),
        sharing={rule: _sharing(found) for rule, found in counts.items() if found},
        differing_content=1 - pairs[BOTH] / pairs[SAME_DOCUMENT] if both and pairs[SAME_DOCUMENT] else None,
        edges_mean={"|".join(each): edges[each.name] / max(totals["questions"], 1) for each in relations(recipe)},
    )


def of_one_setting(pools: Iterable[Pool]) -> tuple[str, Iterator[Pool]]:
    """The pools and their setting, on which they must agree: one recipe counts them."""
    name, stream = guess_setting(pools)

    def checked() -> Iterator[Pool]:
        for pool in stream:
            if pool.setting != name and any(rollout.problem is None for rollout in pool.rollouts):
                raise UsageError(
                    f"question {pool.question.id!r} has {pool.setting} rollouts, others {name}; "
                    "count them apart, or choose with --setting"
                )
            yield pool

    return name, checked()


class _Counts(NamedTuple):
    """One graph by one matching rule: shared groups, and pairs of occurrences in different rollouts."""

    groups: int
    pairs: int
    overlap: float | None


def _count(groups: Sequence[Hashable], rollout: Sequence[int], rollouts: int) -> _Counts:
    """Counts from n_gr, the occurrences of group g in rollout r."""
    cells = Counter(zip(groups, rollout, strict=True))
    saw: list[set[Hashable]] = [set() for _ in range(rollouts)]
    for group, number in cells:
        saw[number].add(group)
    overlaps = [len(one & other) / max(len(one | other), 1) for one, other in combinations(saw, 2)]
    return _Counts(
        groups=sum(count > 1 for count in Counter(group for group, _ in cells).values()),
        # The sum over rollouts r < s of n_gr n_gs.
        pairs=(sum(n**2 for n in Counter(groups).values()) - sum(n**2 for n in cells.values())) // 2,
        overlap=fmean(overlaps) if overlaps else None,
    )


def _sharing(counts: Sequence[_Counts]) -> Sharing:
    groups, pairs, overlap = zip(*counts, strict=True)
    overlaps = [each for each in overlap if each is not None]
    median, p90 = np.percentile(pairs, (50, 90))
    return Sharing(
        groups_mean=fmean(groups),
        pairs_mean=fmean(pairs),
        pairs_median=float(median),
        pairs_p90=float(p90),
        graphs_share=fmean(each > 0 for each in pairs),
        overlap_mean=fmean(overlaps) if overlaps else None,
    )
