"""Answer-level votes: what a selector has to beat."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tracerank.answers.equivalence import EXACT, NO_GROUP
from tracerank.answers.exact import normalize_answer
from tracerank.methods.answer_groups import AnswerGrouping, ExactGroups
from tracerank.methods.base import Decision
from tracerank.pools.pool import Pool
from tracerank.pools.types import RetentionRule, Rollout

ANSWERED = RetentionRule(needs_evidence=False)
"""A vote needs no evidence: every nonempty answer counts."""

FORMS = ("first", "shortest", "longest", "commonest")
"""Which member of the winning group is returned; equals go to the earliest."""


class MajorityVote:
    """A rollout of the largest group of equal answers; ties go to the earliest group.

    Which answers are equal is the grouping's decision, which of their forms is returned a separate one: ``first`` is
    the paper's. What no group holds (abstentions) has no vote and wins only when nobody answers.
    """

    def __init__(self, grouping: AnswerGrouping | None = None, form: str = "first") -> None:
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        self.grouping = ExactGroups() if grouping is None else grouping
        self.form = form
        of_groups = "" if self.grouping.name == EXACT else f"-{self.grouping.name}"
        self.name = f"majority{of_groups}" + ("" if form == "first" else f"-{form}")

    def decide(self, pool: Pool) -> Decision:
        retained = pool.retained(ANSWERED)
        kept = retained.kept
        if not kept:
            return Decision(pool.question.id, None, None, dropped=retained.dropped)
        groups = self.grouping.groups(pool.question.text, [rollout.answer for rollout in kept])
        votes = Counter(group for group in groups if group != NO_GROUP)
        scores = {
            rollout.sample_id: float(votes[group]) for rollout, group in zip(kept, groups, strict=True)
        }  # a Counter gives 0 for what has no group
        # max() keeps the first of equals, which is the paper's tie rule.
        place = max(range(len(kept)), key=lambda index: votes[groups[index]])
        members = [rollout for rollout, group in zip(kept, groups, strict=True) if group == groups[place]]
        winner = members[0] if groups[place] == NO_GROUP else _of_form(members, self.form)
        return Decision(pool.question.id, winner.answer, winner.sample_id, scores, retained.dropped)


def _of_form(members: Sequence[Rollout], form: str) -> Rollout:
    if form == "first":
        return members[0]
    forms: Mapping[str, int] = Counter(normalize_answer(member.answer) for member in members)
    merit = {
        "shortest": lambda member: -len(member.answer or ""),
        "longest": lambda member: len(member.answer or ""),
        "commonest": lambda member: forms[normalize_answer(member.answer)],
    }[form]
    return max(members, key=merit)
