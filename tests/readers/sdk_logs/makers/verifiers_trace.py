"""verifiers from 0.2 on: ``Trace.to_record``, the line of ``traces.jsonl``; its messages are nodes of a graph.

The library's harness needs a sandbox; here its own graph and trace are filled from completions of the scripted server.
"""

from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("verifiers",)


def make(run: Run) -> dict[str, Any]:
    """A turn is prepared with the messages so far and committed with the reply."""
    import httpx
    from verifiers.v1.graph import prepare_turn
    from verifiers.v1.trace import AgentInfo, TraceTask, WireTrace
    from verifiers.v1.types import AssistantMessage, Response, ToolCall, ToolMessage, UserMessage

    data = {"idx": 0, "prompt": run.question, "answer": "the reference of the data set"}
    trace = WireTrace(
        task=TraceTask.model_validate({"type": "Task", "data": data}).model_dump() | {"data": data},
        agent=AgentInfo.model_construct(config={"harness": {"id": "null"}}).model_dump(),
    )
    messages: list[Any] = [UserMessage(content=run.question)]
    while True:
        sent = {"model": "scripted-model", "messages": [_plain(one) for one in messages], "tools": run.chat_tools}
        reply = httpx.post(f"{run.v1}/chat/completions", json=sent).json()
        said = reply["choices"][0]["message"]
        calls = [ToolCall(id=one["id"], **one["function"]) for one in said.get("tool_calls", ())]
        message = AssistantMessage(content=said["content"], tool_calls=calls or None)
        reason = "tool_calls" if calls else "stop"
        response = Response(id=reply["id"], created=0, model="scripted-model", message=message, finish_reason=reason)
        prepare_turn(trace, messages).commit(response)
        messages.append(message)
        if not calls:
            break
        for call in calls:
            messages.append(ToolMessage(tool_call_id=call.id, content=run.called_text(call.name, call.arguments)))
    trace.record_reward("right", 1.0)
    trace.stop("agent_completed")
    return {"traces": trace.to_record()}


def _plain(message: Any) -> Any:
    dumped = message.model_dump(exclude_none=True)
    if calls := dumped.get("tool_calls"):
        parts = ("name", "arguments")
        functions = [{key: call[key] for key in parts} for call in calls]
        dumped["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ]
    return dumped
