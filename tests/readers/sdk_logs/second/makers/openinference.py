"""OpenInference spans of a LangChain agent with other tools: as lines, and as a list in a record."""

from typing import Any

from tests.readers.sdk_logs.makers.openinference import run_langchain, spans_of
from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("openinference-instrumentation-langchain", "opentelemetry-sdk")
TOOLS = Toolbox("consult_index", "subject", "retrieve_page", "page", returns.as_json_text(returns.hits_of_index))


def make(run: Run) -> dict[str, Any]:
    """The agent of the first scenario's maker, watched."""
    from openinference.instrumentation.langchain import LangChainInstrumentor

    spans = spans_of(LangChainInstrumentor(), lambda: run_langchain(run))
    return {"lines": Lines(spans), "list_record": {"question": run.question, "expected": "x", "spans": spans}}
