"""Inspect AI: a JSON log of ``react`` with a submit tool and of ``basic`` generation, samples one by one."""

import json
import os
import shutil
from typing import Any

from tests.readers.sdk_logs.run import Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("inspect-ai",)
TOOLS = Toolbox("find_sources", "claim", "read_source", "source_url", returns.bullets)


def make(run: Run) -> dict[str, Any]:
    """One evaluation of one sample a rollout."""
    from inspect_ai import Task, eval
    from inspect_ai.agent import react
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import Tool, ToolDef, ToolError

    def tools() -> list[Tool]:
        made = []
        for spec, function in zip(run.script.tools, run.script.functions(str, as_text), strict=True):
            made.append(
                ToolDef(
                    _asynchronous(function, ToolError),
                    spec.name,
                    spec.about,
                    dict.fromkeys(spec.schema["properties"], "what"),
                ).as_tool()
            )
        return made

    home = run.folder / "work" / run.name
    os.environ["INSPECT_DISPLAY"] = "none"
    model = get_model("openai-api/scripted/scripted-model", base_url=run.v1, api_key="none", memoize=False)
    sample = Sample(run.question, target="the reference of the data set", id=run.name[:2])
    solvers = {"generate": [use_tools(tools()), generate(tool_calls="loop")]}
    if run.script.answer:  # without a submission it would be told to go on
        solvers["react"] = react(prompt=run.script.system, tools=tools())
    kept: dict[str, Any] = {}
    for name, solver in solvers.items():
        log = eval(Task([sample], solver=solver), model, log_dir=str(home / name), log_format="json", score=False)[0]
        assert log.status == "success", log.error
        kept[name] = json.loads(next((home / name).glob("*.json")).read_text())
    shutil.rmtree(home)
    generated = kept["generate"]["samples"][0]
    return {
        "generate_sample": {key: value for key, value in generated.items() if key not in ("events", "attachments")},
        "generate_messages": generated["messages"],
        "react_log": kept.get("react", kept["generate"]),
        "nested_record": {"question": run.question, "expected": "x", "run": {"messages": generated["messages"]}},
    }


def _asynchronous(function: Any, failure: type[Exception]) -> Any:
    import functools

    @functools.wraps(function)
    async def tool(*some: Any, **more: Any) -> Any:
        try:
            return function(*some, **more)
        except RuntimeError as error:
            raise failure(str(error)) from error

    return tool
