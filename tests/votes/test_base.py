"""Decisions for a stream of pools: one on which a method fails costs only itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import pytest

from tests.builders import pool
from tracerank.errors import ChatError, ReadError, UndecidedPool
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.explanation import explain_stream


def named(*names: str) -> list[Pool]:
    return [replace(one, question=replace(one.question, id=name)) for name in names for one in [pool("Paris", "Rome")]]


FAILURE = OverflowError("math range error")


@dataclass(frozen=True)
class OneByOne:
    """Fails on questions that are called bad."""

    name: str = "one by one"
    error: Exception = FAILURE

    def decide(self, pool: Pool) -> Decision:
        if pool.question.id.startswith("bad"):
            raise self.error
        return Decision(pool.question.id, "Paris", 0, {0: 1.0})


@dataclass(frozen=True)
class InBlocks(OneByOne):
    """Draws three pools before it decides on any."""

    name: str = "in blocks"

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        stream = iter(pools)
        while block := list(islice(stream, 3)):
            yield from [self.decide(one) for one in block]


METHODS = (OneByOne(), InBlocks())
IDS = "a", "bad 1", "b", "c", "d", "bad 2", "bad 3", "e"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_pool_on_which_a_method_fails_costs_only_itself(method: Method) -> None:
    told: list[str] = []
    decided = list(
        decide_stream(method, iter(named(*IDS)), lambda pool, reason: told.append(f"{pool.question.id}: {reason}"))
    )
    assert [found.question_id for _, found in decided] == [one.question.id for one, _ in decided] == list(IDS)
    assert [found.answer for _, found in decided] == ["Paris", None, "Paris", "Paris", "Paris", None, None, "Paris"]
    assert [line.split(":")[0] for line in told] == ["bad 1", "bad 2", "bad 3"]
    assert "OverflowError: math range error (test_base.py:" in told[0]
    assert [found.is_fault for _, found in decided] == [found.problem is not None for _, found in decided]
    assert f"bad 1: {decided[1][1].problem}" == told[0]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_who_is_not_told_gets_the_first_failure_by_its_question(method: Method) -> None:
    stream = decide_stream(method, named(*IDS))
    assert next(stream)[1].answer == "Paris"
    with pytest.raises(UndecidedPool, match="'bad 1': not decided: OverflowError"):
        next(stream)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_an_explanation_that_fails_says_so_instead(method: Method) -> None:
    explained = dict(zip(IDS, explain_stream(method, named(*IDS), lambda *_: None), strict=True))
    assert explained["a"][1].decision.answer == "Paris"
    assert (explained["bad 2"][1].decision.problem or "").startswith("OverflowError")


def hopeless() -> ChatError:
    error = ChatError("a wrong key")
    error.ends_all = True
    return error


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_pool_on_which_a_server_fails_costs_only_itself_and_is_no_fault(method: OneByOne) -> None:
    told: list[tuple[str, str]] = []
    failing = replace(method, error=ChatError("no reply"))
    found = [
        one for _, one in decide_stream(failing, named(*IDS), lambda pool, why: told.append((pool.question.id, why)))
    ]
    assert [(one.answer, one.problem, one.is_fault) for one in found] == [
        (None, "no reply", False) if name.startswith("bad") else ("Paris", None, False) for name in IDS
    ]
    assert told == [(name, "no reply") for name in IDS if name.startswith("bad")]


def test_a_server_is_not_asked_twice_about_a_pool_that_is_decided_alone() -> None:
    asked: list[str] = []

    class Asking(OneByOne):
        def decide(self, pool: Pool) -> Decision:
            asked.append(pool.question.id)
            return super().decide(pool)

    assert len(list(decide_stream(Asking(error=ChatError("no reply")), named(*IDS), lambda *_: None))) == len(IDS)
    assert asked == list(IDS)


@pytest.mark.parametrize("error", [hopeless(), OSError("disk full"), ImportError("no torch")])
@pytest.mark.parametrize("method", [OneByOne, InBlocks])
def test_what_every_pool_would_meet_ends_the_stream(method: type[OneByOne], error: Exception) -> None:
    with pytest.raises(type(error)):
        list(decide_stream(method(error=error), named(*IDS), lambda *_: None))


@pytest.mark.parametrize("error", [ReadError("line 3 is cut off"), ValueError("a reader's own mistake")])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_what_goes_wrong_in_reading_is_no_fault_of_the_method(method: Method, error: Exception) -> None:
    def broken() -> Iterator[Pool]:
        yield from named("a", "b")
        raise error

    with pytest.raises(type(error)):
        list(decide_stream(method, broken(), lambda *_: None))


def test_a_method_that_fails_before_it_draws_a_pool_is_not_asked_for_ever() -> None:
    class Unloadable(InBlocks):
        def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
            raise RuntimeError("cannot load")

    with pytest.raises(RuntimeError, match="cannot load"):
        list(decide_stream(Unloadable(), named("a"), lambda *_: None))


def test_a_method_around_another_names_the_same_pool() -> None:
    class Around(InBlocks):
        def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
            return (decision for _, decision in decide_stream(InBlocks(), pools))

    told: list[str] = []
    decided = list(decide_stream(Around(), named(*IDS), lambda pool, _: told.append(pool.question.id)))
    assert told == ["bad 1", "bad 2", "bad 3"]
    assert [found.question_id for _, found in decided] == list(IDS)
