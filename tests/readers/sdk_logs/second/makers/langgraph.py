"""LangGraph and LangChain: artifacts, tokens of a stream, OpenAI's form, text."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.returns import Hit
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("langgraph", "langchain", "langchain-core", "langchain-openai", "langchain-anthropic")


def _documents(query: str, hits: list[Hit]) -> object:
    return returns.langchain_documents(query, hits)


TOOLS = Toolbox("retrieve_context", "query_text", "load_web_page", "web_address", _documents)


def make(run: Run) -> dict[str, Any]:
    """``create_agent`` on two APIs, and one with an output type."""
    from langchain.agents import create_agent
    from langchain_anthropic import ChatAnthropic
    from langchain_core.load import dumps
    from langchain_core.messages import convert_to_openai_messages, get_buffer_string
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Finding(BaseModel):
        answer: str
        sources: list[str]

    model = ChatOpenAI(model="scripted-model", base_url=run.v1, api_key="none")
    claude = ChatAnthropic(model="claude-sonnet-4-5", base_url=run.root, api_key="none")
    asked: Any = {"messages": [("user", run.question)]}
    system = run.script.system
    agent = create_agent(model, _tools(run), system_prompt=system, middleware=_errors())
    state = agent.invoke(asked)
    by_claude = create_agent(claude, _tools(run), system_prompt=system, middleware=_errors()).invoke(asked)
    with_artifacts = create_agent(model, _tools(run, is_artifact=True), middleware=_errors()).invoke(asked)
    streamed = list(agent.stream(asked, stream_mode="messages"))
    both = list(agent.stream(asked, stream_mode=["updates", "custom"]))
    form = Finding if run.script.answer else None
    found = create_agent(model, _tools(run), response_format=form, middleware=_errors()).invoke(asked)
    about = {"question": run.question, "expected": "the reference of the data set"}
    messages = state["messages"]
    return {
        "openai_messages": convert_to_openai_messages(messages),
        "openai_record": {**about, "trajectory": convert_to_openai_messages(by_claude["messages"])},
        "claude_state": {"messages": [message.model_dump() for message in by_claude["messages"]]},
        "artifacts": {**about, "messages": [message.model_dump(mode="json") for message in with_artifacts["messages"]]},
        "dumps": json.loads(dumps(state)),
        "to_json": [message.to_json() for message in messages],
        "default_str": json.loads(json.dumps(state, default=str)),
        "pretty_text": {**about, "log": "\n\n".join(message.pretty_repr() for message in messages)},
        "buffer_string": {**about, "output": get_buffer_string(messages)},
        "token_stream": Lines([_plain(one) for one in streamed]),
        "updates_and_custom": Lines([_plain(one) for one in both]),
        "structured_state": _plain(found),
        "nested_record": {**about, "output": {"messages": [_plain(message) for message in messages], "steps": 3}},
        "last_message_and_steps": {
            **about,
            "answer": messages[-1].text,
            "tool_calls": [call for message in messages for call in getattr(message, "tool_calls", ())],
            "tool_outputs": [message.content for message in messages if message.type == "tool"],
        },
    }


def _tools(run: Run, is_artifact: bool = False) -> list[Any]:
    from langchain_core.documents import Document
    from langchain_core.tools import StructuredTool

    def shown(value: object) -> object:
        if not isinstance(value, list):
            return (as_text(value), value) if is_artifact else as_text(value)
        documents = [Document(one["page_content"], metadata=one["metadata"]) for one in value]
        text = "\n\n".join(f"Source: {one.metadata}\nContent: {one.page_content}" for one in documents)
        return (text, documents) if is_artifact else text

    form = "content_and_artifact" if is_artifact else "content"
    return [
        StructuredTool.from_function(function, response_format=form) for function in run.script.functions(str, shown)
    ]


def _errors() -> list[Any]:
    from tests.readers.sdk_logs.makers.langgraph import _errors_as_messages

    return _errors_as_messages()


def _plain(value: Any) -> Any:
    return json.loads(
        json.dumps(value, default=lambda one: one.model_dump() if hasattr(one, "model_dump") else str(one))
    )
