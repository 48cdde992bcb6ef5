"""Agno: a JSON store, a team with a member, events of a stream, an output schema."""

import json
import shutil
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("agno",)
TOOLS = Toolbox(
    "duckduckgo_news", "query", "read_article", "url", returns.as_json_text(returns.duckduckgo), more={"max_results": 3}
)


def make(run: Run) -> dict[str, Any]:
    """One agent for each way to run."""
    from agno.agent import Agent
    from agno.db.json import JsonDb
    from agno.models.openai import OpenAIChat
    from pydantic import BaseModel

    class Finding(BaseModel):
        answer: str
        sources: list[str]

    def agent_of(**more: Any) -> Any:
        model = OpenAIChat(id="scripted-model", api_key="none", base_url=run.v1)
        tools = run.script.functions(str, as_text)
        return Agent(model=model, tools=tools, instructions=run.script.system, telemetry=False, **more)

    home = run.folder / "work" / run.name
    stored = agent_of(db=JsonDb(db_path=str(home)), session_id=run.name, name="researcher")
    stored.run(run.question)
    stored_runs = json.loads(next(home.glob("*runs*.json")).read_text())
    shutil.rmtree(home)
    events = [_plain(event.to_dict()) for event in agent_of().run(run.question, stream=True, stream_events=True)]
    found = agent_of(output_schema=Finding if run.script.answer else None, use_json_mode=False).run(run.question)
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "json_store": stored_runs,
        "events": Lines(events),
        "structured": _plain(found.to_dict()),
        "nested_record": {**about, "run": _plain(found.to_dict())},
        "to_json": json.loads(found.to_json()),
        "tools_and_content": {
            **about,
            "content": found.content.answer if run.script.answer else None,
            "tools": [_plain(tool.to_dict()) for tool in found.tools or ()],
        },
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
