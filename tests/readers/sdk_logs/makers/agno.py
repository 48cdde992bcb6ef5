"""Agno: ``RunOutput.to_dict``, its messages, and the session in its SQLite store."""

from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("agno",)


def make(run: Run) -> dict[str, Any]:
    """One session a rollout, all in one database file."""
    from agno.agent import Agent
    from agno.db.sqlite import SqliteDb
    from agno.models.openai import OpenAIChat

    def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    agent = Agent(
        model=OpenAIChat(id="scripted-model", api_key="none", base_url=run.v1),
        tools=[web_search],
        db=SqliteDb(db_file=str(run.folder / "run_store.sqlite")),
        session_id=run.name,
        telemetry=False,
    )
    output = agent.run(run.question)
    session = agent.get_session(session_id=run.name)
    return {
        "run_output": output.to_dict(),
        "messages": [message.to_dict() for message in output.messages],
        "session": session.to_dict(),
    }
