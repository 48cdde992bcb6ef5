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
from pydantic import Field

from tracerank.errors import TraceRankError
from tracerank.readers.detect import detect
from tracerank.serving.settings import MAX_ROLLOUTS, service_version
from tracerank.serving.wire import (
    ExplainReply,
    Given,
    GivenPool,
    SelectReply,
    SelectRequest,
    UnreadableRequest,
    explain_reply,
    numbered,
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

Items = Annotated[
    list[Given],
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
            given = checked_pool(question, rollouts)
            [(_, decision)] = decide_stream(method, [given.pool])
            return select_reply(given, decision)

    @server.tool(title="Choose and say why", annotations=READ_ONLY)
    def explain_selection(question: QuestionText, rollouts: Items) -> ExplainReply:
        """Choose the best existing answer and say which evidence spoke for each candidate."""
        with _tool_errors(), lock:
            given = checked_pool(question, rollouts)
            [(_, explanation)] = explain_stream(method, [given.pool])
            return explain_reply(given, explanation)

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


def checked_pool(question: str, items: Sequence[str | dict[str, Any]]) -> GivenPool:
    """The pool of all items; bad items are an error that says which and why."""
    mistakes = {index: reason for index, item in enumerate(items) if (reason := next(_mistakes(item), None))}
    if not mistakes:
        given = pool_of(SelectRequest(question=question, rollouts=numbered(items)))
        read = {one.sample_id: one.problem for one in given.pool.rollouts}
        unread = "; ".join(given.problems) or "is not a rollout of its own"
        mistakes = {index: reason for index in range(len(items)) if (reason := read.get(index, unread)) is not None}
        if not mistakes:
            return given
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
