"""The selector as tools of the Model Context Protocol, built on the official ``mcp`` package (extra ``mcp``).

What a rollout looks like to an agent is told in `mcp_items.py`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from tracerank.errors import TraceRankError
from tracerank.serving.mcp_items import Items, checked_pool
from tracerank.serving.wire import ExplainReply, SelectReply, UnreadableRequest, explain_reply, select_reply
from tracerank.votes.base import Method, decide_stream
from tracerank.votes.explanation import explain_stream

INSTRUCTIONS = (
    "Several rollouts of a search agent answered the same question. select_rollout returns the best existing answer "
    "without further search or generation; explain_selection also says what evidence spoke for each candidate. A "
    "rollout that cannot be read is an error that names it: correct it and call again."
)
HARMLESS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
"""What clients may know before they let an agent call a tool."""
QuestionText = Annotated[str, Field(description="The question that all rollouts answer.")]


def mcp_server(method: Method, version: str) -> MCPServer[Any]:
    """A server with the two tools; ``run()`` speaks over stdin and stdout."""
    server: MCPServer[Any] = MCPServer("tracerank", instructions=INSTRUCTIONS, version=version, log_level="WARNING")

    turns = Lock()  # tools run in threads, and a method need not be safe to share

    @server.tool(title="Choose the best answer", annotations=HARMLESS)
    def select_rollout(question: QuestionText, rollouts: Items) -> SelectReply:
        """Choose the best existing answer among completed rollouts of one question."""
        with _told(), turns:
            pool, problems = checked_pool(question, rollouts)
            [(_, decision)] = decide_stream(method, [pool])
            return select_reply(pool, decision, problems)

    @server.tool(title="Choose and say why", annotations=HARMLESS)
    def explain_selection(question: QuestionText, rollouts: Items) -> ExplainReply:
        """Choose the best existing answer and say which evidence spoke for each candidate."""
        with _told(), turns:
            pool, problems = checked_pool(question, rollouts)
            [(_, explanation)] = explain_stream(method, [pool])
            return explain_reply(pool, explanation, problems)

    return server


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong is told to the agent in our words; of any other exception it would learn nothing."""
    try:
        yield
    except (UnreadableRequest, TraceRankError) as error:
        raise ToolError(str(error)) from None
