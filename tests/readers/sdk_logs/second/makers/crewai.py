"""CrewAI: the output inside a record, the output of a task, what the event bus shows of the tools."""

import json
import os
from typing import Any

from tests.readers.sdk_logs.run import Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("crewai",)
TOOLS = Toolbox(
    "search_the_internet_with_serper", "search_query", "read_website_content", "website_url", returns.printed
)
ENDS_WITHOUT_ANSWER = False


def make(run: Run) -> dict[str, Any]:
    """A researcher; a listener keeps tool events."""
    os.environ.update(
        {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}
    )
    from crewai import LLM, Agent, Crew, Task
    from crewai.events import ToolUsageErrorEvent, ToolUsageFinishedEvent, crewai_event_bus
    from crewai.tools import tool

    tools = [tool(function.__name__)(function) for function in run.script.functions(str, as_text)]
    model = LLM(model="openai/scripted-model", base_url=run.v1, api_key="none")
    agent = Agent(role="Senior researcher", goal="Find facts", backstory=run.script.system, tools=tools, llm=model)
    task = Task(description=f"Answer this question: {run.question}", expected_output="A name", agent=agent)
    events: list[Any] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(ToolUsageFinishedEvent)
        def _finished(source: Any, event: Any) -> None:
            events.append(_plain(event.model_dump(exclude={"agent", "source_fingerprint"})))

        @crewai_event_bus.on(ToolUsageErrorEvent)
        def _failed(source: Any, event: Any) -> None:
            events.append(_plain(event.model_dump(exclude={"agent", "source_fingerprint"})))

        crew = Crew(agents=[agent], tasks=[task], verbose=False)
        output = crew.kickoff()
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "output_record": {**about, "run": _plain(output.model_dump())},
        "task_output": _plain(output.tasks_output[0].model_dump()),
        "tool_events_record": {**about, "tool_events": events, "answer": str(output)},
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
