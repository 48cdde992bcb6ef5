"""Choices that compare no answers: the first rollout, the one with fewest tools, any one, the one known to be right."""

from collections.abc import Mapping
from random import Random

from tracerank.errors import TraceRankError
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Rollout
from tracerank.votes.base import Decision
from tracerank.votes.voting import ANSWERED


class SingleRollout:
    """The first rollout, whatever it is: unfiltered sample 0 (App. A.1), with no answer where that has none."""

    name = "single"

    def decide(self, pool: Pool) -> Decision:
        retained = pool.first(1).retained(ANSWERED)
        first = retained.kept[0] if retained.kept else None
        return _chosen(pool, first, {rollout.sample_id: 1.0 for rollout in retained.kept}, retained.dropped)


class FewestTools:
    """The retained rollout with the fewest tool calls (App. A.2); ties go to the first.

    Counts searches in ranked retrieval, and searches, opened pages and finds in browsing. Retained by the setting's own
    rule: a rollout that never searched would win every ranked pool.
    """

    name = "fewest-tools"

    def decide(self, pool: Pool) -> Decision:
        retained = pool.retained()
        counts = {rollout.sample_id: -float(tool_calls(rollout)) for rollout in retained.kept}
        best = max(retained.kept, key=lambda rollout: counts[rollout.sample_id], default=None)
        return _chosen(pool, best, counts, retained.dropped)


def tool_calls(rollout: Rollout) -> int:
    """Searches, and in browsing also what was opened or searched within.

    Where the log names each tool event, every event counts; elsewhere a page call counts once for what it showed.
    """
    searches = sum(not search.is_orphan for search in rollout.searches)
    if rollout.setting != BROWSING:
        return searches
    pages = sum(seen.tool != "search" for search in rollout.searches for seen in search.evidence)
    return len(rollout.views) or searches + pages


class RandomRollout:
    """Any answered rollout, drawn by the seed and the question's id, so that a question gets the same draw again."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def decide(self, pool: Pool) -> Decision:
        retained = pool.retained(ANSWERED)
        # A string seeds by its digest: the same in every process, unlike hash().
        draw = Random(f"{self.seed}:{pool.question.id}").random()
        drawn = retained.kept[int(draw * len(retained.kept))] if retained.kept else None
        scores = {rollout.sample_id: float(rollout is drawn) for rollout in retained.kept}
        return _chosen(pool, drawn, scores, retained.dropped)


class Oracle:
    """The rollout that is known to be right: a bound on what any choice can reach, never a method to deploy."""

    name = "oracle"

    def decide(self, pool: Pool) -> Decision:
        """The best by label or reference, ties to the first; raises where nothing says what is right."""
        retained = pool.retained(ANSWERED)
        known = {one.sample_id: correctness(one, pool.question.references) for one in retained.kept}
        judged = {sample_id: value for sample_id, value in known.items() if value is not None}
        if retained.kept and not judged:
            raise TraceRankError(
                f"question {pool.question.id!r}: has neither labels nor references, which the oracle chooses by; "
                "use it on labelled pools only"
            )
        right = [one for one in retained.kept if one.sample_id in judged]
        best = max(right, key=lambda one: judged[one.sample_id], default=None)
        note = "chosen by what is known to be right: a bound, not a method"
        return _chosen(pool, best, judged, retained.dropped, note)


def _chosen(
    pool: Pool, one: Rollout | None, scores: dict[int, float], dropped: Mapping[int, str], note: str | None = None
) -> Decision:
    answer, sample_id = (None, None) if one is None else (one.answer, one.sample_id)
    return Decision(pool.question.id, answer, sample_id, scores, dropped, note=note)
