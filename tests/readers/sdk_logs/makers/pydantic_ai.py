"""Pydantic AI: ``all_messages_json`` of a run."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("pydantic-ai-slim",)


def make(run: Run) -> dict[str, Any]:
    """A tool that fails asks the model to try again, as the documentation says."""
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("scripted-model", provider=OpenAIProvider(base_url=run.v1, api_key="none"))
    agent = Agent(model, retries=2)

    @agent.tool_plain
    def web_search(query: str) -> list[dict[str, str]]:
        """Search the web."""
        try:
            return run.found(query)
        except RuntimeError as error:
            raise ModelRetry(f"Error: {error}") from error

    messages = json.loads(agent.run_sync(run.question).all_messages_json())
    return {"all_messages_json": messages, "in_record": {"messages": messages}}
