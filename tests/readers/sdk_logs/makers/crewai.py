"""CrewAI: ``CrewOutput`` with the messages of its tasks, and what the output log file keeps."""

import json
import os
from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("crewai",)


def make(run: Run) -> dict[str, Any]:
    """One agent, one task."""
    os.environ.update(
        {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}
    )
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    @tool("web_search")
    def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    model = LLM(model="openai/scripted-model", base_url=run.v1, api_key="none")
    agent = Agent(role="Searcher", goal="Answer questions", backstory="You search.", tools=[web_search], llm=model)
    task = Task(description=run.question, expected_output="A short answer", agent=agent)
    log = run.folder / f"{run.name}.log.json"
    output = Crew(agents=[agent], tasks=[task], verbose=False, output_log_file=str(log)).kickoff()
    logged = json.loads(log.read_text())
    log.unlink()
    return {"crew_output": json.loads(output.model_dump_json()), "output_log": logged}
