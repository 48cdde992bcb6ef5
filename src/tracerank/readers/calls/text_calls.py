"""Tool calls that agents write into their text, and the returns that stand in tags: the dialects of open models.

For logs, where nobody knows which tools there were: only calls between marks count (``call_marks.py``). A model whose
tools are known is heard by ``offered_calls.py``. Only the agent's own messages may be given to ``written_calls``: a
page may hold such tags, too.
"""

import re

from tracerank.readers.calls.call_bodies import body_calls, made, mcp_call
from tracerank.readers.calls.call_marks import Site, sites
from tracerank.readers.tools import ToolCall

CALL_TAGS = ("<tool_call>", "<function=", "<use_mcp_tool>")
RETURN_TAG = "<tool_response>"

_BETWEEN_RETURNS = re.compile(r"</tool_response>\s*<tool_response>")


def written_calls(text: str) -> tuple[ToolCall, ...]:
    """The calls of an agent's message in order, unreadable ones without a name; thoughts make none."""
    return tuple(call for site in sites(said_in(text)) for call in calls_at(site) or [made(site.name, None)])


def spoken(text: str) -> str:
    """An agent's message without its thinking and without its calls."""
    said = text.rpartition("</think>")[2]
    first = next(sites(said), None)
    return said if first is None else said[: first.start]


def said_in(text: str) -> str:
    """A message without its thinking, unless that is all there is."""
    thought, _, said = text.rpartition("</think>")
    return said if said.strip() or not thought else text


def calls_at(site: Site) -> list[ToolCall]:
    """The calls that stand between two marks; empty: they cannot be read."""
    return [mcp_call(site.inner)] if site.is_mcp else body_calls(site.inner, site.name)


def tagged_returns(text: str, count: int) -> list[str]:
    """What a message returns to so many waiting calls; empty when it cannot be told which text is whose."""
    start = text.find(RETURN_TAG)
    if start < 0:
        return [text.strip()]
    body = text[start + len(RETURN_TAG) :]
    # Tags inside a return belong to a page: the last one closes.
    whole, closed, rest = body.rpartition("</tool_response>")
    if not closed or rest.lstrip().startswith(RETURN_TAG):
        whole = body
    if count == 1:
        return [whole.strip()]
    parts = [part.strip() for part in _BETWEEN_RETURNS.split(whole)]
    return parts if len(parts) <= count else []
