"""Votes over answers: what a selector has to beat. Weights other than one are in ``weighted.py``."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum

from tracerank.answers.equivalence import EXACT, NO_GROUP
from tracerank.answers.exact import normalize_answer
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule, Rollout
from tracerank.votes.answer_groups import AnswerGrouping, MeaningGroups, WithoutAbstentions
from tracerank.votes.base import Calibrator, Decision

ANSWERED = RetentionRule(needs_evidence=False)
"""A vote needs no evidence: every nonempty answer counts."""

FORMS = ("first", "shortest", "longest", "commonest")
"""Which member of the winning group is returned; equals go to the earliest."""

ALL_ABSTAIN = "every rollout abstains"
NO_CONFIDENCE = "no confidence known: every vote weighs one"
"""Note of a weighted vote that equals the plain one."""

_TIE_DIGITS = 9
"""Sums that differ further behind the point are a tie: 0.7 + 0.2 and 0.9 are not the same float."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """The answers of a pool in groups, ready to be counted."""

    pool: Pool
    retained: Retained
    groups: tuple[int, ...]
    """Of each kept rollout; ``NO_GROUP``: it has no vote."""
    note: str | None = None
    """What the user should know of the groups."""

    @classmethod
    def of(cls, pool: Pool, grouping: AnswerGrouping) -> "Ballot":
        retained = pool.retained(ANSWERED)
        answers = [rollout.answer for rollout in retained.kept]
        if not answers:
            return cls(pool, retained, ())
        note = grouping.note(answers) if isinstance(grouping, MeaningGroups) else None
        return cls(pool, retained, grouping.groups(pool.question.text, answers), note)

    def decision(self, weights: Sequence[float], form: str) -> Decision:
        """The heaviest group by one of its forms; where every rollout abstains, abstentions count like answers."""
        kept, identity = self.retained.kept, self.pool.question.id
        if not kept:
            return Decision(identity, None, None, dropped=self.retained.dropped)
        if all(group == NO_GROUP for group in self.groups):
            numbers: dict[str, int] = {}
            groups = tuple(numbers.setdefault(normalize_answer(rollout.answer), len(numbers)) for rollout in kept)
            return replace(replace(self, groups=groups).decision(weights, form), note=ALL_ABSTAIN)
        gathered: dict[int, list[float]] = {}
        for group, weight in zip(self.groups, weights, strict=True):
            gathered.setdefault(group, []).append(weight)
        sums = {group: fsum(parts) for group, parts in gathered.items() if group != NO_GROUP}
        # What has no vote scores nothing.
        scores = {one.sample_id: sums.get(group, 0.0) for one, group in zip(kept, self.groups, strict=True)}
        # Groups are in order of first appearance and max() keeps the first of equals: the paper's tie rule.
        best = max(sums, key=lambda group: round(sums[group], _TIE_DIGITS))
        members = [rollout for rollout, group in zip(kept, self.groups, strict=True) if group == best]
        winner = _of_form(members, form)
        same = tuple(member.sample_id for member in members)
        return Decision(identity, winner.answer, winner.sample_id, scores, self.retained.dropped, same, note=self.note)


class MajorityVote:
    """A rollout of the largest group of equal answers; ties go to the earliest group.

    Which answers are equal is the grouping's decision, which of their forms is returned a separate one: ``first`` is
    the paper's. Abstentions, which are in no group, have no vote, unless every rollout abstains.
    ``MajorityVote(ExactGroups())`` is the paper's vote, in which abstentions count like answers.
    """

    def __init__(
        self, grouping: AnswerGrouping | None = None, form: str = "first", calibrator: Calibrator | None = None
    ) -> None:
        """``calibrator`` gives the confidence; without one there is none."""
        self.grouping = WithoutAbstentions() if grouping is None else grouping
        self.form, self.calibrator = form, calibrator
        self.name = vote_name("majority", self.grouping, form)

    def decide(self, pool: Pool) -> Decision:
        ballot = Ballot.of(pool, self.grouping)
        decision = ballot.decision([1.0] * len(ballot.groups), self.form)
        return decision if self.calibrator is None else self.calibrator.calibrate(pool, decision)


def vote_name(kind: str, grouping: AnswerGrouping, form: str) -> str:
    """The name of a vote by what differs from the default; refuses an unknown form."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    equality = {EXACT: "paper", WithoutAbstentions().name: ""}.get(grouping.name, grouping.name)
    parts = (kind, equality, "" if form == "first" else form)
    return "-".join(filter(None, parts))


def _of_form(members: Sequence[Rollout], form: str) -> Rollout:
    if form == "first":
        return members[0]
    if form == "commonest":
        forms = Counter(normalize_answer(member.answer) for member in members)
        return max(members, key=lambda member: forms[normalize_answer(member.answer)])
    sign = -1 if form == "shortest" else 1
    return max(members, key=lambda member: sign * len(member.answer or ""))
