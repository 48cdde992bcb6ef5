"""What an SDK dumped inside a record of the user's own, under any name, and what the record says around it."""

import json
from typing import Any

import pytest

from tests.readers.sources.test_pool_records import QUESTION, chat, read
from tracerank.readers.sources.unwrap import dump_in, unwrapped

ABOUT = {"question": QUESTION, "expected": "Oslo"}
ASKER_FIRST = [{**chat("Oslo")[0], "role": "assistant"}, *chat("Oslo")[1:3], {"role": "user", "content": "Oslo"}]
"""AG2's history, of which the one who asks is the assistant: only a reader that knows chats turns it round."""


@pytest.mark.parametrize("name", ["run", "dump", "transcript", "result"])
@pytest.mark.parametrize("pack", [list, json.dumps, lambda messages: {"messages": messages, "cost": 1}])
def test_a_dump_is_read_as_it_stands_under_any_name_and_as_json(name: str, pack: Any) -> None:
    (pool,), problems = read({**ABOUT, name: pack(ASKER_FIRST)})
    (rollout,) = pool.rollouts
    assert (pool.question.text, pool.question.references) == (QUESTION, ("Oslo",))
    assert (rollout.answer, len(rollout.searches[0].evidence), problems) == ("Oslo", 1, [])


def test_what_was_asked_may_stand_in_an_object_beside_the_dump() -> None:
    (pool,), _ = read({"task": ABOUT, "result": {"messages": chat("Bergen"), "turns": 2}})
    assert (pool.question.text, pool.question.references) == (QUESTION, ("Oslo",))
    assert [rollout.answer for rollout in pool.rollouts] == ["Bergen"]


def test_an_example_and_a_prediction_are_a_question_and_a_run() -> None:
    steps = {"tool_name_0": "search", "tool_args_0": {"query": "q"}, "observation_0": [{"title": "T", "text": "x"}]}
    made = {"trajectory": {**steps, "tool_name_1": "finish", "tool_args_1": {}}, "answer": "Bergen"}
    (pool,), _ = read({"example": {"question": QUESTION, "answer": "Oslo"}, "prediction": made, "score": 0.0})
    assert pool.question.references == ("Oslo",)
    assert [rollout.answer for rollout in pool.rollouts] == ["Bergen"]


def test_number_label_and_answer_of_the_run_may_stand_around_the_dump() -> None:
    (pool,), _ = read({**ABOUT, "sample_id": 7, "correct": True, "answer": "Bergen", "run": chat("Oslo")})
    (rollout,) = pool.rollouts
    assert (rollout.sample_id, rollout.label, rollout.answer) == (7, 1.0, "Bergen")


def test_the_reference_that_comes_with_a_dump_is_not_what_was_said() -> None:
    row = {"prompt": chat("x")[:1], "completion": chat("Bergen")[1:], "answer": "Oslo", "reward": 0.0}
    (pool,), _ = read({**ABOUT, "rollouts": [row]})
    assert [rollout.answer for rollout in pool.rollouts] == ["Bergen"]


def test_two_dumps_or_no_question_are_no_wrapping() -> None:
    assert dump_in({**ABOUT, "a": chat("x"), "b": chat("y")}) is None
    assert dump_in({**ABOUT, "run": "no dump", "more": "[broken" + " x" * 40}) is None
    dump = dump_in({"run": chat("x")})
    assert dump is not None
    assert unwrapped({"run": chat("x")}, dump) is None


def test_pools_of_dumps_of_any_shape_are_taken_apart() -> None:
    def dump(answer: str) -> dict[str, Any]:
        said = [{"source": "user", "content": QUESTION}, {"source": "agent", "content": answer}]
        call = {"id": "1", "name": "search", "arguments": {"query": "q"}, "output": [{"title": "T", "text": "x"}]}
        return {"state": {"llm_context": [said[0], call, said[1]]}}

    (pool,), _ = read({"question": QUESTION, "runs": [dump("Oslo"), dump("Bergen")]})
    assert [rollout.answer for rollout in pool.rollouts] == ["Oslo", "Bergen"]


def test_replies_of_a_model_in_one_run_are_no_pool() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "search", "arguments": '{"query": "q"}'}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Oslo"}]}
    replies = [{"object": "response", "output": [call]}, {"object": "response", "output": [said]}]
    (pool,), _ = read({"question": QUESTION, "responses": replies})
    assert [rollout.answer for rollout in pool.rollouts] == ["Oslo"]


def test_runs_with_an_id_of_their_own_are_one_pool_of_their_question() -> None:
    rows = [{"id": f"run{place}", "question": QUESTION, "run": chat(answer)} for place, answer in enumerate("ab")]
    (pool,), problems = read(*rows)
    assert (pool.question.id, [rollout.answer for rollout in pool.rollouts]) == ("run0", ["a", "b"])
    assert ["several values of 'id'" in str(problem) for problem in problems] == [True]
    pools, problems = read(*({"question_id": row["id"], **row} for row in rows))
    assert (len(pools), problems) == (2, [])
