"""OpenInference spans of LangChain and smolagents agents, by OpenTelemetry's own JSON of a span."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text

PACKAGES = ("openinference-instrumentation-langchain", "openinference-instrumentation-smolagents", "opentelemetry-sdk")


def make(run: Run) -> dict[str, Any]:
    """The agents of the two makers beside this one, watched."""
    from openinference.instrumentation.langchain import LangChainInstrumentor
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor

    return {
        "langchain": Lines(spans_of(LangChainInstrumentor(), lambda: run_langchain(run))),
        "smolagents": Lines(spans_of(SmolagentsInstrumentor(), lambda: _smolagents(run, "ToolCallingAgent"))),
        "smolagents_code": Lines(spans_of(SmolagentsInstrumentor(), lambda: _smolagents(run, "CodeAgent"))),
    }


def spans_of(instrumentor: Any, agent: Any) -> list[Any]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor.instrument(tracer_provider=provider)
    try:
        agent()
    finally:
        instrumentor.uninstrument()
    return [json.loads(span.to_json(indent=None)) for span in exporter.get_finished_spans()]


def run_langchain(run: Run) -> None:
    from langchain.agents import create_agent
    from langchain_core.tools import StructuredTool
    from langchain_openai import ChatOpenAI

    from tests.readers.sdk_logs.makers.langgraph import _errors_as_messages

    tools = [StructuredTool.from_function(function) for function in run.script.functions(str, as_text)]
    model = ChatOpenAI(model="scripted-model", base_url=run.v1, api_key="none")
    agent = create_agent(model, tools, middleware=_errors_as_messages())
    agent.invoke({"messages": [{"role": "user", "content": run.question}]})


def _smolagents(run: Run, kind: str) -> None:
    import smolagents
    from smolagents import OpenAIServerModel, tool

    @tool
    def web_search(query: str) -> str:
        """Search the web.

        Args:
            query: What to search for.
        """
        return run.found_text(query)

    model = OpenAIServerModel(model_id="scripted-model", api_base=run.v1, api_key="none")
    getattr(smolagents, kind)(tools=[web_search], model=model, verbosity_level=0).run(run.question)
