"""A method in a process of its own: the same answers, its errors, its death, its end."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pytest

from tests.served import awaited, served
from tracerank.errors import CheckpointError, TraceRankError, UndecidedPool, UsageError
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.methods import MethodOptions, load_method
from tracerank.pools.pool import Pool
from tracerank.serving.limits import ServiceLimits
from tracerank.votes.base import Decision, Method
from tracerank.votes.explanation import Explanation
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from starlette.exceptions import HTTPException

from tracerank.serving import deciding as deciding_module
from tracerank.serving.deciding import Asked, Deciding, Found, Item, MethodProcess, OwnMethod, ProcessEnded
from tracerank.serving.select_service import select_app
from tracerank.serving.wire import SelectRequest

POOLS = list(iter_world(PAPER["webqa"], 6, 3, 4))
BODY = {"question": "Q?", "rollouts": [{"answer": "Paris"}, {"answer": "Rome"}, {"answer": "paris"}]}


class Moody:
    """A vote that fails or dies when the question says so."""

    name = "moody"

    def decide(self, pool: Pool) -> Decision:
        if pool.question.text == "fail":
            raise CheckpointError("it cannot be done; do it otherwise")
        if pool.question.text == "fault":
            raise ZeroDivisionError("a fault of ours")
        if pool.question.text in ("dawdle", "hang"):
            time.sleep(2.5 if pool.question.text == "dawdle" else 60)
        if pool.question.text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return MajorityVote().decide(pool)


def moody() -> Method:
    return Moody()


@pytest.fixture(scope="module")
def process() -> Iterator[MethodProcess]:
    made = MethodProcess(moody)
    yield made
    made.close()


def asking(text: str) -> Item:
    pool = POOLS[0]
    question = type(pool.question)(pool.question.id, text)
    return Item(Pool(question, pool.rollouts), wants_reasons=False)


def test_it_decides_and_explains_as_here(process: MethodProcess) -> None:
    items = [Item(pool, wants_reasons=bool(place % 2)) for place, pool in enumerate(POOLS)]
    found = process.decide(items)
    assert found == OwnMethod(Moody()).decide(items)
    assert [type(one) for one in found] == [Decision, Explanation] * 3
    assert process.name == "moody"


def test_errors_come_over_and_it_goes_on(process: MethodProcess) -> None:
    with pytest.raises(CheckpointError, match="do it otherwise"):
        process.decide([asking("fail")])
    with pytest.raises(UndecidedPool, match="ZeroDivisionError: a fault of ours"):
        process.decide([asking("fault")])
    assert process.decide([asking("go on")])


def test_a_dead_process_is_replaced(process: MethodProcess) -> None:
    for _ in range(2):
        with pytest.raises(ProcessEnded):
            process.decide([asking("die")])
        assert process.decide([asking("go on")])


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_stopped_process_is_replaced_like_a_dead_one(is_busy: bool) -> None:
    process = MethodProcess(moody, hung_seconds=1.0)
    process.await_ready()
    assert process._process is not None
    stopped = process._process.pid
    assert stopped is not None
    if is_busy:
        with ThreadPoolExecutor(1) as asker:
            waiting = asker.submit(process.decide, [asking("dawdle")])
            time.sleep(0.2)
            os.kill(stopped, signal.SIGSTOP)
            assert isinstance(waiting.exception(20), ProcessEnded)
    else:
        os.kill(stopped, signal.SIGSTOP)
        with pytest.raises(ProcessEnded, match="hung and was ended"):
            process.decide([asking("go on")] * 3000)  # more than a pipe holds
    assert process.decide([asking("go on")])
    with pytest.raises(ProcessLookupError):
        os.kill(stopped, 0)
    process.close()


def test_a_process_that_nobody_waits_for_any_more_is_replaced() -> None:
    process = MethodProcess(moody, seconds=3.0)
    process.await_ready()
    with pytest.raises(ProcessEnded, match="hung and was ended"):
        process.decide([asking("hang")])
    assert process.decide([asking("go on")])
    process.close()


def test_one_that_works_for_long_is_left_alone() -> None:
    process = MethodProcess(moody, hung_seconds=1.0)
    assert process.decide([asking("dawdle")])
    process.close()


def test_one_that_was_closed_is_not_started_anew() -> None:
    process = MethodProcess(moody, threads=1)
    process.await_ready()
    process.close()
    with pytest.raises(ProcessEnded, match="with the service"):
        process.decide([Item(POOLS[0], wants_reasons=False)])
    assert not process.is_running()


def test_what_prevents_the_method_is_told_at_once() -> None:
    broken = MethodProcess(partial(load_method, "nonsense", MethodOptions()))
    with pytest.raises(UsageError, match="nonsense"):
        broken.await_ready()
    broken.close()
    assert issubclass(ProcessEnded, TraceRankError)


def test_several_processes_serve_and_end_with_the_service() -> None:
    processes = [MethodProcess(moody, threads=1) for _ in range(2)]
    limits = ServiceLimits(part=2)
    with served(select_app(processes, "1", limits)) as url, httpx.Client() as http:
        assert http.get(f"{url}/health").json()["method"] == "moody"
        assert http.post(f"{url}/v1/select", json=BODY).json()["answer"] == "Paris"
        assert http.post(f"{url}/v1/explain", json=BODY).json()["decision"]["group"] == [0, 2]
        died = http.post(f"{url}/v1/select", json={**BODY, "question": "die"})
        assert (died.status_code, died.headers["retry-after"]) == (503, "1")
        failed = http.post(f"{url}/v1/select", json={**BODY, "question": "fail"})
        assert (failed.status_code, failed.json()["detail"]) == (422, "it cannot be done; do it otherwise")
        assert http.post(f"{url}/v1/select", json=BODY).status_code == 200
    assert [process.is_running() for process in processes] == [False, False]


class Held:
    """A vote that waits before each batch until it is let through, and notes how many came together."""

    name = "held"

    def __init__(self, is_apart: bool) -> None:
        self.is_apart = is_apart
        self.begun, self.gate = threading.Event(), threading.Event()
        self.sizes: list[int] = []

    def decide(self, items: Sequence[Item]) -> list[Found]:
        self.sizes.append(len(items))
        self.begun.set()
        assert self.gate.wait(10)
        return OwnMethod(MajorityVote()).decide(items)

    def close(self, seconds: float) -> None:
        """Nothing to end."""


@pytest.mark.parametrize(("is_apart", "sizes"), [(True, [1, 4, 2]), (False, [1, 6])])
def test_a_part_is_left_for_others_where_deciding_does_not_hold_up_reading(is_apart: bool, sizes: list[int]) -> None:
    held = Held(is_apart)
    deciding = Deciding([held], ServiceLimits(part=2))

    async def seven_ask() -> None:
        asked = Asked(SelectRequest(**BODY), 10, asyncio.get_running_loop().time())
        waiting = [asyncio.create_task(deciding.decide(asked))]
        await asyncio.to_thread(held.begun.wait, 10)
        waiting += [asyncio.create_task(deciding.decide(asked)) for _ in range(6)]
        while deciding.batches.waiting() < 6:
            await asyncio.sleep(0.01)
        held.gate.set()
        assert {decided.found.answer for decided in await asyncio.gather(*waiting)} == {"Paris"}

    awaited(seven_ask())
    deciding.close()
    assert held.sizes == sizes


def test_closing_waits_for_no_batch_that_nobody_waits_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deciding_module, "ENDING_SECONDS", 0.1)
    held = Held(is_apart=False)
    deciding = Deciding([held], ServiceLimits())

    async def asks_and_goes() -> None:
        asked = Asked(SelectRequest(**BODY), 10, asyncio.get_running_loop().time())
        waiting = asyncio.create_task(deciding.decide(asked))
        await asyncio.to_thread(held.begun.wait, 10)
        waiting.cancel()
        with pytest.raises(HTTPException, match="closing"):
            await waiting

    awaited(asks_and_goes())
    closing = threading.Thread(target=deciding.close)
    closing.start()
    closing.join(5)
    is_closed = not closing.is_alive()
    held.gate.set()
    assert is_closed
    assert "left undone" in caplog.text
