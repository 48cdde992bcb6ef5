"""Logs that public agents write, made by hand in the shape that their code writes: nothing of theirs is copied.

Search-o1, the GAIA runs of smolagents' open_deep_research, OpenDeepSearch, OWL, Reflexion's text logs, and states of
LangChain's open_deep_research. FlashRAG has a test of its own.
"""

import json
from pathlib import Path
from typing import Any

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


# ---- printed steps

_STEPS = [
    f"TaskStep(task='You have one question to answer.\\n{ASKED}', task_images=None)",
    "PlanningStep(model_input_messages=[], model_output_message=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, "
    "content='Plan', tool_calls=None, raw=None), plan='Plan', timing=Timing(start_time=1.5, end_time=None))",
    "ActionStep(step_number=1, tool_calls=[ToolCall(name='python_interpreter', arguments='print(web_search(\"Vienna"
    "\\'s river\"))', id='call_2')], error=None, model_output_message=ChatMessage(role=<MessageRole.ASSISTANT: "
    "'assistant'>, content='look', raw=<litellm.ModelResponse object at 0x7f>), observations='Execution logs:\\n"
    f"## Search Results\\n\\n[Vienna](https://a.org/v)\\n{TOLD}\\n\\n[Other](https://b.org/)\\nOther rivers.\\n"
    "Last output from code snippet:\\nNone', observations_images=None, action_output=None)",
    "ActionStep(step_number=2, tool_calls=[ToolCall(name='python_interpreter', arguments='final_answer(\"Danube\")', "
    "id='call_3')], observations='Execution logs:\\nLast output from code snippet:\\nDanube', action_output='Danube', "
    "is_final_answer=True)",
]
_SHOWN = [("Vienna's river", [("Vienna", "https://a.org/v"), ("Other", "https://b.org/")])]


def gaia(prediction: str, **fields: Any) -> str:
    row = {"agent_name": "m", "question": ASKED, "augmented_question": f"You have one.\n{ASKED}", "task": "1"}
    row |= {"prediction": prediction, "intermediate_steps": _STEPS, "task_id": "t1", "true_answer": "Danube"}
    return json.dumps({**row, "parsing_error": False, "agent_error": None, **fields})


def test_gaia_runs_of_smolagents_are_read_by_their_printed_steps(tmp_path: Path) -> None:
    pool, problems = read(tmp_path / "run.jsonl", "\n".join((gaia("the Danube"), gaia("Inn"))))
    assert not problems
    assert pool.question.references == ("Danube",)
    assert [one.answer for one in pool.rollouts] == ["the Danube", "Inn"]  # as it was put last
    assert searched(pool) == _SHOWN


def test_steps_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    broken = [_STEPS[2][:200]]
    pool, problems = read(tmp_path / "run.jsonl", "\n".join((gaia("Inn"), gaia("Inn", intermediate_steps=broken))))
    assert len(pool.rollouts) == 2
    assert "no steps that can be read" in problems[0]


def test_open_deep_search_is_read_by_its_printed_steps(tmp_path: Path) -> None:
    row = {"model_id": "m", "agent_action_type": "codeact", "original_question": ASKED, "true_answer": "Danube"}
    row |= {"intermediate_steps": f"[{', '.join(_STEPS)}]", "start_time": 1.0, "token_counts": {"input": 1}}
    rows = [json.dumps({**row, "answer": answer}) for answer in ("Inn", "Danube")]
    pool, problems = read(tmp_path / "m__codeact__frames__trial0.jsonl", "\n".join(rows))
    assert not problems
    assert [one.answer for one in pool.rollouts] == ["Inn", "Danube"]
    assert searched(pool) == searched(pool, 1) == _SHOWN


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


# ---- Reflexion

_REFLECTED = "You have attempted to answer following question before and failed.\nReflections:\n- Look better.\n\n"


def agent(answer: str, verdict: str, before: str = "") -> str:
    return (
        f"{before}Question: {ASKED}\nThought 1: I need to search Vienna.\nAction 1: Search[Vienna]\n"
        f"Observation 1: {TOLD}\nIt is a city.\nThought 2: So.\nAction 2: Finish[{answer}]\n"
        f"Observation 2: Answer is {verdict}\nCorrect answer: Danube\n\n"
    )


def trial(number: int, right: str = "", wrong: str = "", halted: str = "") -> str:
    return (
        f"\n{'#' * 40}\nBEGIN TRIAL {number}\nTrial summary: Correct: 1, Incorrect: 1, Halted: 0\n{'#' * 39}\n"
        f"------------- BEGIN CORRECT AGENTS -------------\n\n{right}"
        f"------------- BEGIN INCORRECT AGENTS -----------\n\n{wrong}"
        f"------------- BEGIN HALTED AGENTS -----------\n\n{halted}"
    )


def test_reflexions_trials_are_rollouts_and_repetitions_are_none(tmp_path: Path) -> None:
    right = agent("Danube", "CORRECT", _REFLECTED)
    log = trial(1, wrong=agent("Inn", "INCORRECT")) + trial(2, right) + trial(3, right)
    pool, problems = read(tmp_path / "100_questions_5_trials.txt", log)
    assert not problems
    assert pool.question.references == ("Danube",)
    assert [(one.sample_id, one.answer, one.label) for one in pool.rollouts] == [(1, "Inn", 0.0), (2, "Danube", 1.0)]
    assert [[search.query for search in one.searches] for one in pool.rollouts] == [["Vienna"], ["Vienna"]]
    assert "CORRECT" not in str([one.searches for one in pool.rollouts])
    assert pool.rollouts[1].source is not None
    assert int(pool.rollouts[1].source.rpartition(":")[2]) > 20


def test_a_halted_agent_has_no_answer(tmp_path: Path) -> None:
    half = (
        f"Question: {ASKED}\nThought 1: hm\nAction 1: Search[Wien]\nObservation 1: {TOLD}\nCorrect answer: Danube\n\n"
    )
    pool, _ = read(tmp_path / "log.txt", trial(1, right=agent("Danube", "CORRECT")) + trial(2, halted=half))
    assert [one.answer for one in pool.rollouts] == ["Danube", None]


def test_a_context_that_was_given_is_no_question(tmp_path: Path) -> None:
    given = f"Context: {TOLD} Question: {ASKED}\nThought: It says so.\nAction: Finish[Danube]\n"
    told = "Observation: Answer is CORRECT\nCorrect answer: Danube\n\n"
    pool, _ = read(tmp_path / "log.txt", trial(1, right=given + told))
    assert [one.answer for one in pool.rollouts] == ["Danube"]


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
