"""LangChain and LangGraph: messages in three serialisations, artifacts, content blocks, and executor steps.

A message is brought to its plain fields first; blocks of the vendors inside it are read by their own modules. A tool's
artifact, where documents stand whole, is preferred to the text that the model saw.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.readers.assemble import FILE_SEARCH, Assembly, Dialogue, parsed_dialogue, stated_answer
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.formats.anthropic_messages import (
    CLIENT_CALLS,
    client_output,
    hosted_call,
    hosted_results,
    is_failed,
    read_block,
)
from tracerank.readers.formats.langchain_texts import told_in
from tracerank.readers.formats.openai_responses import HOSTED_CALLS, cited_in, read_item, web_call
from tracerank.readers.results import Result
from tracerank.readers.sources.record_fields import decoded, question_of, sample_id_of
from tracerank.readers.tools import ToolCall, parse_arguments
from tracerank.readers.values import said_of, text_of

_REMOTE = "remote_mcp"


def read_content(builder: Assembly, message: Mapping[str, Any]) -> None:
    """Add the content of an agent's message to the dialogue; words before its last hosted search are no answer."""
    said: list[str] = []
    cited: list[Result] = []
    for block in _blocks(message):
        if isinstance(block, str):
            said.append(block)
        elif block.get("type") == "text":
            text = block.get("text")
            said.append(text if isinstance(text, str) else "")
            cited += cited_in(block)
        elif _read_block(builder, block):
            said.clear()
    builder.say("".join(said), cited)


def _blocks(message: Mapping[str, Any]) -> Iterator[str | Mapping[str, Any]]:
    # Older versions keep the hosted calls of OpenAI beside the content.
    kept = message.get("additional_kwargs")
    outputs = kept.get("tool_outputs") if isinstance(kept, Mapping) else None
    content = message.get("content")
    listed = content if isinstance(content, list) else [content]
    for block in (*(outputs if isinstance(outputs, list) else ()), *listed):
        inner = block.get("value") if isinstance(block, Mapping) and block.get("type") == "non_standard" else block
        if isinstance(inner, str | Mapping):
            yield inner


