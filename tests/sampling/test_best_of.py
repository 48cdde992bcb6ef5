"""``tr.best_of``: an agent is run until the answer is clear, whatever single runs do; runs are counted and logged."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tracerank as tr
from tests.builders import ranked, rollout
from tests.readers.sample_records import SAMPLES
from tests.served import awaited
from tracerank.endpoints.chat import Usage
from tracerank.errors import AgentError, ReadError, UsageError
from tracerank.methods import load_selector
from tracerank.sampling import waves
from tracerank.sampling.best_of import Result
from tracerank.stopping.rules import FixedK, WindowRule
from tracerank.votes.escalation import Escalating
from tracerank.votes.voting import MajorityVote

QUESTION = "Which city did the composer of Orfeo die in?"
ANSWERS = ("Venice", "Mantua", "Venice", "Cremona", "Venice", "Mantua", "Venice", "Venice")


def answer_of(number: int) -> str:
    return ANSWERS[number % len(ANSWERS)]


async def answering(_: str) -> str:
    return answer_of(tr.run_number())


def venice(_: str) -> str:
    return "Venice"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "MIN_PATIENCE", 0.05)


def test_it_stops_when_the_rule_has_seen_enough_and_counts_every_run() -> None:
    result = tr.run_best_of(venice, QUESTION, k=16, rule=WindowRule(3))
    assert (result.answer, result.runs.used) == ("Venice", 3)
    assert result.stopped == "the last 3 rollouts mean the same"
    runs = result.runs
    assert runs.used + runs.failed + runs.cancelled + runs.saved == 16
    assert runs.saved >= 12


def test_the_decision_is_that_of_the_same_pool() -> None:
    result = awaited(tr.best_of(answering, QUESTION, k=8, rule=FixedK(8)))
    assert [one.answer for one in result.pool.rollouts] == [*ANSWERS]
    whole = tr.decide(QUESTION, [*ANSWERS])
    assert (result.answer, result.decision.sample_id, result.decision.group) == ("Venice", 0, whole.group)
    assert result.decision.rank_score == pytest.approx(whole.rank_score)


class Counted(MajorityVote):
    """Records the sizes of the pools that it decides."""

    def __init__(self) -> None:
        super().__init__()
        self.pools: list[int] = []

    def decide(self, pool: tr.Pool) -> tr.Decision:
        self.pools.append(len(pool))
        return super().decide(pool)


@pytest.mark.parametrize(("below", "sizes"), [(1.0, [8]), (0.01, [])])
def test_an_escalating_method_calls_its_second_method_once_at_the_end(below: float, sizes: list[int]) -> None:
    second = Counted()
    both = Escalating(load_selector(), second, below=below)
    result = awaited(tr.best_of(answering, QUESTION, k=8, rule=FixedK(8), method=both))
    assert second.pools == sizes
    assert (result.decision.escalated is not None) == bool(sizes)


class Dumped:
    """An object of a client library."""

    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Answer: Venice"}]}


def test_whatever_can_be_read_is_an_answer_and_the_rest_fails_alone() -> None:
    given: list[Any] = [
        "Venice",
        rollout("Venice", ranked("Monteverdi death", "Monteverdi died in Venice.")),
        [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Final answer: Venice"}],
        Dumped(),
        tr.AgentRun("It was Venice, I think", answer="Venice"),
        SAMPLES["openai-chat"],
        None,
        17,
        {"nothing": "of use"},
    ]
    result = tr.run_best_of(lambda _: given[tr.run_number()], QUESTION, k=9, rule=FixedK(9))
    answers = [one.answer for one in result.pool.rollouts]
    assert answers[:5] == ["Venice"] * 5
    assert answers[5]
    assert answers[6:] == [None] * 3
    assert (result.runs.used, result.runs.failed) == (7, 2)
    assert "cannot be read" in result.decision.dropped[7]


@pytest.mark.parametrize("slow", [0, 3])
def test_which_run_is_quicker_changes_nothing(slow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "MIN_PATIENCE", 60.0)  # a busy machine may hold up any run

    async def uneven(_: str) -> str:
        await asyncio.sleep(0.03 if tr.run_number() % 4 == slow else 0.0)
        return answer_of(tr.run_number())

    result = awaited(tr.best_of(uneven, QUESTION, k=8, rule=WindowRule(2)))
    alone = awaited(tr.best_of(answering, QUESTION, k=8, rule=WindowRule(2), parallel=1))
    assert (result.decision, result.pool) == (alone.decision, alone.pool)


def test_no_more_than_parallel_runs_are_concurrent() -> None:
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


@pytest.mark.parametrize("is_caller", [False, True])
def test_runs_are_cancelled_when_they_are_not_needed_and_with_the_call(is_caller: bool) -> None:
    started: list[int] = []
    cancelled: list[int] = []

    async def agent(_: str) -> str:
        started.append(tr.run_number())
        if tr.run_number() < 2 and not is_caller:
            return "Venice"
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(tr.run_number())
            raise
        return ""

    async def main() -> None:
        call = asyncio.create_task(tr.best_of(agent, QUESTION, k=8, rule=WindowRule(2)))
        if is_caller:
            while len(started) < 4:
                await asyncio.sleep(0.001)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        else:
            result = await call
            assert (result.answer, result.runs.used, result.runs.cancelled) == ("Venice", 2, 2)

    awaited(main())
    assert sorted(cancelled) == ([0, 1, 2, 3] if is_caller else [2, 3])


def test_failing_runs_cost_only_themselves_until_all_fail() -> None:
    def agent(_: str) -> str:
        if tr.run_number() in failing:
            raise ValueError(f"run {tr.run_number()} broke")
        return "Venice"

    failing = {0, 2}
    result = tr.run_best_of(agent, QUESTION, k=4, rule=FixedK(4))
    assert (result.answer, result.runs.used, result.runs.failed) == ("Venice", 2, 2)
    assert result.decision.dropped == {number: f"failed: ValueError: run {number} broke" for number in failing}
    failing = {0, 1, 2, 3}
    with pytest.raises(
        AgentError, match="all 4 runs of the agent failed, the first because ValueError: run 0"
    ) as found:
        tr.run_best_of(agent, QUESTION, k=4)
    assert isinstance(found.value.__cause__, ValueError)


class WrongKey(Exception):
    ends_all = True


@pytest.mark.parametrize("has_result", [False, True])
def test_an_error_that_ends_all_ends_it_at_once(has_result: bool) -> None:
    calls = []

    async def agent(_: str) -> str:
        calls.append(tr.run_number())
        if tr.run_number() == 0 and has_result:
            return "Venice"
        raise WrongKey("the key is wrong")

    call = tr.best_of(agent, QUESTION, k=16, parallel=2)
    if has_result:
        result = awaited(call)
        assert (result.answer, result.stopped) == ("Venice", "no run can do better: the key is wrong")
    else:
        with pytest.raises(WrongKey):
            awaited(call)
    assert len(calls) == 2


async def _slow_first(_: str) -> str:
    await asyncio.sleep(60 if tr.run_number() == 0 else 0)
    return "Venice"


def _blocked_first(_: str) -> str:
    if tr.run_number() == 0:
        threading.Event().wait(5)
    return "Venice"


@pytest.mark.parametrize("agent", [_slow_first, _blocked_first])
def test_a_hanging_run_is_counted_and_holds_up_nothing(agent: Callable[[str], Any]) -> None:
    result = tr.run_best_of(agent, QUESTION, k=4, rule=FixedK(4), timeout=0.1)
    assert (result.answer, result.runs.used, result.runs.failed) == ("Venice", 3, 1)
    assert result.decision.dropped == {0: "failed: no result within 0.1 s"}


def test_a_run_that_takes_much_longer_is_not_waited_for() -> None:
    result = awaited(tr.best_of(_slow_first, QUESTION, k=8, rule=WindowRule(3), timeout=None))
    assert (result.answer, result.runs.cancelled) == ("Venice", 1)
    assert 0 not in [one.sample_id for one in result.pool.rollouts]


def test_after_the_deadline_it_decides_on_what_there_is() -> None:
    async def agent(_: str) -> str:
        await asyncio.sleep(0 if tr.run_number() < 3 else 60)
        return "Venice"

    result = awaited(tr.best_of(agent, QUESTION, k=8, rule=FixedK(8), deadline=0.1))
    assert (result.answer, result.runs.used, result.stopped) == ("Venice", 3, "0.1 s are over")


def test_it_can_be_called_beside_an_event_loop_with_a_callable_object() -> None:
    class Agent:
        async def __call__(self, question: str) -> str:
            return f"Answer: {question}"

    async def inside() -> Result:
        return tr.run_best_of(Agent(), "Venice", k=2)

    assert awaited(inside()).answer == "Answer: Venice"


def test_tokens_are_added_up_where_they_are_known() -> None:
    def agent(_: str) -> Any:
        return "Venice" if tr.run_number() else tr.AgentRun("Venice", usage=Usage(10, 2, 3))

    assert tr.run_best_of(agent, QUESTION, k=2, rule=FixedK(2)).cost == Usage(10, 2, 3)
    assert tr.run_best_of(venice, QUESTION, k=2).cost is None


def test_a_result_has_a_page_and_what_is_missing(tmp_path: Path) -> None:
    seen = (tr.Search("Orfeo composer", (tr.Evidence("Claudio Monteverdi composed Orfeo in Mantua."),)),)
    answers = ("Venice", "Mantua", "Cremona")
    result = tr.run_best_of(lambda _: tr.Rollout(0, answers[tr.run_number()], seen), QUESTION, k=3, rule=FixedK(3))
    assert {one.answer for one in result.missing.unsupported} == {"Venice", "Cremona"}
    result.view(tmp_path / "page.html")
    assert b"<html" in (tmp_path / "page.html").read_bytes()[:200]


def test_the_same_call_resumes_from_the_log_and_repeats_failed_runs(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    calls: list[int] = []

    def agent(_: str) -> str:
        calls.append(tr.run_number())
        if tr.run_number() == 1:
            raise ValueError("not today")
        return answer_of(tr.run_number())

    first = tr.run_best_of(agent, QUESTION, k=3, parallel=1, rule=FixedK(3), log=log)
    again = tr.run_best_of(agent, QUESTION, k=5, parallel=1, rule=FixedK(5), log=log)
    assert calls == [0, 1, 2, 3, 4, 5]
    assert (first.runs.failed, again.runs.failed, again.runs.resumed) == (1, 0, 2)
    assert [one.answer for one in again.pool.rollouts] == [answer_of(number) for number in (0, 2, 3, 4, 5)]
    [pool] = tr.read_pools(log)
    assert (pool.question.text, len(pool)) == (QUESTION, 6)
    assert pool.rollouts[1].problem == "failed: ValueError: not today"
    done = tr.run_best_of(agent, QUESTION, k=5, rule=FixedK(5), log=log)
    assert (len(calls), done.decision) == (6, again.decision)


def test_a_run_that_was_not_needed_is_logged_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    first = tr.run_best_of(answering, QUESTION, k=8, parallel=4, rule=FixedK(2), log=log)
    assert (first.runs.used, first.runs.cancelled) == (2, 2)
    again = tr.run_best_of(answering, QUESTION, k=8, parallel=1, rule=FixedK(5), log=log)
    assert again.runs.resumed == 4


def test_a_log_holds_many_questions_and_survives_a_torn_line(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    french = tr.Question("fr", "Capital of France?")
    tr.run_best_of(lambda _: "Ven\ud800ice", QUESTION, k=2, rule=FixedK(2), log=log)
    tr.run_best_of(lambda _: "Paris", french, k=1, log=log)
    log.write_bytes(log.read_bytes()[:-20])
    assert tr.run_best_of(lambda _: "Paris", french, k=1, log=log).runs.resumed == 0
    assert tr.run_best_of(lambda _: "Paris", french, k=1, log=log).runs.resumed == 1
    assert tr.run_best_of(venice, QUESTION, k=2, rule=FixedK(2), log=log).runs.resumed == 2
    record = json.loads(log.read_text().splitlines()[0])
    assert (record["schema"], record["sample_id"]) == ("tracerank-rollout/1", 0)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("notes.txt", "not JSON\n", ReadError),
        ("list.jsonl", "[1]\n", ReadError),
        (".", None, UsageError),
        ("runs.jsonl.gz", None, UsageError),
        ("no/runs.jsonl", None, UsageError),
    ],
)
def test_a_file_that_is_no_log_is_refused_before_any_run(
    tmp_path: Path, name: str, text: str | None, error: type[Exception]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(error):
        tr.run_best_of(lambda _: pytest.fail("was run"), QUESTION, k=1, log=tmp_path / name)


def test_a_hanging_thread_does_not_keep_the_interpreter_from_ending() -> None:
    script = (
        "import time, tracerank as tr\n"
        "def agent(q):\n    time.sleep(600 if tr.run_number() == 0 else 0)\n    return 'Venice'\n"
        f"print(tr.run_best_of(agent, {QUESTION!r}, k=4, timeout=0.2, rule=tr.FixedK(4)).answer)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("Venice\n", "", 0)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"parallel": 0}])
def test_at_least_one_run_must_be_allowed(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        tr.run_best_of(venice, QUESTION, **wrong)


def test_plain_calls_share_a_loop_that_calls_from_within_it_do_not_block() -> None:
    loops = []

    async def agent(question: str) -> str:
        loops.append(asyncio.get_running_loop())
        return tr.run_best_of(lambda _: "Venice", question, k=1).answer or ""

    for _ in range(2):
        assert tr.run_best_of(agent, QUESTION, k=1).answer == "Venice"
    assert loops[0] is loops[1]
    assert loops[0].is_running()


def test_the_object_that_was_chosen_comes_back_and_objects_are_compared_by_their_fields() -> None:
    @dataclass
    class City:
        name: str
        founded: int

    given = [City("Rome", 421), City("Venice", 421), City("venice", 421)]
    result = tr.run_best_of(
        lambda _: tr.AgentRun.of_output({}, given[tr.run_number()], None), QUESTION, k=3, rule=FixedK(3)
    )
    assert (result.output, result.decision.group) == (given[1], (1, 2))
    assert tr.run_best_of(lambda _: "Venice", QUESTION, k=1).output is None


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_an_agent_that_ends_the_program_ends_only_its_run(kind: type[BaseException]) -> None:
    async def agent(question: str) -> str:
        if tr.run_number() == 0:
            raise kind("enough")
        return "Venice"

    for _ in range(2):
        result = tr.run_best_of(agent, QUESTION, k=2, rule=FixedK(2))
        assert (result.answer, result.runs.failed) == ("Venice", 1)
