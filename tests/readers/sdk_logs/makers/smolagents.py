"""smolagents: ``memory.get_full_steps`` and ``get_succinct_steps`` of both agents, and the ``RunResult``."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("smolagents",)


def make(run: Run) -> dict[str, Any]:
    """A tool-calling agent, then one that writes code."""
    from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def web_search(query: str) -> str:
        """Search the web.

        Args:
            query: What to search for.
        """
        return run.found_text(query)

    model = OpenAIServerModel(model_id="scripted-model", api_base=run.v1, api_key="none")
    calling = ToolCallingAgent(tools=[web_search], model=model, verbosity_level=0)
    result = calling.run(run.question, return_full_result=True)
    coding = CodeAgent(tools=[web_search], model=model, verbosity_level=0)
    coding.run(run.question)
    return {
        "tool_calling_steps": _plain(calling.memory.get_full_steps()),
        "tool_calling_succinct": _plain(calling.memory.get_succinct_steps()),
        "run_result": _plain(result.dict()),
        "code_steps": _plain(coding.memory.get_full_steps()),
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
