"""Another method where the first is unsure: when it is asked, what stays, and what is reported."""

from collections.abc import Iterable, Iterator

import pytest

from tests.builders import pool_of, ranked, rollout
from tests.evaluation.folders import Confident
from tests.scripted_chat import FakeChat
from tracerank.chat.solagg import SolAgg
from tracerank.chat.verifier import Verifier
from tracerank.endpoints.chat import Usage
from tracerank.errors import ChatError, UsageError
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.votes.base import ESCALATED, NOT_SETTLED, Decision, Method, decide_stream, decision_to_record
from tracerank.votes.escalation import Escalating


def asked_pool(name: str, *answers: str | None) -> Pool:
    return pool_of(*(rollout(answer, ranked(f"q {answer}", f"{answer} is it")) for answer in answers), question=name)


class Last:
    """The last answer; remembers who asked, and fails or says nothing where it is told to."""

    name = "last"

    def __init__(self, *fails: str, note: str | None = None, counts: dict[str, int] | None = None) -> None:
        self.fails, self.note, self.counts, self.asked = fails, note, counts or {}, []

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        return map(self.decide, pools)

    def decide(self, pool: Pool) -> Decision:
        self.asked.append(pool.question.id)
        if pool.question.id in self.fails:
            raise ChatError("gave up")
        last = pool.rollouts[-1]
        note, cost = self.note, Usage(100, 5, 2)
        return Decision(pool.question.id, last.answer, last.sample_id, usage=cost, note=note, counts=self.counts)


POOLS = [asked_pool(name, "Rome", "Oslo") for name in ("sure", "unsure", "silent", "edge")]


def both(second: Method, below: float = 0.6) -> list[Decision]:
    first = Confident(sure=0.9, unsure=0.3, edge=0.6)
    return [decision for _, decision in decide_stream(Escalating(first, second, below), POOLS)]


def test_only_what_is_below_or_has_no_confidence_is_asked_about() -> None:
    second = Last()
    decisions = both(second)
    assert second.asked == ["unsure", "silent"]
    assert [decision.answer for decision in decisions] == ["Rome", "Oslo", "Oslo", "Rome"]
    assert decisions[0].escalated is None


def test_a_decision_says_that_it_was_escalated_why_and_what_was_before() -> None:
    changed = both(Last())[1]
    assert changed.escalated is not None
    assert changed.escalated.record() == {
        "method": "last",
        "why": "confidence 0.30 is below 0.6",
        "below": 0.6,
        "outcome": "changed",
        "answer": "Rome",
        "sample_id": 0,
        "confidence": 0.3,
        "rank_score": None,
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "calls": 2},
        "problem": None,
    }
    assert changed.note == "last was asked, for confidence 0.30 is below 0.6: it was 'Rome'"
    assert (changed.confidence, changed.usage, changed.counts) == (None, Usage(100, 5, 2), {ESCALATED: 1})
    record = decision_to_record(POOLS[1].question, changed)
    assert record["escalated"]["answer"] == "Rome"


def test_the_same_answer_in_other_words_confirms_and_keeps_its_confidence() -> None:
    pool = asked_pool("unsure", "Rome", "It was Rome.")
    decision = Escalating(Confident(unsure=0.3), Last(), 0.6).decide(pool)
    assert decision.escalated is not None
    assert (decision.escalated.outcome, decision.answer, decision.confidence) == ("confirmed", "Rome", 0.3)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (Last("unsure", "silent"), "it failed (gave up), so the first decision stays"),
        (Last(note="all scores are alike (0.5): the first candidate was taken"), "all scores are alike"),
        (Last(counts={"no answer": 1}), "it gave no answer of its own"),
    ],
)
def test_what_settles_nothing_leaves_the_first_decision_and_is_counted(second: Last, said: str) -> None:
    decision = both(second)[1]
    assert (decision.answer, decision.confidence, decision.problem) == ("Rome", 0.3, None)
    assert said in (decision.note or "")
    assert decision.counts[NOT_SETTLED] == 1
    assert decision.escalated is not None
    assert decision.escalated.outcome == "kept"


def test_a_failure_is_told_although_there_is_a_decision() -> None:
    told: list[tuple[str, str]] = []
    escalating = Escalating(Confident(unsure=0.3), Last("unsure"), 0.6)
    [(_, decision)] = decide_stream(escalating, POOLS[1:2], lambda pool, why: told.append((pool.question.id, why)))
    assert told == [("unsure", "gave up")]
    assert (decision.failure, decision.problem) == ("gave up", None)


def test_a_wrong_key_ends_the_run_as_it_does_without_escalation() -> None:
    class Refused(Last):
        def decide(self, pool: Pool) -> Decision:
            error = ChatError("wrong key")
            error.ends_all = True
            raise error

    with pytest.raises(ChatError, match="wrong key"):
        both(Refused())


def test_what_nobody_answered_is_not_escalated() -> None:
    second = Last()
    empty = asked_pool("unsure", None, None)
    assert Escalating(Confident(unsure=0.1), second, 0.6).decide(empty).answer is None
    assert second.asked == []


def test_a_verifier_and_an_aggregator_stand_behind_the_shipped_selector() -> None:
    pool = asked_pool("Which city is it?", "Rome", "Oslo", "Bern")
    judge = FakeChat(lambda asked: "YES" if 'Answer: "Bern"' in asked else "NO")
    writer = FakeChat(lambda asked: "<answer>Bern</answer>")
    for second in (Verifier(judge), SolAgg(writer)):
        decision = Escalating(load_selector(), second, below=1.0).decide(pool)
        assert decision.answer == "Bern"
        assert decision.escalated is not None
        assert decision.usage is not None


def test_a_threshold_that_asks_nobody_is_refused() -> None:
    with pytest.raises(UsageError, match="above 0"):
        Escalating(Confident(), Last(), 0.0)
