"""Google ADK: the events of a run, the session, and its SQLite session service."""

import asyncio
import os
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("google-adk", "google-genai")


def make(run: Run) -> dict[str, Any]:
    """A Gemini model at the scripted server."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from google.adk.agents import LlmAgent
    from google.adk.runners import Runner
    from google.adk.sessions import DatabaseSessionService
    from google.genai import types

    os.environ.update({"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": run.root})

    def web_search(query: str) -> dict:
        """Search the web."""
        try:
            return {"status": "success", "results": run.found(query)}
        except RuntimeError as error:
            return {"status": "error", "error_message": str(error)}

    agent = LlmAgent(name="searcher", model="gemini-2.5-flash", tools=[web_search])
    service = DatabaseSessionService(f"sqlite+aiosqlite:///{run.folder / 'session_store.sqlite'}")
    await service.create_session(app_name="app", user_id="user", session_id=run.name)
    runner = Runner(agent=agent, app_name="app", session_service=service)
    message = types.Content(role="user", parts=[types.Part(text=run.question)])
    events = [event async for event in runner.run_async(user_id="user", session_id=run.name, new_message=message)]
    session = await service.get_session(app_name="app", user_id="user", session_id=run.name)
    assert session is not None
    dumped = session.model_dump(mode="json", exclude_none=True)
    return {
        "session": dumped,
        "session_by_alias": session.model_dump(mode="json", by_alias=True),
        "session_events": Lines(dumped["events"]),
        "run_events": Lines([event.model_dump(mode="json", exclude_none=True) for event in events]),
    }
