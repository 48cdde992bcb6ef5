"""Haystack: an Agent whose tools return Documents, with a system prompt, as ``to_dict`` and as JSON of the result."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("haystack-ai",)
TOOLS = Toolbox(
    "document_lookup", "search_text", "fetch_webpage", "link", returns.haystack_documents, returns.page_object
)


def make(run: Run) -> dict[str, Any]:
    """Whole and streamed."""
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import Tool
    from haystack.utils import Secret

    tools = [
        Tool(spec.name, spec.about, spec.schema, function)
        for spec, function in zip(run.script.tools, run.script.functions(dict), strict=True)
    ]
    generator = OpenAIChatGenerator(api_key=Secret.from_token("none"), model="scripted-model", api_base_url=run.v1)
    agent = Agent(
        chat_generator=generator, tools=tools, system_prompt=run.script.system, raise_on_tool_invocation_failure=False
    )
    agent.warm_up()
    result = agent.run(messages=[ChatMessage.from_user(run.question)])
    streamed = agent.run(messages=[ChatMessage.from_user(run.question)], streaming_callback=lambda _: None)
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "result": {"agent": {key: _plain(value) for key, value in result.items()}},
        "nested_record": {**about, "run": [message.to_dict() for message in streamed["messages"]]},
        "openai_record": {
            **about,
            "conversation": [message.to_openai_dict_format() for message in result["messages"]],
            "last_message": result["last_message"].to_dict(),
        },
        "default_str": json.loads(
            json.dumps({**about, "messages": result["messages"]}, default=lambda one: one.__dict__)
        ),
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda one: one.to_dict() if hasattr(one, "to_dict") else str(one)))
