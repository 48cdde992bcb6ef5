"""Haystack: the ``messages`` of an Agent's run, each by its own ``to_dict``, and in OpenAI's form."""

from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("haystack-ai",)


def make(run: Run) -> dict[str, Any]:
    """An Agent component with one tool."""
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import tool
    from haystack.utils import Secret

    @tool
    def web_search(query: str) -> list:
        """Search the web."""
        return run.found(query)

    generator = OpenAIChatGenerator(api_key=Secret.from_token("none"), model="scripted-model", api_base_url=run.v1)
    agent = Agent(chat_generator=generator, tools=[web_search])
    agent.warm_up()
    result = agent.run(messages=[ChatMessage.from_user(run.question)])
    messages = [message.to_dict() for message in result["messages"]]
    return {
        "messages": messages,
        "in_record": {"messages": messages},
        "openai_form": [message.to_openai_dict_format() for message in result["messages"]],
    }
