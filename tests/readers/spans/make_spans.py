"""Makes the span files beside it with the real tracers, against a scripted chat server; never run by the tests.

Needs langchain, langchain-openai, smolagents, strands-agents[openai], opentelemetry-sdk,
opentelemetry-exporter-otlp-proto-common and the two openinference-instrumentation packages, in an environment of its
own: ``python make_spans.py langchain|smolagents|strands``.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

FOLDER = Path(__file__).parent / "spans"
QUESTION = "Which city is the capital of Norway?"
RESULTS = (
    "[1] Oslo\nURL: https://a.org/oslo\nOslo is the capital of Norway.\n\n"
    "[2] Bergen\nURL: https://b.org/bergen\nBergen lies in the west."
)


class Scripted(BaseHTTPRequestHandler):
    """Calls the search tool first and answers then."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
        has_searched = any(
            message["role"] == "tool" or "Oslo is the capital" in json.dumps(message) for message in body["messages"]
        )
        if not has_searched:
            call = ("web_search", {"query": "capital of Norway"})
        else:
            call = ("final_answer", {"answer": "Oslo"}) if "final_answer" in tools else None
        message: dict[str, Any] = {"role": "assistant", "content": None if call else "The answer is Oslo."}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"id": f"call_{call[0]}", "index": 0, "type": "function", "function": function}]
        self._reply(body, message, "tool_calls" if call else "stop")

    def _reply(self, body: dict[str, Any], message: dict[str, Any], reason: str) -> None:
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        base = {"id": "c", "created": 1, "model": "scripted", "usage": usage}
        self.send_response(200)
        if body.get("stream"):
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            first = {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": message}]}
            last = {**first, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
            for chunk in (first, last):
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
            return
        choice = {"index": 0, "message": message, "finish_reason": reason}
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({**base, "object": "chat.completion", "choices": [choice]}).encode())

    def log_message(self, *_: object) -> None:
        pass


def run_langchain(address: str, provider: TracerProvider) -> None:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)

    @tool
    def web_search(query: str) -> str:
        """Search the web."""
        return RESULTS

    model = ChatOpenAI(model="scripted", base_url=address, api_key="none")
    create_agent(model, [web_search]).invoke({"messages": [("user", QUESTION)]})


def run_smolagents(address: str, provider: TracerProvider) -> None:
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    SmolagentsInstrumentor().instrument(tracer_provider=provider)

    @tool
    def web_search(query: str) -> str:
        """Search the web.

        Args:
            query: what to look for
        """
        return RESULTS

    model = OpenAIServerModel("scripted", api_base=address, api_key="none")
    ToolCallingAgent([web_search], model, max_steps=4).run(QUESTION)


def run_strands(address: str, provider: TracerProvider) -> None:
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    trace.set_tracer_provider(provider)

    @tool
    def web_search(query: str) -> str:
        """Search the web."""
        return RESULTS

    model = OpenAIModel(client_args={"base_url": address, "api_key": "none"}, model_id="scripted")
    Agent(model=model, tools=[web_search], callback_handler=None)(QUESTION)


def main(name: str) -> None:
    """Run the agent once; keep its spans as OTLP in both spellings and as the console exporter prints them."""
    server = HTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    FOLDER.mkdir(exist_ok=True)
    memory, provider = InMemorySpanExporter(), TracerProvider()
    with (FOLDER / f"{name}-console.txt").open("w") as console:
        provider.add_span_processor(SimpleSpanProcessor(memory))
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=console)))
        globals()[f"run_{name}"](f"http://127.0.0.1:{server.server_port}/v1", provider)
        provider.shutdown()
    encoded = encode_spans(memory.get_finished_spans())
    for spelling, keeps in (("camel", False), ("snake", True)):
        export = MessageToDict(encoded, preserving_proto_field_name=keeps)
        (FOLDER / f"{name}-{spelling}.json").write_text(json.dumps(export))


if __name__ == "__main__":
    main(sys.argv[1])
