"""The node in a real, compiled graph."""

import operator
import warnings
from typing import Annotated, Any, TypedDict

import pytest

from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.sampling.integrations.langgraph import selection_node
from tracerank.votes.base import decision_to_record, with_evidence_note
from tracerank.votes.voting import MajorityVote

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what other libraries deprecate of each other
    graph = pytest.importorskip("langgraph.graph")
    messages = pytest.importorskip("langchain_core.messages")

SEEN = "Paris has been the capital of France for long."


class State(TypedDict, total=False):
    question: str
    rollouts: Annotated[list[Any], operator.add]
    answer: str | None
    decision: dict[str, Any]


def searched(answer: str) -> list[Any]:
    call = {"name": "search", "args": {"query": "capital of France"}, "id": "1"}
    return [
        messages.HumanMessage("Capital of France?"),
        messages.AIMessage("", tool_calls=[call]),
        messages.ToolMessage(SEEN, tool_call_id="1", name="search"),
        messages.AIMessage(f"Answer: {answer}"),
    ]


def test_a_graph_ends_with_the_answer_that_the_method_chooses() -> None:
    builder = graph.StateGraph(State)
    for place, rollout in enumerate([searched("Rome"), {"messages": searched("Paris")}, {"answer": "paris"}]):
        builder.add_node(f"agent{place}", lambda state, rollout=rollout: {"rollouts": [rollout]})
        builder.add_edge(graph.START, f"agent{place}")
        builder.add_edge(f"agent{place}", "select")
    builder.add_node("select", selection_node(MajorityVote()))
    builder.add_edge("select", graph.END)
    found = builder.compile().invoke({"question": "Capital of France?", "rollouts": []})
    assert (found["answer"], found["decision"]["sample_id"], found["decision"]["group"]) == ("Paris", 1, [1, 2])
    assert found["decision"]["question"] == "Capital of France?"


def test_the_decision_is_what_select_writes() -> None:
    pool = Pool(Question("request", "Capital?"), (Rollout(0, "Rome"), Rollout(1, "Paris"), Rollout(2, "paris")))
    found = selection_node(MajorityVote())(
        {"question": "Capital?", "rollouts": [{"answer": one} for one in ("Rome", "Paris", "paris")]}
    )
    record = decision_to_record(pool.question, with_evidence_note(pool, MajorityVote().decide(pool)))
    assert found["decision"] == {**record, "problems": []}


def test_the_node_tells_when_there_is_nothing_to_choose_from() -> None:
    with pytest.raises(UsageError, match="no rollouts under 'tries'"):
        selection_node(MajorityVote(), rollouts="tries")({"question": "Q?"})
    with pytest.raises(UsageError, match="cannot be read"):
        selection_node(MajorityVote())({"question": "Q?", "rollouts": [{"nonsense": 1}]})
