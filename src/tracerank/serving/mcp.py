"""The selector as two tools of the Model Context Protocol, by the official ``mcp`` package.

Bad rollouts in files are dropped with a reason. An agent that sends a bad one can correct it, so here every field is
checked, and a mistake is an error that says where it is.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import Annotated, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from tracerank.errors import ReadError, TraceRankError
from tracerank.pools.pool import Pool
from tracerank.serving.settings import MAX_ROLLOUTS, service_version
from tracerank.serving.wire import (
    ExplainReply,
    Item,
    SelectReply,
    SelectRequest,
    explain_reply,
    numbered,
    pool_of,
    select_reply,
)
from tracerank.votes.base import Method, decide_stream
from tracerank.votes.explanation import explain_stream

INSTRUCTIONS = (
    "Several rollouts of a search agent answered the same question. select_rollout returns the best existing answer "
    "without further search or generation; explain_selection also says what evidence spoke for each candidate. A "
    "rollout that cannot be read is an error that names it: correct it and call again."
)
READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

_ITEMS = "One item per rollout: an object with answer and searches, one with messages, or an answer alone."
Items = Annotated[list[Item], Field(min_length=1, max_length=MAX_ROLLOUTS, description=_ITEMS)]
QuestionText = Annotated[str, Field(description="The question that all rollouts answer.")]
T = TypeVar("T")


def create_server(method: Method) -> MCPServer[Any]:
    """The server with both tools."""
    server: MCPServer[Any] = MCPServer(
        "tracerank", instructions=INSTRUCTIONS, version=service_version(), log_level="WARNING"
    )
    lock = Lock()  # tools run in threads, and a method need not be thread-safe

    def decided(question: str, items: Sequence[Any], decide: Callable[..., Any], reply: Callable[..., T]) -> T:
        try:
            with lock:
                pool = checked_pool(question, items)
                [(_, found)] = decide(method, [pool])
                return reply(pool, [], found)
        except TraceRankError as error:  # of any other exception the agent learns nothing
            raise ToolError(str(error)) from None

    @server.tool(title="Choose the best answer", annotations=READ_ONLY)
    def select_rollout(question: QuestionText, rollouts: Items) -> SelectReply:
        """Choose the best existing answer among completed rollouts of one question."""
        return decided(question, rollouts, decide_stream, select_reply)

    @server.tool(title="Choose and say why", annotations=READ_ONLY)
    def explain_selection(question: QuestionText, rollouts: Items) -> ExplainReply:
        """Choose the best existing answer and say which evidence spoke for each candidate."""
        return decided(question, rollouts, explain_stream, explain_reply)

    return server


def run(method: Method) -> None:
    """Serve over stdin and stdout until the client leaves."""
    _repair_stdin()
    create_server(method).run()


def _repair_stdin() -> None:
    """Replace lone surrogates, which pages hold: ``mcp`` leaves a message that has one without an answer."""
    source, (readable, writable) = os.fdopen(os.dup(0), "rb"), os.pipe()
    os.dup2(readable, 0)
    os.close(readable)

    def copy() -> None:
        with source, os.fdopen(writable, "wb") as repaired:
            for line in source:
                repaired.write(_without_lone_surrogates(line))
                repaired.flush()

    Thread(target=copy, name="stdin", daemon=True).start()


def _without_lone_surrogates(line: bytes) -> bytes:
    if b"\\ud" in line.lower():
        with suppress(ValueError, RecursionError):  # the server says that it is no JSON
            return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    return line


def checked_pool(question: str, items: Sequence[Any]) -> Pool:
    """The pool of all items; raises where one of them is no rollout."""
    records = [item.model_dump(exclude_unset=True) if isinstance(item, BaseModel) else item for item in items]
    pool, problems = pool_of(SelectRequest(question=question, rollouts=numbered(records)))
    if len(pool) != len(items) or any(one.problem for one in pool.rollouts):
        mistakes = "; ".join(problems) or "some are no rollouts of their own"
        raise ReadError(f"nothing was decided: correct the rollouts and call again: {mistakes}")
    return pool
