"""Pydantic AI: structured output, instructions, streaming, the whole result, spans of its own instrumentation."""

import dataclasses
import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("pydantic-ai-slim",)
TOOLS = Toolbox("searchWeb", "searchTerm", "openPage", "pageUrl", returns.hits_of_index, returns.page_object)
ENDS_WITHOUT_ANSWER = False


def make(run: Run) -> dict[str, Any]:
    """An agent that answers in words, one with an output type, one on Anthropic's API."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from pydantic import BaseModel, TypeAdapter
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    class Finding(BaseModel):
        answer: str
        sources: list[str]

    provider = OpenAIProvider(base_url=run.v1, api_key="none")
    exporter, tracing = InMemorySpanExporter(), TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(exporter))

    def agent_of(model: Any, **more: Any) -> Any:
        agent: Any = Agent(model, instructions=run.script.system, retries=3, **more)
        for function in run.script.functions(dict):
            agent.tool_plain(_retrying(function, ModelRetry))
        return agent

    said = agent_of(OpenAIChatModel("scripted-model", provider=provider)).run_sync(run.question)
    found = agent_of(OpenAIResponsesModel("scripted-model", provider=provider), output_type=Finding).run_sync(
        run.question
    )
    claude = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(base_url=run.root, api_key="none"))
    watched = agent_of(claude)
    watched.instrument = InstrumentationSettings(tracer_provider=tracing)
    thought = watched.run_sync(run.question)
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "structured": json.loads(found.all_messages_json()),
        "structured_record": {
            **about,
            "output": found.output.model_dump(),
            "messages": json.loads(found.new_messages_json()),
        },
        "anthropic_messages": json.loads(thought.all_messages_json()),
        "result": json.loads(TypeAdapter(Any).dump_json(dataclasses.asdict(said), fallback=str)),
        "message_lines": Lines(json.loads(said.all_messages_json())),
        "nested_record": {**about, "run": {"messages": json.loads(said.all_messages_json()), "cost": 0.1}},
        "spans": Lines([json.loads(span.to_json(indent=None)) for span in exporter.get_finished_spans()]),
    }


def _retrying(function: Any, retry: type[Exception]) -> Any:
    import functools

    @functools.wraps(function)
    def tool(*some: Any, **more: Any) -> Any:
        try:
            return function(*some, **more)
        except RuntimeError as error:
            raise retry(f"{type(error).__name__}: {error}") from error

    return tool
