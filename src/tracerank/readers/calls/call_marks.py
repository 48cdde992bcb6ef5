"""The marks around tool calls that models write into their text: special tokens and tags of the model families.

``<tool_call>`` (Hermes, Qwen, GLM), ``<function=…>`` (Qwen3-Coder, Llama), ``<invoke name=…>`` (MiniMax, DeepSeek),
``[TOOL_CALLS]`` (Mistral), ``<｜tool▁call▁begin｜>`` (DeepSeek), ``<|tool_call_begin|>`` (Kimi), ``to=functions.…``
(gpt-oss), ``<|python_tag|>`` (Llama), ``functools[…]`` (Phi), ``<|tool_call|>`` (Granite) and others.
What stands between marks is read in ``call_bodies.py``.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

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
    r"|(?P<mcp><use_mcp_tool>)"
    rf"|(?P<open><(?:[a-z]{{1,12}}:|longcat_)?{_TAGS}>|<[|｜]{_TOKENS}[|｜]?>|\[TOOL_(?:CALLS|REQUEST)\]"
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
    is_mcp: bool = False


def sites(text: str) -> Iterator[Site]:
    """The marked places in order; a nameless opening mark right before another only announces it."""
    opened: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        closes = mark["close"] is not None
        if opened is not None:
            if closes and opened["mcp"] and "mcp" not in mark[0]:
                continue
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
    return Site(opened.start(), end, inner, name, is_mcp=opened["mcp"] is not None)
