"""Strands Agents: ``agent.messages``, the file session manager's messages, and the result's ``to_dict``."""

from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("strands-agents",)


def make(run: Run) -> dict[str, Any]:
    """Bedrock's message shape, whatever the provider."""
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    @tool
    def web_search(query: str) -> list:
        """Search the web."""
        return run.found(query)

    model = OpenAIModel(client_args={"api_key": "none", "base_url": run.v1}, model_id="scripted-model")
    agent = Agent(model=model, tools=[web_search], callback_handler=None)
    agent(run.question)
    return {"messages": agent.messages, "in_record": {"messages": agent.messages}}
