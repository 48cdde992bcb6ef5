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
    """Says its answers in turn, whichever copy is asked, and notes how it was copied."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        super().__init__(answers)
        self.copies: list[dict[str, Any]] = []

    def copy(self, **changes: Any) -> "Scripted":
        self.copies.append(changes)
        return self


class Noted:
    """The vote; keeps the pool that it was shown."""

    name = "noted"

    def decide(self, pool: Pool) -> Decision:
        self.pool = pool
        return MajorityVote().decide(pool)


def test_the_inner_module_runs_with_rollout_ids_of_its_own_and_the_vote_decides() -> None:
    model = Scripted([{"answer": "Rome"}, {"answer": "Paris"}, {"answer": "paris"}])
    with dspy.context(lm=model):
        chosen = selecting_module(dspy.Predict("question -> answer"), MajorityVote(), k=3, threads=1)(
            question="Capital?"
        )
    assert (chosen.answer, chosen.decision["group"]) == ("Paris", [1, 2])
    assert model.copies == [{"rollout_id": place, "temperature": 1.0} for place in range(3)]


def test_a_failed_run_is_left_out_and_all_failed_are_told() -> None:
    class Moody(dspy.Module):
        def forward(self, question: str) -> Any:
            told = dspy.Predict("question -> answer")(question=question)
            if told.answer == "fail":
                raise ValueError("no tool answered")
            return told

    with dspy.context(lm=Scripted([{"answer": said} for said in ("fail", "Paris", "fail", "fail")])):
        assert selecting_module(Moody(), MajorityVote(), k=2, threads=1)(question="Capital?").answer == "Paris"
        with pytest.raises(UsageError, match="all 2 runs"):
            selecting_module(Moody(), MajorityVote(), k=2, threads=1)(question="Capital?")


def test_trajectories_of_react_become_searches_and_evidence() -> None:
    def search(query: str) -> str:
        """Search the web."""
        return "Paris is the capital of France."

    steps = [
        {"next_thought": "Look.", "next_tool_name": "search", "next_tool_args": '{"query": "capital of France"}'},
        {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": "{}"},
        {"reasoning": "As it says.", "answer": "Paris"},
    ]
    method = Noted()
    with dspy.context(lm=Scripted([*steps, *steps])):
        agent = dspy.ReAct("question -> answer", tools=[search])
        chosen = selecting_module(agent, method, k=2, threads=1)(question="Capital of France?")
    assert chosen.answer == "Paris"
    for rollout in method.pool.rollouts:
        assert [one.query for one in rollout.searches] == ["capital of France"]
        assert "Paris is the capital" in rollout.searches[0].evidence[0].text
        assert rollout.answer == "Paris"
    assert method.pool.question.text == "Capital of France?"


class Meeting(dspy.Module):  # type: ignore[misc]
    """Answers only when all of them are under way at once; the last to be asked fails."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def deepcopy(self) -> "Meeting":
        return self

    def place(self) -> int:
        return int(dspy.settings.lm.kwargs["rollout_id"])

    def said(self) -> Any:
        if self.place() == self.count - 1:
            raise ValueError("no tool answered")
        return dspy.Prediction(answer=["Rome", "Paris", "paris"][self.place()])


class InThreads(Meeting):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.all_there = threading.Barrier(count)

    def forward(self, question: str) -> Any:
        self.all_there.wait(20)
        return self.said()


class InTasks(Meeting):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.there, self.all_there = 0, asyncio.Event()

    async def aforward(self, question: str) -> Any:
        self.there += 1
        if self.there == self.count:
            self.all_there.set()
        await asyncio.wait_for(self.all_there.wait(), 20)
        return self.said()


def test_runs_are_under_way_at_once_and_keep_their_places() -> None:
    with dspy.context(lm=DummyLM([])):
        chosen = selecting_module(InThreads(4), MajorityVote(), k=4)(question="Capital?")
    assert (chosen.answer, chosen.decision["group"]) == ("Paris", [1, 2])


@pytest.mark.parametrize("made", [InTasks, InThreads])
def test_it_can_be_awaited_whether_or_not_the_inner_module_can(made: type[Any]) -> None:
    async def asked() -> Any:
        with dspy.context(lm=DummyLM([])):
            return await selecting_module(made(4), MajorityVote(), k=4).acall(question="Capital?")

    chosen = awaited(asked())
    assert (chosen.answer, chosen.decision["group"]) == ("Paris", [1, 2])


def test_no_more_runs_than_threads_are_under_way() -> None:
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
