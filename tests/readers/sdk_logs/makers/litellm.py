"""LiteLLM: the standard logging payload of each completion, as its custom callbacks get it."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("litellm",)


def make(run: Run) -> dict[str, Any]:
    """A loop of completions by hand; every completion is one logged payload."""
    import litellm
    from litellm.integrations.custom_logger import CustomLogger

    payloads: list[Any] = []

    class Keeper(CustomLogger):
        def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
            payloads.append(json.loads(json.dumps(kwargs["standard_logging_object"], default=str)))

    litellm.success_callback = []  # where callbacks of the rollout before were put
    litellm.callbacks = [Keeper()]
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "web_search", "parameters": parameters}}]
    messages: list[Any] = [{"role": "user", "content": run.question}]
    turns = 0
    while True:
        reply = litellm.completion(
            model="openai/scripted-model", api_base=run.v1, api_key="none", messages=list(messages), tools=tools
        )
        turns += 1
        _wait_for(payloads, turns)
        message = reply.choices[0].message
        messages.append(message.model_dump())
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": _returned(run, call)})
    return {"last_payload": payloads[-1], "payloads": Lines(payloads), "messages": {"messages": messages}}


def _returned(run: Run, call: Any) -> str:
    try:
        return run.found_text(json.loads(call.function.arguments)["query"])
    except RuntimeError as error:
        return f"Error: {error}"


def _wait_for(payloads: list[Any], count: int) -> None:
    """Callbacks run in a thread of their own."""
    import time

    for _ in range(200):
        if len(payloads) >= count:
            return
        time.sleep(0.02)
    raise RuntimeError("the callback was not called")
