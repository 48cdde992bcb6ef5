"""MLflow: autologged traces of a LangChain-free loop with retrievers, and rows of a data frame of traces."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("mlflow-skinny",)
TOOLS = Toolbox("vector_lookup", "query", "page_text", "url", returns.langchain_documents)


def make(run: Run) -> dict[str, Any]:
    """The search is traced as a retriever, the page as a tool."""
    import mlflow
    from openai import OpenAI

    mlflow.set_tracking_uri(f"sqlite:///{run.folder / 'mlflow.sqlite'}")
    client = OpenAI(base_url=run.v1, api_key="none")

    def called(name: str, arguments: dict[str, Any]) -> Any:
        with mlflow.start_span(name, span_type="RETRIEVER" if name == TOOLS.search else "TOOL") as span:
            span.set_inputs(arguments)
            found = run.script.called(name, arguments)
            span.set_outputs(found)
            return found

    @mlflow.trace(span_type="CHAT_MODEL", name="ChatCompletion")
    def completed(messages: Any, tools: Any) -> Any:
        return client.chat.completions.create(model="scripted-model", messages=messages, tools=tools).model_dump()

    @mlflow.trace(span_type="AGENT", name="research_agent")
    def agent(question: str) -> str:
        messages: list[Any] = [{"role": "system", "content": run.script.system}, {"role": "user", "content": question}]
        while True:
            message = completed(list(messages), run.chat_tools)["choices"][0]["message"]
            messages.append(message)
            if not message["tool_calls"]:
                return str(message["content"] or "")
            for call in message["tool_calls"]:
                try:
                    found = json.dumps(called(call["function"]["name"], json.loads(call["function"]["arguments"])))
                except RuntimeError as error:
                    found = f"Error: {error}"
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})

    agent(run.question)
    trace = mlflow.get_trace(mlflow.get_last_active_trace_id(), flush=True)
    row = trace.to_pandas_dataframe_row()
    return {
        "trace_dict": trace.to_dict(),
        "row": json.loads(json.dumps(row, default=lambda one: one.to_dict() if hasattr(one, "to_dict") else str(one))),
    }
