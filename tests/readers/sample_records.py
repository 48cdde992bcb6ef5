"""One sound record of every format, and records twice: as they are, and with every verdict in them turned round."""

from typing import Any

from tests.readers.format_cases import record
from tests.readers.formats import test_anthropic_messages as anthropic
from tests.readers.formats import test_atif as atif
from tests.readers.formats import test_browsecomp_plus as browsecomp_plus
from tests.readers.formats import test_chat as chat
from tests.readers.formats import test_crewai_output as crewai
from tests.readers.formats import test_dspy_history as dspy
from tests.readers.formats import test_flashrag as flashrag
from tests.readers.formats import test_hotpot_agent as hotpot_agent
from tests.readers.formats import test_inspect_eval as inspect_eval
from tests.readers.formats import test_langchain_messages as langchain
from tests.readers.formats import test_openai_agents as openai_agents
from tests.readers.formats import test_openai_responses as openai_responses
from tests.readers.formats import test_smolagents_memory as smolagents
from tests.readers.sources import test_bad_input as plain

Record = dict[str, Any]
URL = "https://ex.org/a"

_WHOLE = {name: record(name, "a whole run") for name in ("browsing", "mirothinker", "r1-searcher", "react", "tongyi")}
SAMPLES: dict[str, Record] = {
    **_WHOLE,
    "canonical": plain.canonical(0),
    "webqa": plain.webqa(0),
    "search-r1": plain.tags(0),
    "inspect": inspect_eval.sample(
        inspect_eval.call("q"), inspect_eval.returned(inspect_eval.RESULTS), inspect_eval.said("Exact Answer: Ada")
    ),
    "hotpot-agent": hotpot_agent.item(),
    "flashrag": flashrag.SEQUENTIAL,
    "smolagents": smolagents.run(smolagents.SEARCHED),
    "browsecomp-plus": browsecomp_plus.run(
        browsecomp_plus.search("q", "123"), browsecomp_plus.item("output_text", browsecomp_plus.FINAL)
    ),
    "atif": atif.trajectory(atif.SEARCHED, atif.saying("Exact Answer: Paris")),
    "openai-agents": openai_agents.record(
        openai_agents.call("c1", "web_search", query="q"),
        openai_agents.output("c1", "text", openai_agents.FOUND),
        openai_agents.message("Paris"),
    ),
    "openai-responses": openai_responses.record(
        openai_responses.web_search("q", URL), openai_responses.message("Exact Answer: Paris")
    ),
    "anthropic": anthropic.record(
        anthropic.agent(
            anthropic.hosted("s1", "web_search", query="q"), anthropic.hits("s1", URL), anthropic.text("Paris")
        )
    ),
    "langchain": langchain.record(*langchain.SEARCHED, langchain.ai("Paris")),
    "openai-chat": chat.record(*chat.SEARCHED, chat.said("Exact Answer: Paris")),
    "crewai": crewai.crew(crewai.task(crewai.QUESTION, "Paris", *crewai.SEARCHED)),
    "dspy": dspy.call(dspy.inputs(dspy.step(0, "q", "Paris is the capital.")), dspy.outputs("Paris")),
    "general": {
        "question": "Capital of France?",
        "parts": [
            {"toolUse": {"toolUseId": "t1", "name": "web_search", "input": {"query": "capital"}}},
            {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "Paris is the capital."}]}},
            {"role": "assistant", "content": [{"text": "Paris"}]},
        ],
    },
    "plain": {"question": "Capital of France?", "answer": "Paris"},
}

_KNOWAGENT = record("react", "a knowagent prompt is read behind its examples")
_JUDGED = {"correctness": "correct", "extracted_final_answer": "Paris", "confidence": 99, "judge_text": "yes, correct"}
_CONDEMNED = {"correctness": "incorrect", "extracted_final_answer": "Oslo", "confidence": 1, "judge_text": "no, wrong"}

VERDICTS: dict[str, tuple[Record, Record]] = {
    "r1-searcher": (
        {**_WHOLE["r1-searcher"], "gpt4o_output": "True"},
        {**_WHOLE["r1-searcher"], "gpt4o_output": "False"},
    ),
    "fireact": (
        {**_WHOLE["react"], "reward": True, "em": True, "f1": 1.0},
        {
            **_WHOLE["react"],
            "reward": False,
            "em": False,
            "f1": 0.0,
            "traj": _WHOLE["react"]["traj"].replace("reward = True", "reward = False"),
        },
    ),
    "knowagent": (
        {**_KNOWAGENT, "correct": True, "reward": 1},
        {
            **_KNOWAGENT,
            "correct": False,
            "reward": 0,
            "prompt": _KNOWAGENT["prompt"].replace("Answer is CORRECT", "Answer is INCORRECT"),
        },
    ),
    "hotpot-agent": (
        hotpot_agent.item(em=1, f1=1.0, faithfulness=1.0, ans_coverage=1.0),
        hotpot_agent.item(em=0, f1=0.0, faithfulness=0.0, ans_coverage=0.0),
    ),
    "mirothinker": (
        {**_WHOLE["mirothinker"], "final_judge_result": "CORRECT"},
        {**_WHOLE["mirothinker"], "final_judge_result": "INCORRECT"},
    ),
    "aggagent": (
        chat.record(*chat.SEARCHED, chat.said("Paris"), auto_judge=_JUDGED),
        chat.record(*chat.SEARCHED, chat.said("Paris"), auto_judge=_CONDEMNED),
    ),
    "aggagent without its last words": (
        chat.record(*chat.SEARCHED, auto_judge=_JUDGED, prediction="Paris"),
        chat.record(*chat.SEARCHED, auto_judge=_CONDEMNED, prediction="Paris"),
    ),
    "flashrag": (
        {**flashrag.item(retrieval_result=[], metric_score={"em": 1.0, "f1": 1.0}), "golden_answers": []},
        {**flashrag.item(retrieval_result=[], metric_score={"em": 0.0, "f1": 0.0}), "golden_answers": []},
    ),
    "verl": (plain.tags(0, golden_answers=None, score=1.0), plain.tags(0, golden_answers=None, score=0.0)),
    "inspect": (
        inspect_eval.sample(inspect_eval.said("Ada"), scores={"m": {"value": "C", "answer": "Ada"}}),
        inspect_eval.sample(inspect_eval.said("Ada"), scores={"m": {"value": "I", "answer": "Bob"}}),
    ),
    "browsing": (
        {**_WHOLE["browsing"], "correct": True, "pass_rate": 1.0},
        {**_WHOLE["browsing"], "correct": False, "pass_rate": 0.0},
    ),
}
"""The same rollout, judged right and judged wrong, in every field and line that a judge or an environment wrote."""
