"""One question whose rollouts come one after the other: what would be returned now, and whether to run another.

    session = tr.Session("Which city did the composer of Orfeo die in?", budget=16)
    while session.should_continue():
        session.add(run_agent())
    print(session.decision().answer)

Each rollout is read once; the method decides on the whole pool again.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile
from operator import attrgetter

from tracerank.deciding import Given, pool_of_given
from tracerank.errors import UsageError
from tracerank.evidence.selector import EvidenceSelector
from tracerank.evidence.table import evidence_table
from tracerank.evidence.text import TextLines
from tracerank.methods import EVIDENCE, fitted_method, is_fitted, load_method
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question, Retained, Rollout
from tracerank.readers.base import Record
from tracerank.readers.detect import AUTO
from tracerank.reports.deciding import ByLength, with_disputes
from tracerank.stopping.rules import ExpectedGain, Rule, State, Verdict
from tracerank.votes.base import Decision, Method
from tracerank.votes.escalation import Escalating
from tracerank.votes.voting import ANSWERED

LONG_ANSWERS = "long answers: how far they agree is no reason to stop, so the budget decides"


class Session:
    """A pool that grows, with a method and a stopping rule."""

    def __init__(
        self,
        question: str | Question,
        method: Method | str = EVIDENCE,
        budget: int = PAPER_K,
        rule: Rule | None = None,
    ) -> None:
        """``method`` is a name such as ``majority``, a folder, or any method. ``budget``: maximum rollouts.

        With an escalating method, the first one decides after each rollout, the second one only in ``decision()``.
        """
        if budget < 1:
            raise UsageError(f"budget must be at least 1, got {budget}")
        self.question = question if isinstance(question, Question) else Question("request", question)
        self.budget = budget
        self.rule: Rule = rule or ExpectedGain()
        if isinstance(method, str):
            method = fitted_method(method) if is_fitted(method) else load_method(method)
        self.method: Method = method
        """What decides in the end."""
        self._first = method.first if isinstance(method, Escalating) else method
        self._rollouts: list[Rollout] = []
        self._dropped: dict[int, str] = {}
        self._answered: list[Rollout] = []
        self._lines = TextLines()
        self._decision: Decision | None = Decision(self.question.id, None, None)
        self.state = State(0)
        """What the rule looks at."""

    def __len__(self) -> int:
        return len(self._rollouts)

    @property
    def pool(self) -> Pool:
        """All rollouts so far."""
        return Pool(self.question, tuple(self._rollouts))

    def add(self, given: Given | Sequence[Record]) -> Rollout:
        """Add an answer, a record in any readable form, a conversation or a rollout; None: a failed run.

        A rollout or record keeps its ``sample_id`` unless another has it; all else takes the first that is free.
        """
        own = given.sample_id if isinstance(given, Rollout) else None
        own = given.get("sample_id") if isinstance(given, Mapping) else own
        taken = {one.sample_id for one in self._rollouts}
        number = own if type(own) is int and own not in taken else next(n for n in count() if n not in taken)
        rollout = replace(read_rollout(self.question.text, given), sample_id=number)
        self._rollouts.append(rollout)
        if (reason := ANSWERED.reason_to_drop(rollout)) is not None:
            self._dropped[rollout.sample_id] = reason
        else:
            insort(self._answered, rollout, key=attrgetter("sample_id"))  # as a pool has them
        self._update()
        return rollout

    def should_continue(self) -> Verdict:
        """Whether to run another rollout, with the reason in words."""
        if len(self) >= self.budget:
            return Verdict(False, f"the budget of {self.budget} rollouts is spent")
        if not self._rollouts:
            return Verdict(True, "nothing has been run yet")
        verdict = self.rule.verdict(self.state, self.budget - len(self))
        return Verdict(True, LONG_ANSWERS) if verdict and self._has_reports else verdict

    @property
    def chosen(self) -> int | None:
        """The ``sample_id`` of the rollout whose answer would be returned now; None: no rollout can be chosen."""
        return self._decided().sample_id

    def decision(self) -> Decision:
        """What would be returned now."""
        return self.method.decide(self.pool) if isinstance(self.method, Escalating) else self._decided()

    @property
    def _has_reports(self) -> bool:
        return isinstance(self._first, ByLength) and self._first.is_long(self.pool)

    def _decided(self) -> Decision:
        if self._decision is None:
            self._decision = self._first.decide(self.pool)
        return self._decision

    def _update(self) -> None:
        """Decide again, and summarise how the meanings stand; reports are compared when the decision is wanted."""
        if self._has_reports:
            self._decision, self.state = None, State(len(self))
            return
        before, answered = self._decision.sample_id if self._decision else None, self._answered
        method = self._first.short if isinstance(self._first, ByLength) else self._first
        table = evidence_table(self.question.text, answered, self._lines) if answered else None
        if isinstance(method, EvidenceSelector) and table is not None:
            retained = Retained(tuple(answered), dict(self._dropped))
            decision = method.decision(self.pool, retained, table)
        else:
            decision = method.decide(self.pool)
        self._decision = with_disputes(self.pool, decision) if isinstance(self._first, ByLength) else decision
        if table is None or not len(table.votes):
            self.state = State(len(self))
            return
        rows = {answered[index].sample_id: row for row, members in enumerate(table.rollouts) for index in members}
        meanings = [rows.get(one.sample_id) for one in self._rollouts]
        chosen, last = None if self.chosen is None else rows.get(self.chosen), meanings[-1]
        self.state = State(
            len(self),
            tuple(sorted(table.votes.tolist(), reverse=True)),
            decision.certainty,
            agrees=chosen is not None and last == chosen,
            changed=before is not None and rows.get(before) != chosen,
            run=0 if last is None else sum(1 for _ in takewhile(lambda each: each == last, reversed(meanings))),
        )


def read_rollout(question: str, given: Given | Sequence[Record]) -> Rollout:
    """An answer, a record in any readable form, a conversation or a rollout, as a rollout; None: a failed run."""
    if isinstance(given, Sequence) and not isinstance(given, str | bytes | Mapping):
        given = {"messages": list(given)}
    [rollout] = pool_of_given(question, [given], None, AUTO).rollouts
    return rollout
