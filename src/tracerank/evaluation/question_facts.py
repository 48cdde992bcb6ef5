"""What is true of a question whatever method decides: which samples are right, which may be chosen, what they share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracerank.pools.correctness import correctness, is_judged
from tracerank.pools.pool import Pool


@dataclass(frozen=True, slots=True)
class SharedEvidence:
    """What one matching rule links in one question's graph (App. A.3)."""

    groups: int
    """Contents or documents that at least two rollouts saw."""
    pairs: int
    """Occurrences of one group in different rollouts."""
    overlap: float | None
    """Mean Jaccard similarity of two rollouts' retrieved sets (App. E); None: fewer than two retained rollouts."""


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """One question and all its samples, in sampling order."""

    question_id: str
    dataset: str | None
    backbone: str | None
    setting: str
    correct: tuple[float | None, ...]
    """Per sample; None: nobody knows."""
    dropped: tuple[str | None, ...]
    """Per sample: why the selector's rule leaves it out; None: it is retained."""
    searches: tuple[int, ...]
    """Per sample."""
    k: int
    """Graph figures below are of the first K samples."""
    occurrences: int
    """Evidence that the retained rollouts saw, each time counted."""
    sharing: Mapping[str, SharedEvidence] = field(default_factory=dict)
    """By matching rule."""

    @property
    def key(self) -> tuple[str | None, str]:
        return self.backbone, self.question_id

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "QuestionFacts":
        """As it was written."""
        sharing = {rule: SharedEvidence(**found) for rule, found in record["sharing"].items()}
        lists = {name: tuple(record[name]) for name in ("correct", "dropped", "searches")}
        return cls(**{**record, **lists, "sharing": sharing})


def facts_of(pool: Pool, k: int, backbone: str | None = None) -> QuestionFacts:
    """The facts of a pool, with the graph of its first K samples."""
    # They bring numpy, for which --help shall not wait.
    from tracerank.selectors.trace.graphs.recipes import RECIPES
    from tracerank.selectors.trace.graphs.stats import UNREADABLE, graph_statistics

    recipe = RECIPES[pool.setting]
    retained = pool.retained()
    statistics = graph_statistics([pool.first(k)], recipe)
    references = pool.question.references
    is_known = is_judged(pool)
    return QuestionFacts(
        pool.question.id,
        pool.question.dataset,
        backbone,
        pool.setting,
        tuple(correctness(rollout, references) if is_known else None for rollout in pool.rollouts),
        tuple(UNREADABLE if one.problem is not None else retained.dropped.get(one.sample_id) for one in pool.rollouts),
        tuple(sum(not search.is_orphan for search in rollout.searches) for rollout in pool.rollouts),
        k,
        statistics.occurrences,
        {
            rule: SharedEvidence(round(found.groups_mean), found.pairs_total, found.overlap_mean)
            for rule, found in statistics.sharing.items()
        },
    )
