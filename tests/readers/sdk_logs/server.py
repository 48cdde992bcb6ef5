"""A local server that plays the model by script, behind the addresses of three vendors, streaming or not.

The path says which rollout: ``/q0r1/v1/chat/completions``. A turn is over when the marks of its calls stand in the
request, so the server keeps no state. Requests without tools are answered in the text protocol that they ask for.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.readers.sdk_logs.scenario import Script, Step, Turn

_PATH = re.compile(r"/q(\d)r(\d)/(?:v1/)*(?:v1beta/)?(.*)")
_MODEL = "scripted-model"
_ESCAPED = re.compile(r"\\+u([0-9a-f]{4})")


@contextmanager
def serving(script: Callable[[int, int], Script]) -> Iterator[str]:
    """The address of a running server that plays the script of a question and a rollout."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Playing", (_Handler,), {"script": staticmethod(script)}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Callable[[int, int], Script]

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"])).decode()
        found = _PATH.match(self.path)
        if found is None:
            self.send_error(404)
            return
        turn = _Turn(self.script(int(found[1]), int(found[2])), json.loads(raw), _readable(raw))
        address = found[3]
        if "responses" in address:
            events, whole = _responses(turn)
        elif "messages" in address:
            events, whole = _anthropic(turn)
        elif "enerateContent" in address:
            whole = _gemini(turn)
            events = [(None, whole)]
        else:
            events, whole = _chat(turn)
        is_stream = turn.body.get("stream") or "streamGenerateContent" in address
        is_google = "enerateContent" in address
        self._send(_server_sent(events, is_google) if is_stream else json.dumps(whole), bool(is_stream))

    def _send(self, text: str, is_stream: bool) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


Events = list[tuple[str | None, Any]]


def _server_sent(events: Events, is_google: bool) -> str:
    named = "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events)
    is_openai = bool(events) and events[0][0] is None and not is_google
    return named + "data: [DONE]\n\n" * is_openai


def _readable(raw: str) -> str:
    """A request in which marks can be found: JSON inside JSON escapes what is not ASCII, again and again."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), raw)


class _Turn:
    """What the model says next: calls, words beside them, or the last words."""

    def __init__(self, played: Script, body: dict[str, Any], raw: str) -> None:
        self.body = body
        self.script = played
        done = [all(step.mark in raw for step in turn.steps) for turn in played.turns]
        self.number = sum(done)
        turn = Turn(()) if all(done) else played.turns[done.index(False)]
        tools = _tools(body)
        named = {step.tool: _offered(tools, step.tool) for step in played.steps}
        self.namespace = next((tool["name"] for tool in body.get("tools") or () if _names(tool, [*named])), None)
        """Codex puts the tools of an MCP server into one, and expects it back beside the name."""
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.words = turn.words
        self.thought = turn.thought if turn.steps else played.thought
        self.parts: tuple[str, ...] = ()
        ending = next((name for name, schema in tools.items() if name not in named.values() and _ends(schema)), None)
        if not any(named.values()):
            passing = next((name for name in tools if name.startswith("transfer_to")), None)
            if passing is None or not played.steps or played.steps[0].mark in raw:
                self.parts = (_text_protocol(played, raw),)
            else:
                self.words = ""
                self.calls = [
                    ("call_pass_on", passing, {"agent_name": "researcher"} if passing.endswith("agent") else {})
                ]
        elif turn.steps:
            self.calls = [
                (self._call_id(step), named[step.tool] or step.tool, dict(step.arguments)) for step in turn.steps
            ]
        elif ending is not None and played.last:
            self.calls = [(f"call_{self.number}_final", ending, _structured(played, tools[ending]))]
        elif played.last and (schema := _wanted_form(body)) is not None:
            self.parts = (json.dumps(_structured(played, schema), ensure_ascii=False),)
        else:
            self.parts = played.last

    @property
    def text(self) -> str:
        """All that is said, in one."""
        return self.words if self.calls else "".join(self.parts)

    def _call_id(self, step: Step) -> str:
        return f"call_{self.script.steps.index(step)}_{re.sub(r'[^a-z0-9]+', '_', step.mark.lower())}"[:60]


def _names(tool: dict[str, Any], names: list[str]) -> bool:
    return any(one.get("name") in names for one in tool.get("tools", ()))


def _tools(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tools that a request offers, with the properties of their arguments."""
    found: dict[str, dict[str, Any]] = {}
    for tool in body.get("tools") or ():
        listed = (tool, tool.get("function") or {}, *tool.get("tools", ()), *tool.get("functionDeclarations", ()))
        for one in listed:
            if "name" in one:
                schema = next((one[key] for key in _SCHEMAS if isinstance(one.get(key), dict)), {})
                found[one["name"]] = schema.get("properties", {})
    return found


