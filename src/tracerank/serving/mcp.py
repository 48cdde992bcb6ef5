"""The selector as two tools of the Model Context Protocol, by the official ``mcp`` package.

The tools' schema describes a rollout field by field. A file may hold bad rollouts, which are dropped with a reason; an
agent that writes a bad one can write it again, so here it is an error that names the item.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field, WithJsonSchema

from tracerank.errors import TraceRankError
from tracerank.pools.pool import Pool
from tracerank.readers.detect import detect
from tracerank.serving.settings import MAX_ROLLOUTS, service_version
from tracerank.serving.wire import (
    ExplainReply,
    SelectReply,
    SelectRequest,
    UnreadableRequest,
    explain_reply,
    pool_of,
    select_reply,
)
from tracerank.votes.base import Method, decide_stream
from tracerank.votes.explanation import explain_stream

MAX_MISTAKES = 5
"""Bad items that are listed."""
MAX_KEYS = 8
"""Keys of a bad item that are listed."""
INSTRUCTIONS = (
    "Several rollouts of a search agent answered the same question. select_rollout returns the best existing answer "
    "without further search or generation; explain_selection also says what evidence spoke for each candidate. A "
    "rollout that cannot be read is an error that names it: correct it and call again."
)
READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def _field(kind: str | list[str], description: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": description, **more}


_EVIDENCE = {
    "text": _field("string", "The text as the agent saw it; required."),
    "title": _field(["string", "null"], "Title of the document."),
    "url": _field(["string", "null"], "Address of the document."),
    "rank": _field(["integer", "null"], "Position in the list of results; 1 is the first."),
}
_EVIDENCE_ITEM = _field("object", "One text that the search returned.", properties=_EVIDENCE, required=["text"])
_SEARCH = {
    "query": _field(["string", "null"], "What was searched for."),
    "evidence": _field("array", "Texts that came back; may be empty.", items=_EVIDENCE_ITEM),
}
_SEARCH_ITEM = _field("object", "One search.", properties=_SEARCH, required=["query", "evidence"])
_ROLLOUT = {
    "answer": _field(["string", "null"], "The final answer; null: the agent gave none."),
    "searches": _field("array", "In their order; [] if there was none.", items=_SEARCH_ITEM),
}
_MESSAGE = {
    "role": {"type": "string", "enum": ["system", "developer", "user", "assistant", "tool"]},
    "content": {"description": "Text, a list of parts, or null beside tool calls."},
    "tool_calls": _field(
        "array",
        'Of an assistant: {"id", "function": {"name", "arguments"}}, arguments as JSON in a string.',
        items={"type": "object"},
    ),
    "tool_call_id": _field("string", "Of a tool's message: the call that it answers."),
}
_MESSAGE_ITEM = {"type": "object", "properties": _MESSAGE, "required": ["role"]}
_EXAMPLE_EVIDENCE = {"text": "Ada Lovelace wrote it.", "url": "https://example.org/ada", "rank": 1}
_EXAMPLE = {
    "answer": "Ada Lovelace",
    "searches": [{"query": "first computer program", "evidence": [_EXAMPLE_EVIDENCE]}],
}
_EXAMPLE_CALL = {"id": "1", "function": {"name": "search", "arguments": '{"query": "first program"}'}}
_EXAMPLE_CHAT = {
    "messages": [
        {"role": "user", "content": "Who wrote the first program?"},
        {"role": "assistant", "content": None, "tool_calls": [_EXAMPLE_CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "Ada Lovelace wrote it."},
        {"role": "assistant", "content": "Answer: Ada Lovelace"},
    ]
}
ITEM_KINDS = [
    _field(
        "object",
        "An answer and the searches that led to it.",
        title="Rollout",
        properties=_ROLLOUT,
        required=["answer", "searches"],
        examples=[_EXAMPLE],
    ),
    _field(
        "object",
        "The whole conversation with tool calls and what they returned; the last message has the answer.",
        title="Chat",
        properties={"messages": {"type": "array", "items": _MESSAGE_ITEM, "minItems": 1}},
        required=["messages"],
        examples=[_EXAMPLE_CHAT],
    ),
    _field("string", "An answer alone, without searches.", title="Answer"),
    _field("object", "A record of any other format that tracerank reads.", title="Log"),
]
Item = Annotated[str | dict[str, Any], WithJsonSchema({"anyOf": ITEM_KINDS})]
Items = Annotated[
    list[Item],
    Field(
        min_length=1,
        max_length=MAX_ROLLOUTS,
        description="One item per rollout: an object with answer and searches, one with messages, or an answer alone.",
    ),
]
QuestionText = Annotated[str, Field(description="The question that all rollouts answer.")]


def create_server(method: Method) -> MCPServer[Any]:
    """The server with both tools."""
    server: MCPServer[Any] = MCPServer(
        "tracerank", instructions=INSTRUCTIONS, version=service_version(), log_level="WARNING"
    )
    lock = Lock()  # tools run in threads, and a method need not be thread-safe

    @server.tool(title="Choose the best answer", annotations=READ_ONLY)
    def select_rollout(question: QuestionText, rollouts: Items) -> SelectReply:
        """Choose the best existing answer among completed rollouts of one question."""
        with _tool_errors(), lock:
            pool, problems = checked_pool(question, rollouts)
            [(_, decision)] = decide_stream(method, [pool])
            return select_reply(pool, decision, problems)

    @server.tool(title="Choose and say why", annotations=READ_ONLY)
    def explain_selection(question: QuestionText, rollouts: Items) -> ExplainReply:
        """Choose the best existing answer and say which evidence spoke for each candidate."""
        with _tool_errors(), lock:
            pool, problems = checked_pool(question, rollouts)
            [(_, explanation)] = explain_stream(method, [pool])
            return explain_reply(pool, explanation, problems)

    return server


def run(method: Method) -> None:
    """Serve over stdin and stdout until the client leaves."""
    create_server(method).run()


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Errors in our words: of any other exception the agent would learn nothing."""
    try:
        yield
    except TraceRankError as error:
        raise ToolError(str(error)) from None


