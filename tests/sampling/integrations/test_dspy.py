"""The module around real DSPy modules, with DSPy's own scripted model."""

import asyncio
import threading
import warnings
from typing import Any

import pytest

from tests.served import awaited
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.sampling.integrations.dspy import selecting_module
from tracerank.votes.base import Decision
from tracerank.votes.voting import MajorityVote

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    dspy = pytest.importorskip("dspy")
    from dspy.utils import DummyLM

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Scripted(DummyLM):
    """Gives its answers in turn, whichever copy is called, and records how it was copied."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        super().__init__(answers)
        self.copies: list[dict[str, Any]] = []

    def copy(self, **changes: Any) -> "Scripted":
        self.copies.append(changes)
        return self


class Recorded(MajorityVote):
    """The vote; keeps the pool that it decided."""

    pool: Pool

    def decide(self, pool: Pool) -> Decision:
        self.pool = pool
        return super().decide(pool)


def test_runs_have_rollout_ids_of_their_own_and_the_method_decides() -> None:
    model = Scripted([{"answer": "Rome"}, {"answer": "Paris"}, {"answer": "paris"}])
    with dspy.context(lm=model):
        best = selecting_module(dspy.Predict("question -> answer"), MajorityVote(), k=3, threads=1)
        chosen = best(question="Capital?")
    assert (chosen.answer, chosen.decision["group"]) == ("Paris", [1, 2])
    assert model.copies == [{"rollout_id": index, "temperature": 1.0} for index in range(3)]


def test_a_failed_run_is_left_out_until_all_fail() -> None:
    class Moody(dspy.Module):
        def forward(self, question: str) -> Any:
            made = dspy.Predict("question -> answer")(question=question)
            if made.answer == "fail":
                raise ValueError("no tool answered")
            return made

    with dspy.context(lm=Scripted([{"answer": answer} for answer in ("fail", "Paris", "fail", "fail")])):
        best = selecting_module(Moody(), MajorityVote(), k=2, threads=1)
        assert best(question="Capital?").answer == "Paris"
        with pytest.raises(UsageError, match="all 2 runs"):
            best(question="Capital?")


def test_trajectories_of_react_become_searches_and_evidence() -> None:
    def search(query: str) -> str:
        """Search the web."""
        return "Paris is the capital of France."

    steps = [
        {"next_thought": "Look.", "next_tool_name": "search", "next_tool_args": '{"query": "capital of France"}'},
        {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": "{}"},
        {"reasoning": "As it says.", "answer": "Paris"},
    ]
    method = Recorded()
    with dspy.context(lm=Scripted([*steps, *steps])):
        agent = dspy.ReAct("question -> answer", tools=[search])
        selecting_module(agent, method, k=2, threads=1)(question="Capital of France?")
    assert method.pool.question.text == "Capital of France?"
    for rollout in method.pool.rollouts:
        assert [one.query for one in rollout.searches] == ["capital of France"]
        assert "Paris is the capital" in rollout.searches[0].evidence[0].text
        assert rollout.answer == "Paris"


class Meeting(dspy.Module):  # type: ignore[misc]
    """Answers only when four runs are concurrent; the last one fails."""

    def deepcopy(self) -> "Meeting":
        return self

    def prediction(self) -> Any:
        number = int(dspy.settings.lm.kwargs["rollout_id"])
        if number == 3:
            raise ValueError("no tool answered")
        return dspy.Prediction(answer=["Rome", "Paris", "paris"][number])


class InThreads(Meeting):
    def __init__(self) -> None:
        super().__init__()
        self.all_there = threading.Barrier(4)

    def forward(self, question: str) -> Any:
        self.all_there.wait(20)
        return self.prediction()


class InTasks(Meeting):
    def __init__(self) -> None:
        super().__init__()
        self.there, self.all_there = 0, asyncio.Event()

    async def aforward(self, question: str) -> Any:
        self.there += 1
        if self.there == 4:
            self.all_there.set()
        await asyncio.wait_for(self.all_there.wait(), 20)
        return self.prediction()


@pytest.mark.parametrize("inner", [InTasks, InThreads])
@pytest.mark.parametrize("is_awaited", [False, True])
def test_runs_are_concurrent_and_keep_their_numbers(inner: type[Any], is_awaited: bool) -> None:
    async def wait() -> Any:
        with dspy.context(lm=DummyLM([])):
            return await selecting_module(inner(), MajorityVote(), k=4).acall(question="Capital?")

    def call() -> Any:
        with dspy.context(lm=DummyLM([])):
            return selecting_module(inner(), MajorityVote(), k=4)(question="Capital?")

    chosen = awaited(wait()) if is_awaited else call()
    assert (chosen.answer, chosen.decision["group"]) == ("Paris", [1, 2])


def test_no_more_runs_than_threads_are_concurrent() -> None:
    busy, most = 0, 0

    class Counting(dspy.Module):  # type: ignore[misc]
        async def aforward(self, question: str) -> Any:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await asyncio.sleep(0.01)
            busy -= 1
            return dspy.Prediction(answer="Paris")

    with dspy.context(lm=DummyLM([])):
        awaited(selecting_module(Counting(), MajorityVote(), k=6, threads=2).acall(question="Capital?"))
    assert most == 2
