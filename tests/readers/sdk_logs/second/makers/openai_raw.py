"""The openai client by hand: chat completions and responses, whole and streamed, as loops keep them."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("openai",)
TOOLS = Toolbox("lookup_docs", "question", "read_url", "url", returns.markdown, more={"top_k": 3})


def make(run: Run) -> dict[str, Any]:
    """A loop of chat completions, one of streamed ones, one of responses."""
    from openai import OpenAI

    client = OpenAI(base_url=run.v1, api_key="none")
    messages, calls = _chatted(run, client)
    items, responses = _responded(run, client)
    about = {"id": run.name, "question": run.question, "expected": "the reference of the data set"}
    return {
        "chat_messages": messages,
        "chat_request_response": Lines(calls),
        "chat_in_user_record": {**about, "run": {"messages": messages, "usage": {"total_tokens": 90}}},
        "chat_streamed": {"messages": _streamed(run, client)},
        "chat_completions": {**about, "completions": [one["response"] for one in calls]},
        "chat_transcript_text": {**about, "transcript": json.dumps(messages, ensure_ascii=False)},
        "responses_input": items,
        "responses_in_user_record": {**about, "output": items},
        "responses_each": {**about, "responses": responses},
        "responses_calls": Lines([{"question": run.question, **one} for one in responses]),
    }


def _chatted(run: Run, client: Any) -> tuple[list[Any], list[Any]]:
    messages: list[Any] = [{"role": "system", "content": run.script.system}, {"role": "user", "content": run.question}]
    calls = []
    while True:
        request = {"model": "scripted-model", "messages": list(messages), "tools": run.chat_tools}
        reply = client.chat.completions.create(**request)
        calls.append({"request": request, "response": reply.model_dump(), "latency_ms": 12})
        messages.append(reply.choices[0].message.model_dump())
        if not reply.choices[0].message.tool_calls:
            return messages, calls
        for call in reply.choices[0].message.tool_calls:
            found = run.called_text(call.function.name, call.function.arguments)
            messages.append({"tool_call_id": call.id, "role": "tool", "name": call.function.name, "content": found})


def _streamed(run: Run, client: Any) -> list[Any]:
    """What a loop puts together out of deltas."""
    messages: list[Any] = [{"role": "developer", "content": run.script.system}]
    messages.append({"role": "user", "content": [{"type": "text", "text": run.question}]})
    while True:
        asked = {"model": "scripted-model", "messages": list(messages), "tools": run.chat_tools}
        with client.chat.completions.stream(**asked) as stream:
            for _ in stream:
                pass
            reply = stream.get_final_completion()
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True, exclude_unset=True))
        if not message.tool_calls:
            return messages
        for call in message.tool_calls:
            found = run.called_text(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": [{"type": "text", "text": found}]})


def _responded(run: Run, client: Any) -> tuple[list[Any], list[Any]]:
    items: list[Any] = [{"role": "user", "content": run.question}]
    tools = [{"type": "function", **one["function"], "strict": False} for one in run.chat_tools]
    responses = []
    while True:
        asked: Any = {
            "model": "scripted-model",
            "instructions": run.script.system,
            "input": list(items),
            "tools": tools,
        }
        reply = client.responses.create(**asked)
        responses.append(reply.model_dump(mode="json"))
        items += [item.model_dump(mode="json", exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return items, responses
        for call in calls:
            found = run.called_text(call.name, call.arguments)
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": found})