def checked_pool(question: str, items: Sequence[str | dict[str, Any]]) -> tuple[Pool, list[str]]:
    """The pool of all items and what was remarked while reading; bad items are an error that says which and why."""
    mistakes = {index: reason for index, item in enumerate(items) if (reason := next(_mistakes(item), None))}
    if not mistakes:
        numbered = [
            {**(item if isinstance(item, dict) else {"answer": item}), "sample_id": index}
            for index, item in enumerate(items)
        ]
        pool, problems = pool_of(SelectRequest(question=question, rollouts=numbered))
        read = {one.sample_id: one.problem for one in pool.rollouts}
        unread = "; ".join(problems) or "is not a rollout of its own"
        mistakes = {index: reason for index in range(len(items)) if (reason := read.get(index, unread)) is not None}
        if not mistakes:
            return pool, problems
    listed = [f"rollouts[{index}]: {mistakes[index]}" for index in sorted(mistakes)]
    more = [f"and {len(listed) - MAX_MISTAKES} more"] if len(listed) > MAX_MISTAKES else []
    raise UnreadableRequest(
        "; ".join([*listed[:MAX_MISTAKES], *more, "nothing was decided: correct the rollouts and call again"])
    )


def _mistakes(item: str | Mapping[str, Any]) -> Iterator[str]:
    """Mistakes that reading would pass over, because files may leave out both answer and evidence."""
    if isinstance(item, str):
        return
    if not {"answer", "messages"} & item.keys() and detect(item) is None:
        yield f"expected 'answer' and 'searches', or 'messages'; the keys are {_keys(item)}"
    if "messages" in item and not item["messages"]:
        yield "field 'messages': expected at least one message"
    if "answer" in item and "searches" not in item and "evidence" in item:
        yield "field 'evidence': belongs into a search: {answer, searches: [{query, evidence: […]}]}"
    searches = item.get("searches")
    for index, search in enumerate(searches if isinstance(searches, list) else ()):
        if isinstance(search, dict) and "evidence" not in search:
            yield f"field 'searches[{index}].evidence': expected a list; the keys are {_keys(search)}"


def _keys(item: Mapping[str, Any]) -> str:
    return ", ".join(list(map(str, item))[:MAX_KEYS]) or "(none)"
