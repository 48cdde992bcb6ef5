"""A question and its K rollouts in sampling order, and what of it may be chosen."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tracerank.pools.documents import link_documents
from tracerank.pools.html_tables import html_table
from tracerank.pools.types import RETENTION_RULES, WEBQA, Question, Retained, RetentionRule, Rollout
from tracerank.pools.urls import DEFAULT, UrlRules

UNREADABLE = "unreadable"
"""One name for all rollouts with a parsing problem, whose reasons are as many as there are ways to damage a file."""
PAPER_K = 16
"""Rollouts of a question in the paper (Sec. 4.1)."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A question and its rollouts, ordered by sample id."""

    question: Question
    rollouts: tuple[Rollout, ...]

    def __post_init__(self) -> None:
        ids = [rollout.sample_id for rollout in self.rollouts]
        ordered = sorted(ids)
        if len(set(ids)) != len(ids):
            raise ValueError(f"question {self.question.id!r}: sample ids must be distinct, got {ordered}")
        if ids != ordered or type(self.rollouts) is not tuple:
            rollouts = tuple(sorted(self.rollouts, key=lambda rollout: rollout.sample_id))
            object.__setattr__(self, "rollouts", rollouts)

    @classmethod
    def of(cls, question: Question, rollouts: Iterable[Rollout]) -> "Pool":
        return cls(question, tuple(rollouts))

    def __len__(self) -> int:
        return len(self.rollouts)

    def _repr_html_(self) -> str:
        heads = ("rollout", "answer", "searches", "label")
        rows = [(one.sample_id, one.problem or one.answer, len(one.searches), one.label) for one in self.rollouts]
        return html_table(self.question.text, heads, rows)

    @property
    def setting(self) -> str:
        """The search protocol most rollouts follow; the first seen wins a tie."""
        counts = Counter(rollout.setting for rollout in self.rollouts if rollout.problem is None)
        return max(counts, key=counts.__getitem__, default=WEBQA)

    def first(self, k: int) -> "Pool":
        """The K samples with the lowest ids; invalid ones among them are not replaced (App. A.1)."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        return self if k >= len(self.rollouts) else Pool(self.question, self.rollouts[:k])

    def retained(self, rule: RetentionRule | None = None, documents: UrlRules = DEFAULT) -> Retained:
        """What may be chosen, and why the rest may not; the rule defaults to that of the pool's setting."""
        found = self.unlinked(rule)
        return Retained(link_documents(found.kept, documents), found.dropped)

    def unlinked(self, rule: RetentionRule | None = None) -> Retained:
        """The same as it was logged: evidence is not yet linked by document."""
        rule = rule or RETENTION_RULES[self.setting]
        kept: list[Rollout] = []
        dropped: dict[int, str] = {}
        for rollout in self.rollouts:
            reason = rule.reason_to_drop(rollout)
            if reason is None:
                kept.append(rollout)
            else:
                dropped[rollout.sample_id] = reason
        return Retained(tuple(kept), dropped)


def drop_reasons(pool: Pool, dropped: Mapping[int, str]) -> Iterator[str]:
    """The reason of each dropped rollout, fit for counting."""
    unreadable = {rollout.sample_id for rollout in pool.rollouts if rollout.problem is not None}
    return (UNREADABLE if sample_id in unreadable else reason for sample_id, reason in dropped.items())
