"""One call: an agent is run until it is clear, whatever single runs do; what was done is counted, kept and shown."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import tracerank as tr
from tests.builders import ranked, rollout
from tests.readers.sample_records import SAMPLES
from tests.served import awaited
from tracerank.errors import AgentError, ReadError, UsageError
from tracerank.pools.types import Question
from tracerank.sampling import waves
from tracerank.stopping.rules import FixedK, WindowRule
from tracerank.votes.voting import MajorityVote

QUESTION = "Which city did the composer of Orfeo die in?"
SAID = ("Venice", "Mantua", "Venice", "Cremona", "Venice", "Mantua", "Venice", "Venice")


def said(number: int) -> str:
    return SAID[number % len(SAID)]


async def answering(_: str) -> str:
    return said(tr.run_number())


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracerank.sampling.waves.MIN_PATIENCE", 0.05)
    monkeypatch.setattr("tracerank.sampling.waves.GRACE_SECONDS", 0.05)


def test_it_stops_when_it_is_clear_and_says_what_was_saved() -> None:
    result = awaited(tr.best_of(lambda _: "Venice", QUESTION, k=16, rule=WindowRule(3)))
    assert (result.answer, result.runs.used) == ("Venice", 3)
    assert result.stopped == "the last 3 rollouts mean the same"
    runs = result.runs
    assert runs.used + runs.failed + runs.cancelled + runs.unneeded + runs.saved == 16
    assert runs.saved >= 12
    assert result.confidence == result.decision.confidence


def test_the_decision_is_that_of_the_same_pool() -> None:
    result = awaited(tr.best_of(answering, QUESTION, k=8, rule=FixedK(8)))
    assert [one.answer for one in result.pool.rollouts] == [*SAID]
    whole = tr.decide(QUESTION, [*SAID])
    assert (result.answer, result.decision.sample_id, result.decision.group) == ("Venice", 0, whole.group)
    assert result.confidence == pytest.approx(whole.confidence)


class Counted(MajorityVote):
    """Says how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.pools: list[int] = []

    def decide(self, pool: tr.Pool) -> tr.Decision:
        self.pools.append(len(pool))
        return super().decide(pool)


@pytest.mark.parametrize(("below", "asked"), [(1.0, [8]), (0.01, [])])
def test_who_is_asked_only_where_it_is_unsure_is_asked_once_at_the_end(below: float, asked: list[int]) -> None:
    dear = Counted()
    both = tr.Escalating(tr.load_selector(), dear, below=below)
    result = awaited(tr.best_of(answering, QUESTION, k=8, rule=FixedK(8), selector=both))
    assert dear.pools == asked
    assert result.answer == "Venice"
    assert (result.decision.escalated is not None) == bool(asked)
    session = tr.Session(QUESTION, both, budget=4)
    for number in range(4):
        session.add(said(number))
    assert dear.pools == asked
    session.decision()
    assert dear.pools == asked + ([4] if asked else [])


def test_answers_transcripts_and_rollouts_are_taken_and_what_cannot_be_read_fails_alone() -> None:
    given: list[Any] = [
        "Venice",
        rollout("Venice", ranked("Monteverdi death", "Monteverdi died in Venice.")),
        [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Final answer: Venice"}],
        SAMPLES["openai-chat"],
        tr.AgentRun("It was Venice, I think", answer="Venice"),
        None,
        17,
        {"nothing": "of use"},
    ]
    result = awaited(tr.best_of(lambda _: given[tr.run_number()], QUESTION, k=8, rule=FixedK(8)))
    answers = [one.answer for one in result.pool.rollouts]
    assert answers[:3] == ["Venice"] * 3
    assert answers[4:] == ["Venice", None, None, None]
    assert answers[3]
    assert (result.runs.used, result.runs.failed) == (6, 2)
    assert "cannot be read" in result.decision.dropped[6]


@pytest.mark.parametrize("slow", [0, 1, 2, 3])
def test_who_is_quicker_changes_nothing(slow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "MIN_PATIENCE", 60.0)  # a busy machine may hold up any run

    async def uneven(_: str) -> str:
        await asyncio.sleep(0.03 if tr.run_number() % 4 == slow else 0.0)
        return said(tr.run_number())

    result = awaited(tr.best_of(uneven, QUESTION, k=8, rule=WindowRule(2)))
    alone = awaited(tr.best_of(answering, QUESTION, k=8, rule=WindowRule(2), parallel=1))
    assert (result.decision, result.pool) == (alone.decision, alone.pool)


def test_no_more_than_parallel_runs_are_under_way() -> None:
    busy, most = 0, 0

    async def counting(_: str) -> str:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.001)
        busy -= 1
        return "Venice"

    awaited(tr.best_of(counting, QUESTION, k=9, parallel=3, rule=FixedK(9)))
    assert most == 3


