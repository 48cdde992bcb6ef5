"""One question whose rollouts come one after the other: what would be returned now, and whether to run another.

    session = tr.Session("Which city did the composer of Orfeo die in?", budget=16)
    while session.should_continue():
        session.add(run_agent())
    print(session.decision().answer)

With a selector by meaning, such as the shipped one, a rollout more is read once and costs what it brings; any other
method decides on the whole pool again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracerank.deciding import Given, pool_of_given
from tracerank.endpoints.chat import Usage
from tracerank.errors import UsageError
from tracerank.evidence.selector import EvidenceSelector
from tracerank.evidence.table import EvidenceTable, TableBuilder
from tracerank.methods import load_selector
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question, Retained, Rollout
from tracerank.readers.base import Record
from tracerank.readers.detect import AUTO
from tracerank.stopping.rules import ExpectedGain, Rule, State, Verdict
from tracerank.votes.base import Decision, Method, with_evidence_note
from tracerank.votes.escalation import Escalating
from tracerank.votes.voting import ANSWERED


class Session:
    """A pool that grows, with a selector and a rule."""

    def __init__(
        self,
        question: str | Question,
        selector: Method | str | None = None,
        budget: int = PAPER_K,
        rule: Rule | None = None,
        *,
        fields: Mapping[str, str] | None = None,
        reader: str = AUTO,
    ) -> None:
        """``selector``: any method, or the folder of a selector; None: the shipped one. ``budget``: most rollouts.

        Of a method that escalates, the first one is asked after each rollout, the other one by ``decision()`` alone.

        ``fields`` and ``reader`` are for records, as in ``tr.decide``.
        """
        if budget < 1:
            raise UsageError(f"budget must be at least 1, got {budget}")
        self.question = question if isinstance(question, Question) else Question("request", question)
        self.budget = budget
        self.rule: Rule = rule or ExpectedGain()
        self._whole = load_selector(selector) if isinstance(selector, str) else selector or load_selector()
        self._method = self._whole.first if isinstance(self._whole, Escalating) else self._whole
        self._fields, self._reader = fields, reader
        self._rollouts: list[Rollout] = []
        self._dropped: dict[int, str] = {}
        self._ledger = TableBuilder(self.question.text)
        self._decision = Decision(self.question.id, None, None)
        self.state = State(0)
        """What the rule looks at."""

    def __len__(self) -> int:
        return len(self._rollouts)

    @property
    def pool(self) -> Pool:
        """All rollouts so far."""
        return Pool(self.question, tuple(self._rollouts))

    def add(self, given: Given | Sequence[Record], *, answer: str | None = None, usage: Usage | None = None) -> Rollout:
        """One rollout more: an answer, a record in any readable form, a conversation, a rollout; None: a failed run.

        ``answer`` and ``usage`` are what it answers and cost, where that is known better than the record says it.
        """
        place = len(self._rollouts)
        rollout = replace(self.read(given, answer=answer, usage=usage), sample_id=place)
        self._rollouts.append(rollout)
        reason = ANSWERED.reason_to_drop(rollout)
        if reason is not None:
            self._dropped[place] = reason
        else:
            self._ledger.add(rollout)
        self._settle()
        return rollout

    def read(
        self, given: Given | Sequence[Record], *, answer: str | None = None, usage: Usage | None = None
    ) -> Rollout:
        """The rollout that ``add`` would take, which stays outside."""
        if isinstance(given, Sequence) and not isinstance(given, str | bytes | Mapping):
            given = {"messages": list(given)}
        [read] = pool_of_given(self.question.text, [given], self._fields, self._reader).rollouts
        return replace(read, answer=answer or read.answer, usage=usage or read.usage)

    def should_continue(self) -> Verdict:
        """Whether to run another rollout, with the reason in words."""
        left = self.budget - len(self._rollouts)
        if left <= 0:
            return Verdict(False, f"the budget of {self.budget} rollouts is spent")
        if not self._rollouts:
            return Verdict(True, "nothing has been run yet")
        return self.rule.verdict(self.state, left)

    @property
    def chosen(self) -> int | None:
        """The place of the rollout whose answer would be returned now; None: there is none."""
        return self._decision.sample_id

    def decision(self) -> Decision:
        """What would be returned now."""
        is_settled = self._whole is self._method
        return with_evidence_note(self.pool, self._decision if is_settled else self._whole.decide(self.pool))

    def _settle(self) -> None:
        """Decide again, and look at how the meanings stand."""
        before = self._decision.sample_id
        table = self._ledger.table() if self._ledger.rollouts else None
        self._decision = self._decided(table)
        last = len(self._rollouts) - 1
        if table is None or not len(table.votes):
            self.state = State(len(self._rollouts))
            return
        meaning_of = {
            self._ledger.rollouts[place].sample_id: row for row, own in enumerate(table.rollouts) for place in own
        }
        chosen = None if self._decision.sample_id is None else meaning_of.get(self._decision.sample_id)
        self.state = State(
            len(self._rollouts),
            tuple(sorted(table.votes.tolist(), reverse=True)),
            self._decision.confidence,
            agrees=chosen is not None and meaning_of.get(last) == chosen,
            changed=before is not None and meaning_of.get(before) != chosen,
            run=_run(meaning_of, last),
        )

    def _decided(self, table: EvidenceTable | None) -> Decision:
        if isinstance(self._method, EvidenceSelector) and table is not None:
            kept = tuple(self._ledger.rollouts)
            return self._method.decision(self.pool, Retained(kept, dict(self._dropped)), table)
        return self._method.decide(self.pool)


def _run(meaning_of: Mapping[int, int], last: int) -> int:
    """How many rollouts in a row, the last among them, have its meaning."""
    meaning = meaning_of.get(last)
    if meaning is None:
        return 0
    run = 0
    while last - run >= 0 and meaning_of.get(last - run) == meaning:
        run += 1
    return run
