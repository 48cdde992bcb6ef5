"""The anthropic client by hand: messages with thinking and text in parts, whole and streamed."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("anthropic",)
TOOLS = Toolbox("knowledge_lookup", "search_phrase", "open_article", "article_url", returns.xml)


def make(run: Run) -> dict[str, Any]:
    """A loop as the documentation has it."""
    from anthropic import Anthropic

    client = Anthropic(base_url=run.root, api_key="none")
    messages, replies = _talked(run, client, is_stream=False)
    streamed, _ = _talked(run, client, is_stream=True)
    about = {"task": {"question": run.question, "expected": "the reference of the data set"}}
    return {
        "messages": messages,
        "with_system": {"system": run.script.system, "messages": streamed, "model": "claude-sonnet-4-5"},
        "in_user_record": {**about, "result": {"messages": messages, "stop_reason": replies[-1]["stop_reason"]}},
        "request_response": Lines(
            [{"request": {"messages": messages[: 1 + 2 * at]}, "response": one} for at, one in enumerate(replies)]
        ),
        "messages_lines": Lines(messages),
        "as_text": {"question": run.question, "transcript": json.dumps(messages)},
    }


def _talked(run: Run, client: Any, is_stream: bool) -> tuple[list[Any], list[Any]]:
    messages: list[Any] = [{"role": "user", "content": run.question}]
    tools = [{"name": one.name, "description": one.about, "input_schema": one.schema} for one in run.script.tools]
    replies = []
    while True:
        asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": run.script.system}
        asked |= {"messages": list(messages), "tools": tools}
        if is_stream:
            with client.messages.stream(**asked) as stream:
                reply = stream.get_final_message()
        else:
            reply = client.messages.create(**asked)
        replies.append(reply.model_dump(mode="json"))
        messages.append({"role": "assistant", "content": [block.model_dump(mode="json") for block in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return messages, replies
        messages.append({"role": "user", "content": [_result(run, call, is_stream) for call in calls]})


def _result(run: Run, call: Any, is_listed: bool) -> dict[str, Any]:
    found = run.called_text(call.name, call.input)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": found}
    if found.startswith("Error: "):
        result |= {"is_error": True}
    return result | ({"content": [{"type": "text", "text": found}]} if is_listed else {})
