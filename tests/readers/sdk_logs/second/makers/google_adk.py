"""Google ADK: a root agent that transfers, streaming with partial events, thoughts, an eval case of its own making."""

import asyncio
import json
import os
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("google-adk", "google-genai")
TOOLS = Toolbox("search_catalog", "request", "view_entry", "entry_url", returns.as_json_text(returns.chroma))


def make(run: Run) -> dict[str, Any]:
    """Gemini's API at the scripted server, whole and streamed."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from google.adk.agents import LlmAgent
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    os.environ.update({"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": run.root})
    tools = [_caught(function) for function in run.script.functions(dict)]
    message = types.Content(role="user", parts=[types.Part(text=run.question)])

    def researcher() -> Any:
        return LlmAgent(name="researcher", model="gemini-2.5-flash", instruction=run.script.system, tools=tools)

    async def ran(agent: Any, **more: Any) -> tuple[list[Any], Any]:
        runner = InMemoryRunner(agent=agent, app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u", session_id=run.name)
        events = [
            event async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message, **more)
        ]
        kept = await runner.session_service.get_session(app_name="app", user_id="u", session_id=session.id)
        return events, kept

    root = LlmAgent(name="root", model="gemini-2.5-flash", instruction="Transfer.", sub_agents=[researcher()])
    passed, passed_session = await ran(root)
    streamed, _ = await ran(researcher(), run_config=RunConfig(streaming_mode=StreamingMode.SSE))
    _, session = await ran(researcher())
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "transfer_session": json.loads(passed_session.model_dump_json(by_alias=True, exclude_none=True)),
        "transfer_events": Lines([json.loads(one.model_dump_json(by_alias=True, exclude_none=True)) for one in passed]),
        "streamed_record": {
            **about,
            "events": [json.loads(one.model_dump_json(exclude_none=True)) for one in streamed],
        },
        "contents": [
            json.loads(one.content.model_dump_json(exclude_none=True)) for one in session.events if one.content
        ],
        "nested_record": {**about, "run": json.loads(session.model_dump_json())},
    }


def _caught(function: Any) -> Any:
    import functools

    @functools.wraps(function)
    def tool(*some: Any, **more: Any) -> Any:
        try:
            found = function(*some, **more)
            return {"result": found}
        except RuntimeError as error:
            return {"status": "error", "error_message": str(error)}

    return tool
