"""Tool calls that agents write into their text, and the returns that stand in tags: the dialects of open models.

``<tool_call>`` (Hermes, Qwen, GLM), ``<function=…>`` (Qwen3-Coder, Llama), ``<invoke name=…>`` (MiniMax, DeepSeek),
``[TOOL_CALLS]`` (Mistral), ``<｜tool▁call▁begin｜>`` (DeepSeek), ``<|tool_call_begin|>`` (Kimi), ``to=functions.…``
(gpt-oss), ``<|python_tag|>`` (Llama), ``functools[…]`` (Phi), ``<|tool_call|>`` (Granite), ``<use_mcp_tool>``.
A log does not say which tools there were: only calls between marks count, and only in the agent's own messages, for
a page may hold such tags, too. What stands between marks is read in ``call_bodies.py``; a model whose tools are known
is heard by ``chat/offered_calls.py``.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracerank.readers.calls.call_bodies import body_calls, made
from tracerank.readers.tools import ToolCall

CALL_TAGS = ("<tool_call>", "<function=", "<use_mcp_tool>")
RETURN_TAG = "<tool_response>"

_BETWEEN_RETURNS = re.compile(r"</tool_response>\s*<tool_response>")
_TAGS = r"(?:tool_?calls?|tools?|tool_use|tool_code|function[_-]?calls?)"
_TOKENS = (
    r"(?:tool[_▁]calls?(?:[_▁](?:section[_▁])?(?:begin|start))?|python_(?:tag|start)|action_start|plugin|START_ACTION"
    r"|tools_prefix|DSML[|｜](?:function|tool)_calls)"
)
_END_TOKENS = (
    r"(?:/tool_call|tool[_▁]calls?[_▁](?:section[_▁])?end|python_end|action_end|END_ACTION|tools_suffix|call|eom_id|eot_id"
    r"|im_end|end|return)"
)
_MARK = re.compile(
    r"<function=(?P<function>[^<>\n]{1,200})>"
    r"|<(?:[\w|｜]{1,20}[:|｜])?(?:invoke|function|tool_call|tool|tool_use)[ ]name="
    r"\\?[\"']?(?P<attribute>[\w./:-]{1,100})\\?[\"']?[^<>\n]{0,40}>"
    r"|(?:<\|channel\|>(?:analysis|commentary)?|commentary|assistant|\A)\s{0,2}to=(?P<recipient>[A-Za-z_][\w.-]{0,100})"
    rf"|(?P<open><use_mcp_tool>|<(?:[a-z]{{1,12}}:|longcat_)?{_TAGS}>|<[|｜]{_TOKENS}[|｜]?>|\[TOOL_(?:CALLS|REQUEST)\]"
    r"|<start_function_call>|\bfunctools(?=\[)|```tool_c(?:ode|all)\b)"
    rf"|(?P<close></(?:[\w|｜]{{1,20}}[:|｜])?(?:{_TAGS}|function|invoke|use_mcp_tool|longcat_tool_call)>"
    rf"|<[|｜]{_END_TOKENS}[|｜]>|<tool_call\|>|</[|｜]DSML[|｜]\w{{1,20}}>|<end_function_call>|\[END_TOOL_REQUEST\]"
    r"|\[/TOOL_CALLS\])",
    re.IGNORECASE,
)
_FENCE = "```tool_c"


class Site(NamedTuple):
    """A place where a call was written, or was begun."""

    start: int
    end: int
    """Of its marks."""
    inner: str
    """What stands between them."""
    name: str
    """Of the tool, where a mark says it."""


def sites(text: str) -> Iterator[Site]:
    """The marked places in order; a nameless opening mark right before another only announces it."""
    opened: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        closes = mark["close"] is not None
        if opened is not None:
            if closes and "mcp" in opened[0] and "mcp" not in mark[0]:
                continue  # what stands in the arguments of such a call closes nothing
            site = _site(opened, text[opened.end() : mark.start()], mark.end() if closes else mark.start())
            if closes or site.name or site.inner.strip():
                yield site
        opened = None if closes else mark
    if opened is not None:  # serving stacks cut the mark at which they stop
        yield _site(opened, text[opened.end() :], len(text))


def _site(opened: re.Match[str], inner: str, end: int) -> Site:
    if opened[0].startswith(_FENCE):
        inner = inner.partition("```")[0]
    name = opened["function"] or opened["attribute"] or opened["recipient"] or ""
    return Site(opened.start(), end, inner, name)


def written_calls(text: str) -> tuple[ToolCall, ...]:
    """The calls of an agent's message in order, unreadable ones without a name; thoughts make none."""
    return tuple(
        call for site in sites(said_in(text)) for call in body_calls(site.inner, site.name) or [made(site.name, None)]
    )


def spoken(text: str) -> str:
    """An agent's message without its thinking and without its calls."""
    said = text.rpartition("</think>")[2]
    first = next(sites(said), None)
    return said if first is None else said[: first.start]


def said_in(text: str) -> str:
    """A message without its thinking, unless that is all there is."""
    thought, _, said = text.rpartition("</think>")
    return said if said.strip() or not thought else text


def tagged_returns(messages: Sequence[str], count: int) -> list[str]:
    """What messages return to so many waiting calls: one each if there are as many, else as their tags part them.

    Tags inside a return belong to a page. Of a message with more parts than calls nothing is taken, for nothing says
    which text is whose.
    """
    found: list[str] = []
    for text in messages:
        _, tag, body = text.partition(RETURN_TAG)
        # The last tag closes.
        whole, closed, rest = body.rpartition("</tool_response>")
        whole = text if not tag else body if not closed or rest.lstrip().startswith(RETURN_TAG) else whole
        parts = [whole] if len(messages) == count else _BETWEEN_RETURNS.split(whole)
        found += map(str.strip, parts if len(found) + len(parts) <= count else ())
    return found
