"""Logs that public agents write, made by hand in the shape that their code writes: nothing of theirs is copied.

Search-o1, OWL, and states of LangChain's open_deep_research. FlashRAG has a test of its own.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools

ASKED = "Which river flows through Vienna?"
TOLD = "Vienna lies on the Danube."
Found = list[tuple[str | None, list[tuple[str | None, str | None]]]]


def read(path: Path, content: Any) -> tuple[Pool, list[str]]:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    problems: list[str] = []
    (pool,) = read_pools(path, on_problem=lambda problem: problems.append(str(problem)))
    assert pool.question.text == ASKED
    return pool, problems


def searched(pool: Pool, place: int = 0) -> Found:
    return [
        (search.query, [(seen.title, seen.url) for seen in search.evidence]) for search in pool.rollouts[place].searches
    ]


# ---- Search-o1

_PROMPT = f"""<|im_start|>user
You may search: write <|begin_search_query|> your query here <|end_search_query|>, then you are shown
<|begin_search_result|> ...search results... <|end_search_result|>. Put the answer into \\boxed{{YOUR_ANSWER}}.

Question:
{ASKED}

<|im_end|>
<|im_start|>assistant
"""
_O1 = (
    "I look.\n\n<|begin_search_query|>river in Vienna<|end_search_query|>\n\n<|begin_search_result|>"
    f"**Final Information**\n\n{TOLD}<|end_search_result|>\n\nAgain.\n\n"
    "<|begin_search_query|>river in Vienna<|end_search_query|>\n"
    "<|begin_search_result|>\nYou have searched this query. Please refer to previous results.\n"
    "<|end_search_result|>\n\nHence \\boxed{\\text{the Danube}}."
)


def search_o1(output: str, **fields: Any) -> dict[str, Any]:
    row = {"id": 0, "Question": _PROMPT, "answer": ["Danube"], "Output": output, "Pred_Answer": "someone else"}
    return {**row, "Metrics": {"em": 0, "acc": 1, "f1": 0.7}, **fields}


def test_search_o1_is_read_by_its_marks_and_its_box(tmp_path: Path) -> None:
    pool, problems = read(tmp_path / "test.12.13,18:23.json", [search_o1(_O1), search_o1("I know: \\boxed{Inn}")])
    assert not problems
    assert pool.question.references == ("Danube",)
    assert [one.answer for one in pool.rollouts] == ["the Danube", "Inn"]
    assert [(query, len(seen)) for query, seen in searched(pool)] == [("river in Vienna", 1), ("river in Vienna", 0)]
    assert pool.rollouts[0].searches[0].evidence[0].text == TOLD


# ---- steps of smolagents as older versions printed them


def test_printed_steps_are_refused_and_no_answer_is_taken_from_beside_them(tmp_path: Path) -> None:
    steps = ["TaskStep(task='Which?', task_images=None)", "ActionStep(step_number=1, observations='Danube')"]
    path = tmp_path / "run.jsonl"
    for printed in (steps, f"[{', '.join(steps)}]"):
        path.write_text(json.dumps({"question": ASKED, "prediction": "Inn", "intermediate_steps": printed}))
        with pytest.raises(ReadError, match="no known format"):
            read_pools(path)


# ---- OWL


def test_owl_is_read_by_the_shape_of_its_calls(tmp_path: Path) -> None:
    found = [
        {"result_id": 1, "title": "Vienna", "description": TOLD, "long_description": "N/A", "url": "https://a.org/v"},
        {"result_id": 2, "title": "Inn", "description": "A river.", "long_description": "N/A", "url": "https://b.org/"},
    ]
    call = {"tool_name": "search_google", "args": {"query": "Vienna river"}, "result": found, "tool_call_id": "c1"}
    told = "<analysis>Clear.</analysis>\n<final_answer>Danube</final_answer>"
    history = [
        {"user": f"Instruction: search.\n\n{ASKED}", "assistant": "Solution: I searched.", "tool_calls": [call]},
        {"user": "TASK_DONE\n\nNow please make a final answer", "assistant": told, "tool_calls": []},
    ]
    row = {"task_id": "t1", "question": ASKED, "level": 1, "model_answer": "Danube", "ground_truth": "Danube"}
    pool, problems = read(tmp_path / "result.json", [{**row, "score": True, "token_info": {}, "history": history}])
    assert not problems
    assert (pool.rollouts[0].answer, pool.rollouts[0].label) == ("Danube", 1.0)
    assert searched(pool) == [("Vienna river", [("Vienna", "https://a.org/v"), ("Inn", "https://b.org/")])]


# ---- open_deep_research of LangChain


def test_a_state_of_open_deep_research_is_read_with_its_supervisor(tmp_path: Path) -> None:
    report = "# Rivers\n\nVienna lies on the Danube."
    call = {"name": "ConductResearch", "args": {"research_topic": "rivers of Vienna"}, "id": "c1", "type": "tool_call"}
    state = {
        "messages": [{"type": "human", "content": ASKED, "id": "1"}, {"type": "ai", "content": report, "id": "2"}],
        "supervisor_messages": [
            {"type": "system", "content": "You supervise."},
            {"type": "human", "content": "Research which river flows through Vienna"},
            {"type": "ai", "content": "", "tool_calls": [call]},
            {"type": "tool", "content": TOLD, "name": "ConductResearch", "tool_call_id": "c1"},
        ],
        "research_brief": "Research which river flows through Vienna",
        "notes": [TOLD],
        "final_report": report,
    }
    pool, problems = read(tmp_path / "states.json", [state])
    assert not problems
    assert pool.rollouts[0].answer == report
    assert [(query, len(seen)) for query, seen in searched(pool)] == [("rivers of Vienna", 1)]