_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")


def _offered(tools: dict[str, Any], name: str) -> str | None:
    """The tool under the name that the SDK gives it, which may put a server's name in front."""
    return next((one for one in tools if one == name), next((one for one in tools if one.endswith(name)), None))


def _ends(properties: dict[str, Any]) -> bool:
    return "answer" in properties


def _wanted_form(body: dict[str, Any]) -> dict[str, Any] | None:
    """The properties of the object in which the answer is wanted; None: in words."""
    form = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    form = form.get("json_schema") or form
    schema = form.get("schema") or (body.get("generationConfig") or {}).get("responseJsonSchema")
    return schema.get("properties") if isinstance(schema, dict) else None


def _structured(played: Script, properties: dict[str, Any]) -> dict[str, Any]:
    """The answer as an object, as far as it is wanted."""
    every = {"answer": played.answer, "sources": ["https://archive.example.org/"], "reasoning": "Two sources agree."}
    return {name: value for name, value in every.items() if name in properties}


def _text_protocol(played: Script, raw: str) -> str:
    """The next step in the words that the prompt asks for; such protocols have one call a step."""
    step = next((step for step in played.steps if step.mark not in raw), None)
    thought = f"I search for more about the question, step {played.steps.index(step)}." if step else "I know it now."
    arguments = dict(step.arguments) if step else {}
    if "[[ ## next_thought ## ]]" in raw:
        name = step.tool if step else "finish"
        given = json.dumps(arguments, ensure_ascii=False)
        fields = {"next_thought": thought, "next_tool_name": name, "next_tool_args": given}
    elif "[[ ## answer ## ]]" in raw:
        fields = {"reasoning": thought, "answer": played.answer}
    elif "Action Input:" in raw:
        called = f"Action: {step.tool}\nAction Input: {json.dumps(arguments, ensure_ascii=False)}" if step else ""
        last = ("Answer: " if "Answer: [your answer here" in raw else "Final Answer: ") + played.answer
        return f"Thought: {thought}\n" + (called or last)
    elif "<code>" in raw:
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        if list(arguments) == ["query"]:
            given = json.dumps(arguments["query"], ensure_ascii=False)
        line = f"print({step.tool}({given}))" if step else f'final_answer("{played.answer}")'
        return f"Thought: {thought}\n<code>\n{line}\n</code>"
    else:
        return "".join(played.last)
    return "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in fields.items()) + "[[ ## completed ## ]]"


# ---- the vendors


def _chat(turn: _Turn) -> tuple[Events, Any]:
    calls = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": _dumped(arguments)}}
        for id_, name, arguments in turn.calls
    ]
    thought = {"reasoning_content": turn.thought} if turn.thought else {}
    message = {"role": "assistant", "content": turn.text or None, **thought, **({"tool_calls": calls} if calls else {})}
    reason = "tool_calls" if calls else "stop"
    head = {"id": f"chatcmpl-{turn.number}", "created": 1760000000, "model": turn.body.get("model", _MODEL)}
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunk = {**head, "object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", **thought}]
    deltas += [{"content": part} for part in _cut(turn.text)]
    deltas += [{"tool_calls": [{"index": place, **call}]} for place, call in enumerate(calls)]
    ends = [(delta, None) for delta in deltas] + [({}, reason)]
    events: Events = [
        (None, {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}) for delta, end in ends
    ]
    return [*events, (None, {**chunk, "choices": [], "usage": usage})], whole


