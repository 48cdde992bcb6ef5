"""How each format spells one and the same run: turns of an agent with calls, and what came back."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Record = dict[str, Any]
ASKED = "Which city?"


class Call(NamedTuple):
    id: str
    name: str
    given: dict[str, Any]


class Turn(NamedTuple):
    """Words of the agent with calls beside them."""

    words: str = ""
    calls: tuple[Call, ...] = ()


class Back(NamedTuple):
    id: str
    output: Any
    is_error: bool = False


class Ask(NamedTuple):
    text: str


Step = Turn | Back | Ask


def turn(words: str, *calls: tuple[str, str, dict[str, Any]]) -> Turn:
    return Turn(words, tuple(Call(*call) for call in calls))


def _chat(steps: Sequence[Step]) -> list[Record]:
    messages: list[Record] = [{"role": "system", "content": "You help."}, {"role": "user", "content": ASKED}]
    for step in steps:
        if isinstance(step, Turn):
            calls = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": json.dumps(one.given)}}
                for one in step.calls
            ]
            messages.append({"role": "assistant", "content": step.words, **({"tool_calls": calls} if calls else {})})
        elif isinstance(step, Back):
            messages.append({"role": "tool", "tool_call_id": step.id, "content": step.output})
            messages[-1] |= {"is_error": True} if step.is_error else {}
        else:
            messages.append({"role": "user", "content": step.text})
    return messages


def chat(steps: Sequence[Step]) -> Record:
    return {"messages": _chat(steps)}


def anthropic(steps: Sequence[Step]) -> Record:
    messages: list[Record] = [{"role": "user", "content": ASKED}]
    for step in steps:
        if isinstance(step, Turn):
            used = [{"type": "tool_use", "id": one.id, "name": one.name, "input": one.given} for one in step.calls]
            words = [{"type": "text", "text": step.words}] if step.words else []
            thought = {"type": "thinking", "thinking": "Exact Answer: a secret", "signature": "s"}
            messages.append({"role": "assistant", "content": [thought, *words, *used]})
        elif isinstance(step, Back):
            block = {"type": "tool_result", "tool_use_id": step.id, "content": step.output, "is_error": step.is_error}
            messages.append({"role": "user", "content": [block]})
        else:
            messages.append({"role": "user", "content": [{"type": "text", "text": step.text}]})
    return {"messages": messages}


def _items(steps: Sequence[Step]) -> list[Record]:
    items: list[Record] = []
    for step in steps:
        if isinstance(step, Turn):
            if step.words:
                part = {"type": "output_text", "text": step.words, "annotations": []}
                items.append({"type": "message", "id": f"msg_{len(items)}", "role": "assistant", "content": [part]})
            for one in step.calls:
                call = {"type": "function_call", "id": f"fc_{one.id}", "call_id": one.id, "name": one.name}
                items.append({**call, "arguments": json.dumps(one.given)})
        elif isinstance(step, Back):
            failed = {"status": "failed"} if step.is_error else {}
            items.append({"type": "function_call_output", "call_id": step.id, "output": step.output, **failed})
        else:
            items.append({"role": "user", "content": [{"type": "input_text", "text": step.text}]})
    return items


def responses(steps: Sequence[Step]) -> Record:
    return {"input": ASKED, "output": _items(steps)}


def agents(steps: Sequence[Step]) -> Record:
    items = [{"type": "tool_call_item", "raw_item": one} for one in _items(steps)]
    for item in items:
        item |= {"output": item["raw_item"]["output"]} if "output" in item["raw_item"] else {}
    return {"input": ASKED, "new_items": items}


def langchain(steps: Sequence[Step]) -> Record:
    messages: list[Record] = [{"type": "human", "content": ASKED}]
    for step in steps:
        if isinstance(step, Turn):
            calls = [{"name": one.name, "args": one.given, "id": one.id, "type": "tool_call"} for one in step.calls]
            messages.append({"type": "ai", "content": step.words, "tool_calls": calls})
        elif isinstance(step, Back):
            status = "error" if step.is_error else "success"
            messages.append({"type": "tool", "content": step.output, "tool_call_id": step.id, "status": status})
        else:
            messages.append({"type": "human", "content": step.text})
    return {"messages": messages}


def inspect(steps: Sequence[Step]) -> Record:
    messages: list[Record] = [{"role": "user", "content": ASKED}]
    for step in steps:
        if isinstance(step, Turn):
            calls = [{"id": one.id, "function": one.name, "arguments": one.given} for one in step.calls]
            messages.append({"role": "assistant", "content": step.words, "tool_calls": calls})
        elif isinstance(step, Back):
            error = {"type": "timeout", "message": "late"} if step.is_error else None
            messages.append({"role": "tool", "tool_call_id": step.id, "content": step.output, "error": error})
        else:
            messages.append({"role": "user", "content": step.text})
    return {"id": "s1", "epoch": 1, "input": ASKED, "target": "Paris", "messages": messages}


def atif(steps: Sequence[Step]) -> Record:
    made: list[Record] = [{"source": "user", "message": ASKED}]
    for step in steps:
        if isinstance(step, Turn):
            calls = [{"tool_call_id": one.id, "function_name": one.name, "arguments": one.given} for one in step.calls]
            made.append({"source": "agent", "message": step.words, "reasoning_content": "Exact Answer: a secret"})
            made[-1] |= {"tool_calls": calls, "observation": {"results": []}} if calls else {}
        elif isinstance(step, Back):
            last = next((one for one in reversed(made) if "observation" in one), {"observation": {"results": []}})
            last["observation"]["results"].append({"source_call_id": step.id, "content": step.output})
        else:
            made.append({"source": "user", "message": step.text})
    return {"schema_version": "ATIF-v1.6", "agent": {"name": "a", "version": "1"}, "steps": made}


def bedrock(steps: Sequence[Step]) -> Record:
    """A format without a row of its own."""
    messages: list[Record] = [{"role": "user", "content": [{"text": ASKED}]}]
    for step in steps:
        if isinstance(step, Turn):
            used = [{"toolUse": {"toolUseId": one.id, "name": one.name, "input": one.given}} for one in step.calls]
            messages.append({"role": "assistant", "content": [{"text": step.words}] * bool(step.words) + used})
        elif isinstance(step, Back):
            status = "error" if step.is_error else "success"
            seen = [{"text": step.output}] if isinstance(step.output, str) else [{"json": step.output}]
            result = {"toolResult": {"toolUseId": step.id, "status": status, "content": seen}}
            messages.append({"role": "user", "content": [result]})
        else:
            messages.append({"role": "user", "content": [{"text": step.text}]})
    return {"messages": messages}


SPELLINGS: dict[str, Callable[[Sequence[Step]], Record]] = {
    "openai-chat": chat,
    "anthropic": anthropic,
    "openai-responses": responses,
    "openai-agents": agents,
    "langchain": langchain,
    "inspect": inspect,
    "atif": atif,
    "general": bedrock,
}
"""By the reader that recognises them."""
