"""A local server that plays the model by script, behind the addresses of three vendors, streaming or not.

The path says which rollout: ``/q0r1/v1/chat/completions``. A turn is over when its queries stand in the request, so
the server keeps no state. Requests without tools are answered in the text protocol that they ask for.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.readers.sdk_logs.questions import Script, script

_PATH = re.compile(r"/q(\d)r(\d)/(?:v1/)*(?:v1beta/)?(.*)")
_MODEL = "scripted-model"


@contextmanager
def serving() -> Iterator[str]:
    """The address of a running server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"])).decode()
        found = _PATH.match(self.path)
        if found is None:
            self.send_error(404)
            return
        turn = _Turn(script(int(found[1]), int(found[2])), json.loads(raw), raw)
        address = found[3]
        if "responses" in address:
            events, whole = _responses(turn)
        elif "messages" in address:
            events, whole = _anthropic(turn)
        elif "generateContent" in address.replace("streamGenerateContent", "generateContent"):
            whole = _gemini(turn)
            events = [(None, whole)]
        else:
            events, whole = _chat(turn)
        is_stream = turn.body.get("stream") or "streamGenerateContent" in address
        self._send(_server_sent(events) if is_stream else json.dumps(whole), bool(is_stream))

    def _send(self, text: str, is_stream: bool) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


Events = list[tuple[str | None, Any]]


def _server_sent(events: Events) -> str:
    named = "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events)
    return named + ("data: [DONE]\n\n" if events and events[0][0] is None else "")


class _Turn:
    """What the model says next: calls, or a text."""

    def __init__(self, played: Script, body: dict[str, Any], raw: str) -> None:
        self.body = body
        self.script = played
        done = [all(query in raw for query in turn) for turn in played.turns]
        self.number = sum(done)
        queries = () if all(done) else played.turns[done.index(False)]
        tools = _tool_names(body)
        self.namespace = next((tool["name"] for tool in body.get("tools") or () if _names(tool, "web_search")), None)
        """Codex puts the tools of an MCP server into one, and expects it back beside the name."""
        self.calls: list[tuple[str, str, dict[str, str]]] = []
        self.text = ""
        if not any(name.endswith("web_search") for name in tools):
            self.text = _text_protocol(played, raw)
        elif queries:
            name = next(name for name in tools if name.endswith("web_search"))
            self.calls = [(self._call_id(query), name, {"query": query}) for query in queries]
        elif "final_answer" in tools:
            self.calls = [(f"call_{self.number}_final", "final_answer", {"answer": played.answer})]
        else:
            self.text = played.answer

    def _call_id(self, query: str) -> str:
        return f"call_{self.script.queries.index(query)}_{re.sub(r'[^a-z0-9]+', '_', query.lower())}"


def _names(tool: dict[str, Any], name: str) -> bool:
    return any(one.get("name") == name for one in tool.get("tools", ()))


def _tool_names(body: dict[str, Any]) -> list[str]:
    names = []
    for tool in body.get("tools") or ():
        names += [one["name"] for one in tool.get("functionDeclarations", ())]
        names += [one["name"] for one in (tool, tool.get("function") or {}, *tool.get("tools", ())) if "name" in one]
    return names


def _text_protocol(played: Script, raw: str) -> str:
    """The next step in the words that the prompt asks for; such protocols have one call a step."""
    query = next((query for query in played.queries if query not in raw), None)
    thought = (
        f"I search for more about the question, step {played.queries.index(query)}." if query else "I know it now."
    )
    if "[[ ## next_thought ## ]]" in raw:
        name, arguments = ("web_search", {"query": query}) if query else ("finish", {})
        fields = {"next_thought": thought, "next_tool_name": name, "next_tool_args": json.dumps(arguments)}
    elif "[[ ## answer ## ]]" in raw:
        fields = {"reasoning": thought, "answer": played.answer}
    elif "Action Input:" in raw:
        called = f"Action: web_search\nAction Input: {json.dumps({'query': query})}"
        return f"Thought: {thought}\n" + (called if query else f"Final Answer: {played.answer}")
    elif "<code>" in raw:
        line = f'print(web_search("{query}"))' if query else f'final_answer("{played.answer}")'
        return f"Thought: {thought}\n<code>\n{line}\n</code>"
    else:
        return played.answer
    return "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in fields.items()) + "[[ ## completed ## ]]"


# ---- the vendors


def _chat(turn: _Turn) -> tuple[Events, Any]:
    calls = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id_, name, arguments in turn.calls
    ]
    message = {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}
    reason = "tool_calls" if calls else "stop"
    head = {"id": f"chatcmpl-{turn.number}", "created": 1760000000, "model": turn.body.get("model", _MODEL)}
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunk = {**head, "object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": turn.text or None}]
    deltas += [{"tool_calls": [{"index": place, **call}]} for place, call in enumerate(calls)]
    ends = [(delta, None) for delta in deltas] + [({}, reason)]
    events: Events = [
        (None, {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}) for delta, end in ends
    ]
    return [*events, (None, {**chunk, "choices": [], "usage": usage})], whole


def _responses(turn: _Turn) -> tuple[Events, Any]:
    part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
    text = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{id_}",
            "call_id": id_,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
            **({"namespace": turn.namespace} if turn.namespace else {}),
        }
        for id_, name, arguments in turn.calls
    ] or [text]
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
        if item["type"] == "message":
            where = {"item_id": "msg_1", "output_index": place, "content_index": 0}
            events.append({"type": "response.content_part.added", **where, "part": {**part, "text": ""}})
            events.append({"type": "response.output_text.delta", **where, "delta": turn.text, "logprobs": []})
            events.append({"type": "response.output_text.done", **where, "text": turn.text, "logprobs": []})
            events.append({"type": "response.content_part.done", **where, "part": part})
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [(str(event["type"]), {**event, "sequence_number": at}) for at, event in enumerate(events)], whole


def _anthropic(turn: _Turn) -> tuple[Events, Any]:
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"toolu_{id_}", "name": name, "input": arguments}
        for id_, name, arguments in turn.calls
    ] or [{"type": "text", "text": turn.text}]
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
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        said = {"type": "text_delta", "text": turn.text}
        called = {"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}
        delta = said if is_text else called
        for kind, more in (("start", {"content_block": empty}), ("delta", {"delta": delta}), ("stop", {})):
            name = f"content_block_{kind}"
            events.append((name, {"type": name, "index": place, **more}))
    ended = {"stop_reason": reason, "stop_sequence": None}
    events.append(("message_delta", {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}))
    events.append(("message_stop", {"type": "message_stop"}))
    return events, whole


def _gemini(turn: _Turn) -> Any:
    parts: list[dict[str, Any]] = [
        {"functionCall": {"id": id_, "name": name, "args": arguments}} for id_, name, arguments in turn.calls
    ] or [{"text": turn.text}]
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 10, "totalTokenCount": 30},
        "modelVersion": _MODEL,
        "responseId": f"resp-{turn.number}",
    }
