"""LiteLLM: whole responses, kwargs of a callback, rows of the proxy's spend log, the responses bridge."""

import json
from typing import Any

from tests.readers.sdk_logs.makers.litellm import _wait_for
from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("litellm",)
TOOLS = Toolbox("exa_find", "query", "exa_contents", "url", returns.labelled, more={"numResults": 3})


def make(run: Run) -> dict[str, Any]:
    """A loop by hand, logged in several ways."""
    import litellm
    from litellm.integrations.custom_logger import CustomLogger

    kept: list[Any] = []

    class Keeper(CustomLogger):
        def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
            shown = {"model": kwargs["model"], "messages": kwargs["messages"], "stream": False}
            kept.append(_plain({"kwargs": shown, "response_obj": response_obj.model_dump(), "start": start_time}))

    litellm.success_callback = []
    litellm.callbacks = [Keeper()]
    messages: list[Any] = [{"role": "system", "content": run.script.system}, {"role": "user", "content": run.question}]
    responses: list[Any] = []
    rows: list[Any] = []
    while True:
        asked = list(messages)
        reply = litellm.completion(
            model="openai/scripted-model",
            api_base=run.v1,
            api_key="none",
            messages=asked,
            tools=run.chat_tools,
            metadata={"trace_id": run.name},
        )
        responses.append(json.loads(reply.model_dump_json()))
        rows.append(
            {
                "request_id": f"chatcmpl-{run.name}-{len(rows)}",
                "call_type": "acompletion",
                "spend": 0.001,
                "session_id": run.name,
                "messages": json.dumps(_plain(asked)),
                "response": json.dumps(responses[-1]),
                "metadata": {"user_api_key": "x"},
            }
        )
        _wait_for(kept, len(responses))
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            found = run.called_text(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": found})
    dumped = [one if isinstance(one, dict) else json.loads(one.model_dump_json()) for one in messages]
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "callback_kwargs": Lines(kept),
        "spend_logs": Lines(rows),
        "last_response": {**about, "messages": dumped[:-1], "response": responses[-1]},
        "nested_record": {**about, "run": {"history": dumped, "cost": 0.01}},
    }


def _plain(value: Any) -> Any:
    return json.loads(
        json.dumps(value, default=lambda one: one.model_dump() if hasattr(one, "model_dump") else str(one))
    )
