"""Batches of waiting requests: together where the method streams, and never at the cost of each other."""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from tests.builders import pool
from tracerank.errors import EmbeddingError, UndecidedPool
from tracerank.pools.pool import Pool
from tracerank.serving.decider import Decider
from tracerank.votes.base import Decision
from tracerank.votes.explanation import Explanation
from tracerank.votes.voting import MajorityVote


class Streaming:
    """A vote that decides streams, holds the first pool until its gate opens, and fails on some answers."""

    name = "streaming"

    def __init__(self) -> None:
        self.begun, self.gate = threading.Event(), threading.Event()
        self.outages = 0

    def decide(self, pool: Pool) -> Decision:
        return next(self.iter_decisions([pool]))

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        for one in pools:
            self.begun.set()
            assert self.gate.wait(10)
            if one.rollouts[0].answer == "bug":
                raise OverflowError("math range error")
            if one.rollouts[0].answer == "outage":
                self.outages += 1
                raise EmbeddingError("the encoder is away")
            yield MajorityVote().decide(one)


class OneByOne:
    """The same without a stream."""

    name = "one by one"

    def __init__(self) -> None:
        self._inner = Streaming()
        self.begun, self.gate = self._inner.begun, self._inner.gate

    def decide(self, pool: Pool) -> Decision:
        return self._inner.decide(pool)


def submitted(method: Any, *answers: str) -> tuple[list["Future[Explanation]"], list[int], Decider]:
    """Futures of a first pool and of pools with these answers, which wait together behind it; and batch sizes."""
    sizes: list[int] = []
    decider = Decider(method, sizes.append)
    futures = [decider.submit(pool("first"))]
    assert method.begun.wait(10)
    futures += [decider.submit(pool(answer), number % 2 == 1) for number, answer in enumerate(answers)]
    method.gate.set()
    return futures, sizes, decider


def test_waiting_pools_are_decided_together_in_order() -> None:
    futures, sizes, decider = submitted(Streaming(), *"abcdefg")
    assert [future.result(10).decision.answer for future in futures] == ["first", *"abcdefg"]
    assert sizes == [1, 7]
    assert [bool(future.result().rollouts) for future in futures] == [False, *[False, True] * 3, False]
    decider.close()


def test_a_method_without_streams_gets_one_pool_at_a_time() -> None:
    futures, sizes, decider = submitted(OneByOne(), *"abc")
    assert [future.result(10).decision.answer for future in futures] == ["first", *"abc"]
    assert sizes == [1] * 4
    decider.close()


def test_a_pool_that_breaks_the_method_costs_only_itself() -> None:
    futures, _, decider = submitted(Streaming(), "a", "b", "bug", "bug", "c", "d")
    for future, answer in zip(futures, ["first", "a", "b", "bug", "bug", "c", "d"], strict=True):
        if answer == "bug":
            with pytest.raises(UndecidedPool, match="math range error"):
                future.result(10)
        else:
            assert future.result(10).decision.answer == answer
    decider.close()


def test_an_outage_is_met_once_for_all_that_wait() -> None:
    method = Streaming()
    futures, _, decider = submitted(method, *["outage"] * 20)
    assert futures[0].result(10).decision.answer == "first"
    assert [type(future.exception(10)) for future in futures[1:]] == [EmbeddingError] * 20
    assert method.outages < 4
    decider.close()


def test_a_request_whose_client_has_left_costs_no_decision() -> None:
    method, sizes, others = Streaming(), list[int](), set(threading.enumerate())
    decider = Decider(method, sizes.append)
    first = decider.submit(pool("first"))
    assert method.begun.wait(10)
    left, last = decider.submit(pool("bug")), decider.submit(pool("z"))
    assert (decider.waiting(), left.cancel()) == (2, True)
    decider.close()
    method.gate.set()
    assert [one.result(10).decision.answer for one in (first, last)] == ["first", "z"]
    with pytest.raises(CancelledError):
        left.result(10)
    assert sizes == [1, 1]
    for thread in set(threading.enumerate()) - others:
        thread.join(10)
        assert not thread.is_alive()
