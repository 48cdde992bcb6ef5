"""smolagents: memory as messages, GAIA's lines, steps by their own ``dict``, runs of code."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("smolagents",)
TOOLS = Toolbox("search_library", "topic", "visit_page", "address", returns.headings)
ENDS_WITHOUT_ANSWER = False


def make(run: Run) -> dict[str, Any]:
    """Both agents; the tool-calling one also as the employee of another."""
    from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent

    model = OpenAIServerModel(model_id="scripted-model", api_base=run.v1, api_key="none")
    calling = ToolCallingAgent(tools=_tools(run), model=model, verbosity_level=0, instructions=run.script.system)
    answer = calling.run(run.question)
    messages = [message.dict() for message in calling.write_memory_to_messages()]
    coding = CodeAgent(tools=_tools(run), model=model, verbosity_level=0)
    coded = coding.run(run.question, return_full_result=True)
    about = {"question": run.question, "true_answer": "the reference of the data set", "task_id": run.name[:2]}
    return {
        "memory_messages": _plain(messages),
        "gaia_line": _plain(
            {
                "model_id": "scripted-model",
                **about,
                "prediction": answer,
                "intermediate_steps": messages,
                "parsing_error": False,
                "iteration_limit_exceeded": False,
                "agent_error": None,
                "start_time": "2026-03-01 10:00:00",
                "end_time": "2026-03-01 10:00:09",
            }
        ),
        "steps_dict": {
            **about,
            "answer": _plain(answer),
            "steps": _plain([step.dict() for step in calling.memory.steps]),
        },
        "code_run_result": _plain(coded.dict()),
        "code_messages": {**about, "messages": _plain([one.dict() for one in coding.write_memory_to_messages()])},
        "code_succinct": {**about, "trace": _plain(coding.memory.get_succinct_steps())},
        "nested_record": {**about, "run": _plain(calling.memory.get_full_steps())},
    }


def _tools(run: Run) -> list[Any]:
    """This library reads the source of a function; a tool of one's own class needs none."""
    from smolagents import Tool

    made = []
    for function in run.script.functions(str, as_text):
        spec = next(tool for tool in run.script.tools if tool.name == function.__name__)
        inputs = {name: {"type": "string", "description": name} for name in spec.parameters}
        about = {"name": spec.name, "description": spec.about, "inputs": inputs, "output_type": "string"}
        kind = type(
            spec.name.title(),
            (Tool,),
            {**about, "forward": _forward(function), "skip_forward_signature_validation": True},
        )
        made.append(kind())
    return made


def _forward(function: Any) -> Any:
    def forward(self: Any, *some: Any, **more: Any) -> Any:
        return function(*some, **more)

    return forward


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