def _read_block(builder: Assembly, block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind == "server_tool_call":
        return builder.call(_server_call(block), block.get("id"))
    if kind == "server_tool_result":
        _read_server_result(builder, block)
        return False
    if kind in HOSTED_CALLS:
        return read_item(builder, block)
    return kind not in CLIENT_CALLS and read_block(builder, block)


def _server_call(block: Mapping[str, Any]) -> ToolCall:
    name, arguments, extras = block.get("name"), block.get("args"), block.get("extras")
    if name == "web_search":
        return web_call(arguments)
    if name == FILE_SEARCH:
        return ToolCall(FILE_SEARCH, parse_arguments(arguments), kind="search", results=())
    if name == _REMOTE:
        extra: Mapping[str, Any] = extras if isinstance(extras, Mapping) else {}
        called = extra.get("tool_name")
        given = arguments if arguments is not None else extra.get("arguments")
        return ToolCall(called if isinstance(called, str) else "", parse_arguments(given))
    return hosted_call(name if isinstance(name, str) else "", arguments)


def _read_server_result(builder: Assembly, block: Mapping[str, Any]) -> None:
    output, call_id = block.get("output"), block.get("tool_call_id")
    is_error = block.get("status") == "error" or is_failed(output)
    sources = output.get("sources") if isinstance(output, Mapping) else None
    results = web_call({"sources": sources}).results if isinstance(sources, list) else hosted_results(output)
    # Files and MCP servers return text of their own; the hosted web search never does.
    builder.returned(call_id, output, is_error=is_error, results=results or None)


_MESSAGE_FIELDS = ("messages", "history", "chat_history", "conversation", "trajectory", "rollout", "output", "outputs")
_HOLDERS = ("output", "outputs", "state", "values", "channel_values", "result", "final_state")
_AGENT, _USER, _TOOL = (
    ("ai", "AIMessageChunk"),
    ("human", "HumanMessageChunk"),
    ("tool", "ToolMessageChunk", "function"),
)
_KINDS = {
    "AIMessage": "ai", "HumanMessage": "human", "ToolMessage": "tool", "FunctionMessage": "function",
}  # fmt: skip
_INPUTS = ("input", "inputs")
# Inside a JSON string quotes are escaped, so that no page can look like this.
_TELLING = re.compile(r'"type"\s{0,3}:\s{0,3}"(?:ai|human)"|"(?:AI|Human)Message"')
_STEPS = "intermediate_steps"


class LangChainReader:
    """One rollout a record: the messages of a state, or the steps of an agent executor."""

    name = "langchain"

    def recognises(self, record: Record) -> bool:
        """By a message of the agent or the user in one of the serialisations, or by executor steps."""
        if not isinstance(record, Mapping):
            return False
        column = record.get("messages")
        if isinstance(column, str):  # a JSON column: decoding it here would cost as much as reading it
            return column[:1] == "[" and _TELLING.search(column) is not None
        return _messages(record) is not None or _steps(record) is not None or told_in(record) is not None

    def parse(self, record: Record, source: str) -> Parsed:
        """The messages as a rollout; the answer is extracted from the last message without a search."""
        plain = decoded(record)
        messages, steps = _messages(plain), _steps(plain)
        # The agent's own output is read as the transcript; it is no field beside it.
        fields = {name: value for name, value in plain.items() if name not in _HOLDERS}
        if messages is not None:
            dialogue = _dialogue(plain, messages)
        elif steps is not None:
            dialogue = _executed(plain, steps)
        elif (told := told_in(plain)) is not None:
            fields.pop(told.field, None)
            parsed = parsed_dialogue(fields, source, _dialogue(plain, told.messages))
            count = f"{told.strays} return{'s' * (told.strays != 1)}"
            lost = f"{count} without a call in a transcript kept as text" if told.strays else ""
            return replace(parsed, doubt=parsed.doubt or told.doubt, loss=lost)
        else:
            reject("no LangChain messages: expected a list under 'messages'", question_of(fields), sample_id_of(fields))
        return parsed_dialogue(fields, source, dialogue)


def _dialogue(record: Record, messages: Sequence[object]) -> Dialogue:
    builder = Assembly()
    given = [message for name in _INPUTS for message in _listed(record.get(name)) or ()]
    for plain in filter(None, map(_plain, given)):
        if plain["type"] in _USER:
            builder.ask(text_of(plain.get("content")))
    for plain in filter(None, map(_plain, messages)):
        _read_message(builder, plain)
    for inputs in (record.get(name) for name in _INPUTS):
        question = question_of(inputs) if isinstance(inputs, Mapping) else None
        builder.ask(question.text if question else "")
    found = builder.dialogue()
    structured = next((one for holder in _states(record) if (one := holder.get("structured_response"))), None)
    answer = stated_answer(structured)
    return found if answer is None else Dialogue(found.calls, found.asked, answer)


def _read_message(builder: Assembly, message: Mapping[str, Any]) -> None:
    kind, content = message["type"], message.get("content")
    if kind in _AGENT:
        read_content(builder, message)
        for call in _calls(message):
            arguments = parse_arguments(call.get("args", call.get("arguments")))
            if isinstance(call.get("name"), str) and not (call.get("id") and builder.knows(call["id"])):
                builder.call(ToolCall(call["name"], arguments), call.get("id"))
    elif kind in _USER:
        builder.ask(text_of(content))
    elif kind in _TOOL:
        is_error = message.get("status") == "error"
        output, artifact = client_output(content), message.get("artifact")
        builder.returned(message.get("tool_call_id"), output, is_error=is_error, artifact=artifact)


def _calls(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The calls of an agent's message; its raw form is asked only where the parsed one is empty."""
    found = [call for name in ("tool_calls", "invalid_tool_calls") for call in _mappings(message.get(name))]
    if found:
        yield from found
        return
    raw = message.get("additional_kwargs")
    raw = raw if isinstance(raw, Mapping) else {}
    for call in (*_mappings(raw.get("tool_calls")), {"function": raw.get("function_call")}):
        function = call.get("function")
        if isinstance(function, Mapping):
            yield {"id": call.get("id"), "name": function.get("name"), "args": function.get("arguments")}


# ---- where the messages are


def _plain(message: object) -> dict[str, Any] | None:
    """The fields of a message of any serialisation, its type among them; None for what is no message."""
    if not isinstance(message, Mapping):
        return None
    fields, kind = message, message.get("type")
    if kind == "constructor":
        name = message.get("id")
        fields = message.get("kwargs", {})
        kind = _KINDS.get(str(name[-1]).removesuffix("Chunk")) if isinstance(name, list) and name else None
    elif isinstance(message.get("data"), Mapping):
        fields = message["data"]
    if not isinstance(fields, Mapping) or not isinstance(kind, str) or "content" not in fields or "role" in fields:
        return None
    return {**fields, "type": kind}


def _states(record: Record) -> list[Record]:
    """The record and the states that it wraps, two deep: an output may hold a state in its values."""
    outer = [inner for name in _HOLDERS if isinstance(inner := record.get(name), Mapping)]
    return [
        record,
        *outer,
        *(inner for one in outer for name in _HOLDERS if isinstance(inner := one.get(name), Mapping)),
    ]


def _messages(record: Record) -> list[Any] | None:
    for state in _states(record):
        for name in _MESSAGE_FIELDS:
            found = _listed(state.get(name))
            if found is not None:
                return found
    return None


def _listed(value: object) -> list[Any] | None:
    """The value, or the messages in it, if it is a list with a message of the agent or the user."""
    if isinstance(value, Mapping):
        value = value.get("messages")
    if not isinstance(value, list):
        return None
    kinds = (plain["type"] for message in value if (plain := _plain(message)) is not None)
    return value if any(kind in (*_AGENT, *_USER) for kind in kinds) else None


# ---- the steps of an agent executor


def _steps(record: Record) -> list[Any] | None:
    for state in _states(record):
        steps = state.get(_STEPS)
        if isinstance(steps, list) and any(_action(step) is not None for step in steps):
            return steps
    return None


def _action(step: object) -> Mapping[str, Any] | None:
    """What a step called; a step is a pair of the action and what came back."""
    action = step[0] if isinstance(step, list | tuple) and len(step) == 2 else None
    if isinstance(action, Mapping) and isinstance(action.get("kwargs"), Mapping):
        action = action["kwargs"]
    return action if isinstance(action, Mapping) and isinstance(action.get("tool"), str) else None


def _executed(record: Record, steps: list[Any]) -> Dialogue:
    builder = Assembly()
    for step in steps:
        action = _action(step)
        if action is not None:
            builder.call(ToolCall(action["tool"], parse_arguments(action.get("tool_input"))))
            builder.returned(None, step[1])
    for state in _states(record):
        builder.ask(text_of(state.get("input")))
        builder.say(said_of(state.get("output")))
    return builder.dialogue()


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