def test_what_is_not_needed_any_more_is_really_cancelled() -> None:
    ended: list[str] = []

    async def agent(_: str) -> str:
        if tr.run_number() < 2:
            return "Venice"
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(f"run {tr.run_number()} cleaned up")
            raise
        return "Mantua"

    result = awaited(tr.best_of(agent, QUESTION, k=8, rule=WindowRule(2)))
    assert (result.answer, result.runs.used, result.runs.cancelled) == ("Venice", 2, 2)
    assert sorted(ended) == ["run 2 cleaned up", "run 3 cleaned up"]


def test_cancelling_the_call_cancels_the_runs() -> None:
    begun: list[int] = []
    cancelled: list[int] = []

    async def agent(_: str) -> str:
        begun.append(tr.run_number())
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(tr.run_number())
            raise
        return ""

    async def gives_up() -> None:
        call = asyncio.create_task(tr.best_of(agent, QUESTION, k=4, parallel=2))
        while len(begun) < 2:
            await asyncio.sleep(0.001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    awaited(gives_up())
    assert sorted(cancelled) == [0, 1]


def test_failing_runs_cost_only_themselves_and_are_told() -> None:
    def agent(_: str) -> str:
        if tr.run_number() in (0, 2):
            raise ValueError("the search tool broke")
        return "Venice"

    result = tr.run_best_of(agent, QUESTION, k=4, rule=FixedK(4))
    assert (result.answer, result.runs.used, result.runs.failed) == ("Venice", 2, 2)
    assert result.decision.dropped == dict.fromkeys((0, 2), "failed: ValueError: the search tool broke")


def test_when_all_fail_the_first_error_is_told() -> None:
    def agent(_: str) -> str:
        raise ValueError(f"run {tr.run_number()} broke")

    with pytest.raises(AgentError, match="all 3 runs of the agent failed, the first because ValueError: run 0") as told:
        tr.run_best_of(agent, QUESTION, k=3)
    assert isinstance(told.value.__cause__, ValueError)


def test_an_error_that_says_so_ends_it_at_once() -> None:
    class WrongKey(Exception):
        ends_all = True

    calls = []

    async def agent(_: str) -> str:
        calls.append(tr.run_number())
        raise WrongKey("the key is wrong")

    with pytest.raises(WrongKey):
        awaited(tr.best_of(agent, QUESTION, k=16, parallel=2))
    assert len(calls) == 2


def test_a_hanging_thread_is_counted_and_does_not_hold_up_the_result() -> None:
    release = threading.Event()

    def agent(_: str) -> str:
        if tr.run_number() == 1:
            release.wait(60)
        return "Venice"

    result = tr.run_best_of(agent, QUESTION, k=4, rule=FixedK(4), timeout=0.1)
    release.set()
    assert (result.runs.used, result.runs.failed, result.runs.hung) == (3, 1, 1)
    assert result.decision.dropped == {1: "failed: no result within 0.1 s"}


def test_a_run_that_takes_much_longer_is_not_waited_for() -> None:
    async def agent(_: str) -> str:
        await asyncio.sleep(60 if tr.run_number() == 0 else 0)
        return "Venice"

    result = awaited(tr.best_of(agent, QUESTION, k=8, rule=WindowRule(3), timeout=None))
    assert (result.answer, result.runs.cancelled) == ("Venice", 1)
    assert 0 not in [one.sample_id for one in result.pool.rollouts]


def test_ties_go_to_the_run_that_was_started_first_even_if_it_ended_last() -> None:
    async def agent(_: str) -> str:
        await asyncio.sleep(0.15 if tr.run_number() == 0 else 0)
        return ("Mantua", "Venice")[tr.run_number()]

    result = awaited(tr.best_of(agent, QUESTION, k=2, rule=FixedK(2), selector=MajorityVote()))
    assert (result.answer, result.decision.sample_id) == ("Mantua", 0)


def test_an_agent_that_refuses_to_be_cancelled_holds_up_nothing() -> None:
    async def stubborn(_: str) -> str:
        if tr.run_number() == 0:
            for _turn in range(40):
                try:
                    await asyncio.sleep(0.05)
                except asyncio.CancelledError:
                    continue
        return "Venice"

    result = tr.run_best_of(stubborn, QUESTION, k=3, rule=FixedK(3), timeout=0.1)
    assert (result.answer, result.runs.hung) == ("Venice", 1)


def test_after_the_deadline_it_is_decided_on_what_there_is() -> None:
    async def agent(_: str) -> str:
        await asyncio.sleep(0 if tr.run_number() < 3 else 60)
        return "Venice"

    result = awaited(tr.best_of(agent, QUESTION, k=8, rule=FixedK(8), deadline=0.1))
    assert (result.answer, result.runs.used) == ("Venice", 3)
    assert result.stopped == "0.1 s are over"


def test_it_can_be_called_beside_an_event_loop_and_by_objects_that_are_called() -> None:
    class Agent:
        async def __call__(self, question: str) -> str:
            return f"Answer: {question}"

    async def inside() -> tr.Result:
        return tr.run_best_of(Agent(), "Venice", k=2)

    assert awaited(inside()).answer == "Answer: Venice"


def test_tokens_are_added_up_where_they_are_known() -> None:
    from tracerank.endpoints.chat import Usage

    def agent(_: str) -> Any:
        return "Venice" if tr.run_number() else tr.AgentRun("Venice", usage=Usage(10, 2, 3))

    assert tr.run_best_of(agent, QUESTION, k=2, rule=FixedK(2)).cost == Usage(10, 2, 3)
    assert tr.run_best_of(lambda _: "Venice", QUESTION, k=2).cost is None


def test_the_page_of_the_pool_is_written(tmp_path: Path) -> None:
    page = tr.run_best_of(lambda _: "Venice", QUESTION, k=2).view(tmp_path / "page.html")
    assert b"<html" in page.read_bytes()[:200]


def test_what_ended_is_in_the_log_and_the_same_call_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    calls: list[int] = []

    def agent(_: str) -> str:
        calls.append(tr.run_number())
        if tr.run_number() == 1:
            raise ValueError("not today")
        return said(tr.run_number())

    first = tr.run_best_of(agent, QUESTION, k=3, parallel=1, rule=FixedK(3), log=log)
    again = tr.run_best_of(agent, QUESTION, k=5, parallel=1, rule=FixedK(5), log=log)
    assert calls == [0, 1, 2, 3, 4, 5]
    assert (first.runs.failed, again.runs.failed, again.runs.resumed) == (1, 0, 2)
    assert [one.answer for one in again.pool.rollouts] == [said(number) for number in (0, 2, 3, 4, 5)]
    [pool] = tr.read_pools(log)
    assert (pool.question.text, len(pool)) == (QUESTION, 6)
    assert pool.rollouts[1].problem == "failed: ValueError: not today"
    done = tr.run_best_of(agent, QUESTION, k=5, rule=FixedK(5), log=log)
    assert (len(calls), done.decision) == (6, again.decision)


def test_a_run_that_ended_when_it_was_clear_is_in_the_log_and_need_not_be_made_again(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    calls: list[int] = []

    async def agent(_: str) -> str:
        calls.append(tr.run_number())
        return "Venice"

    first = tr.run_best_of(agent, QUESTION, k=8, parallel=4, rule=FixedK(2), log=log)
    assert (first.runs.used, first.runs.unneeded) == (2, 2)
    again = tr.run_best_of(agent, QUESTION, k=8, parallel=1, rule=FixedK(5), log=log)
    assert (again.runs.resumed, calls) == (4, [0, 1, 2, 3, 4])


def test_what_is_missing_is_told_without_asking_anybody() -> None:
    answers = ["Venice", "Mantua", "Cremona"]
    seen = (tr.Search("Orfeo composer", (tr.Evidence("Claudio Monteverdi composed Orfeo in Mantua."),)),)
    result = tr.run_best_of(lambda _: tr.Rollout(0, answers[tr.run_number()], seen), QUESTION, k=3, rule=FixedK(3))
    assert result.decision.missing is None
    assert {one.answer for one in result.missing.unsupported} == {"Venice", "Cremona"}


def test_a_log_holds_many_questions_and_survives_a_cut_line(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    tr.run_best_of(lambda _: "Venice", QUESTION, k=2, rule=FixedK(2), log=log)
    tr.run_best_of(lambda _: "Paris", Question("fr", "Capital of France?"), k=1, log=log)
    log.write_bytes(log.read_bytes()[:-20])
    calls = []
    tr.run_best_of(lambda _: [calls.append(1), "Paris"][1], Question("fr", "Capital of France?"), k=1, log=log)
    assert len(calls) == 1
    assert tr.run_best_of(lambda _: calls.append(1), QUESTION, k=2, rule=FixedK(2), log=log).runs.resumed == 2
    assert len(calls) == 1


def test_a_file_that_is_no_log_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not JSON\n")
    for path, error in ((other, ReadError), (tmp_path, UsageError), (tmp_path / "runs.jsonl.gz", UsageError)):
        with pytest.raises(error):
            tr.run_best_of(lambda _: pytest.fail("was run"), QUESTION, k=1, log=path)
    with pytest.raises(UsageError, match="does not exist"):
        tr.run_best_of(lambda _: "Venice", QUESTION, k=1, log=tmp_path / "no" / "runs.jsonl")


def test_a_hanging_thread_does_not_keep_the_interpreter_from_ending() -> None:
    script = (
        "import time, tracerank as tr\n"
        "def agent(q):\n    time.sleep(600 if tr.run_number() == 0 else 0)\n    return 'Venice'\n"
        f"print(tr.run_best_of(agent, {QUESTION!r}, k=4, timeout=0.2, rule=tr.FixedK(4)).answer)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("Venice\n", "", 0)


def test_lines_of_the_log_are_canonical(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    tr.run_best_of(lambda _: "Ven\ud800ice", QUESTION, k=1, log=log)
    record = json.loads(log.read_text())
    assert (record["schema"], record["sample_id"]) == ("tracerank-rollout/1", 0)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"parallel": 0}])
def test_no_runs_cannot_be_asked_for(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        tr.run_best_of(lambda _: "Venice", QUESTION, **wrong)
