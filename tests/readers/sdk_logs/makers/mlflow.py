"""MLflow: a trace of an agent as ``Trace.to_dict`` and ``to_json`` give it, and its row in ``search_traces``."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("mlflow-skinny",)


def make(run: Run) -> dict[str, Any]:
    """An agent by hand whose functions are traced; the model's calls as MLflow's OpenAI tracing records them."""
    import mlflow
    from openai import OpenAI

    mlflow.set_tracking_uri(f"sqlite:///{run.folder / 'mlflow.sqlite'}")
    client = OpenAI(base_url=run.v1, api_key="none")
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}}
    tools: Any = [{"type": "function", "function": {"name": "web_search", "parameters": parameters}}]

    @mlflow.trace(span_type="TOOL")
    def web_search(query: str) -> list[dict[str, str]]:
        return run.found(query)

    @mlflow.trace(span_type="CHAT_MODEL", name="Completions")
    def completed(messages: Any, tools: Any, model: str) -> Any:
        return client.chat.completions.create(model=model, messages=messages, tools=tools).model_dump()

    @mlflow.trace(span_type="AGENT")
    def agent(question: str) -> str:
        messages: list[Any] = [{"role": "user", "content": question}]
        while True:
            message = completed(list(messages), tools, "scripted-model")["choices"][0]["message"]
            messages.append(message)
            if not message["tool_calls"]:
                return str(message["content"])
            for call in message["tool_calls"]:
                try:
                    found = json.dumps(web_search(json.loads(call["function"]["arguments"])["query"]))
                except RuntimeError as error:
                    found = f"Error: {error}"
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})

    agent(run.question)
    trace = mlflow.get_trace(mlflow.get_last_active_trace_id(), flush=True)
    row = mlflow.search_traces(locations=["0"], max_results=1)  # the newest first
    (searched,) = json.loads(row.to_json(orient="records"))
    spans_only = {name: value for name, value in searched.items() if name != "trace"}
    return {
        "trace": trace.to_dict(),
        "trace_json": trace.to_json(),
        "search_traces": searched,
        "search_traces_spans": spans_only,
    }