def _responses(turn: _Turn) -> tuple[Events, Any]:
    said = [turn.words] if turn.calls and turn.words else [] if turn.calls else list(turn.parts)
    parts = [{"type": "output_text", "text": one, "annotations": [], "logprobs": []} for one in said]
    text = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": turn.thought}]}
    output: list[dict[str, Any]] = [thought] if turn.thought else []
    output += [text] if parts or not turn.calls else []
    output += [
        {
            "type": "function_call",
            "id": f"fc_{id_}",
            "call_id": id_,
            "name": name,
            "arguments": _dumped(arguments),
            "status": "completed",
            **({"namespace": turn.namespace} if turn.namespace else {}),
        }
        for id_, name, arguments in turn.calls
    ]
    usage = {
        "input_tokens": 20,
        "output_tokens": 10,
        "total_tokens": 30,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    whole = {
        "id": f"resp_{turn.number}",
        "object": "response",
        "created_at": 1760000000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": turn.body.get("model", _MODEL),
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": turn.body.get("tools", []),
        "temperature": 1.0,
        "top_p": 1.0,
        "usage": usage,
    }
    started = {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    events = [started]
    for place, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": place, "item": {**item}})
        for number, part in enumerate(parts if item["type"] == "message" else ()):
            where = {"item_id": "msg_1", "output_index": place, "content_index": number}
            events.append({"type": "response.content_part.added", **where, "part": {**part, "text": ""}})
            for delta in _cut(str(part["text"])):
                events.append({"type": "response.output_text.delta", **where, "delta": delta, "logprobs": []})
            events.append({"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []})
            events.append({"type": "response.content_part.done", **where, "part": part})
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [(str(event["type"]), {**event, "sequence_number": at}) for at, event in enumerate(events)], whole


def _anthropic(turn: _Turn) -> tuple[Events, Any]:
    content: list[dict[str, Any]] = []
    if turn.thought:
        content.append({"type": "thinking", "thinking": turn.thought, "signature": "c2lnbmVk"})
    said = [turn.words] if turn.calls else turn.parts
    content += [{"type": "text", "text": one} for one in said if one]
    content += [
        {"type": "tool_use", "id": f"toolu_{id_}", "name": name, "input": arguments}
        for id_, name, arguments in turn.calls
    ]
    reason = "tool_use" if turn.calls else "end_turn"
    whole = {
        "id": f"msg_{turn.number}",
        "type": "message",
        "role": "assistant",
        "model": turn.body.get("model", _MODEL),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 10},
    }
    events: Events = [("message_start", {"type": "message_start", "message": {**whole, "content": []}})]
    for place, block in enumerate(content):
        empty, deltas = _block_deltas(block)
        said_of: list[tuple[str, dict[str, Any]]] = [("delta", {"delta": delta}) for delta in deltas]
        for kind, more in (("start", {"content_block": empty}), *said_of, ("stop", {})):
            name = f"content_block_{kind}"
            events.append((name, {"type": name, "index": place, **more}))
    ended = {"stop_reason": reason, "stop_sequence": None}
    events.append(("message_delta", {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}))
    events.append(("message_stop", {"type": "message_stop"}))
    return events, whole


def _block_deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it begins, and what is then added to it."""
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in _cut(block["text"])]
    if block["type"] == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        thought = [{"type": "thinking_delta", "thinking": part} for part in _cut(block["thinking"])]
        return {**block, "thinking": "", "signature": ""}, [*thought, signed]
    called = {"type": "input_json_delta", "partial_json": _dumped(block["input"])}
    return {**block, "input": {}}, [called]


def _gemini(turn: _Turn) -> Any:
    parts: list[dict[str, Any]] = [{"text": turn.thought, "thought": True}] if turn.thought else []
    parts += [{"text": one} for one in ([turn.words] if turn.calls else turn.parts) if one]
    parts += [{"functionCall": {"id": id_, "name": name, "args": arguments}} for id_, name, arguments in turn.calls]
    parts = parts or [{"text": ""}]
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 10, "totalTokenCount": 30},
        "modelVersion": _MODEL,
        "responseId": f"resp-{turn.number}",
    }


def _dumped(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _cut(text: str) -> list[str]:
    """A text in two deltas."""
    return [one for one in (text[: len(text) // 2], text[len(text) // 2 :]) if one]
