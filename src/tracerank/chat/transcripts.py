"""A rollout as a chat model is shown it: its steps in order and its final solution.

Steps are the turns of the conversation where it was kept, else they are rebuilt from searches, evidence and answer.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracerank.chat.asking import count_words, fit_words, quoted
from tracerank.endpoints.chat import ChatMessage
from tracerank.pools.types import Evidence, Rollout
from tracerank.readers.calls.text_calls import written_calls

LEAST_STEP_WORDS = 20
"""A step cut shorter than this says nothing: then steps of the middle are left out instead."""


class Step(NamedTuple):
    """One turn of a rollout."""

    role: str
    """``assistant``: what the agent said and called; ``tool``: what came back; ``user``: what it was asked."""
    text: str
    tools: tuple[str, ...] = ()
    """Names of the tools that the turn called."""


def steps_of(rollout: Rollout) -> tuple[Step, ...]:
    """The turns, without the system's and the question, which every prompt states itself."""
    if not rollout.messages:
        return tuple(_rebuilt(rollout))
    turns = [message for message in rollout.messages if message.role != "system"]
    begin = next((index for index, message in enumerate(turns) if message.role != "user"), len(turns))
    return tuple(_turn(message) for message in turns[begin:])


def solution_of(rollout: Rollout) -> str:
    """The agent's whole final message where it was kept, else its answer."""
    final = rollout.messages[-1] if rollout.messages else None
    if final is not None and final.role == "assistant" and not final.tool_calls and final.content.strip():
        return final.content.strip()
    return rollout.answer or ""


def transcript_lines(steps: Sequence[Step], budget: int) -> str:
    """One JSON line per step, all within a budget of words; what is cut or left out is marked."""
    kept, left_out = _ends(steps, max(2, budget // LEAST_STEP_WORDS))
    texts = fit_words([step.text for _, step in kept], budget)
    lines = [
        quoted({"step": number, "role": step.role, "text": text})
        for (number, step), text in zip(kept, texts, strict=True)
    ]
    if left_out:
        lines.insert(len(kept) // 2, f"[{left_out:,} steps left out here]")
    return "\n".join(lines)


def described(steps: Sequence[Step]) -> str:
    """How long a transcript is and which tools it used, in a line."""
    counts = Counter(tool for step in steps for tool in step.tools)
    # A tool's name is the agent's text too.
    used = ", ".join(f"{quoted(tool[:40])} {count} times" for tool, count in counts.items()) or "none"
    words = sum(count_words(step.text) for step in steps)
    return f"{len(steps)} steps, {words:,} words; tools called: {used}"


def _ends(steps: Sequence[Step], most: int) -> tuple[list[tuple[int, Step]], int]:
    """Numbered steps, at most so many of them, from both ends; and how many were left out between."""
    numbered = list(enumerate(steps, start=1))
    if len(numbered) <= most:
        return numbered, 0
    half = most // 2
    return numbered[:half] + numbered[-half:], len(numbered) - 2 * half


# What an environment returns in a user's turn, to agents that write their calls as text.
_RETURN = re.compile(
    r"\s*(?:<(information|tool_response|tool_result|result|results|observation|documents|search_results)>"
    r"|<\|begin_of_documents\|>|Observation(?: \d{1,3})?:|\[?Search results?\]?:)",
    re.I,
)
_SEARCH_TAG = re.compile(r"<search>[^<]{1,2000}</search>|<\|begin_of_query\|>", re.I)


def _turn(message: ChatMessage) -> Step:
    if message.role == "assistant":
        return _said(message)
    return_mark = _RETURN.match(message.content) if message.role != "tool" else None
    if return_mark is None:
        return Step(message.role if message.role == "tool" else "user", message.content)
    tag = return_mark[1]
    text = message.content[return_mark.end() :] if tag else message.content
    return Step("tool", text.strip().removesuffix(f"</{tag}>").strip())


def _said(message: ChatMessage) -> Step:
    """A turn of the agent, with the tools that it calls, natively or in its text."""
    calls = [f"[calls {call.name} {call.arguments}]" for call in message.tool_calls]
    names = tuple(call.name for call in message.tool_calls)
    if not names:
        written = tuple(call.name for call in written_calls(message.content) if call.name)
        names = written or ("search",) * len(_SEARCH_TAG.findall(message.content))
    return Step("assistant", "\n".join(filter(None, [message.content, *calls])), names)


def _rebuilt(rollout: Rollout) -> Iterator[Step]:
    for search in rollout.searches:
        if search.query is not None:
            query = json.dumps({"query": search.query}, ensure_ascii=False)
            yield Step("assistant", f"[calls search {query}]", ("search",))
        if listed := [_shown(found) for found in search.evidence if found.tool == "search"]:
            yield Step("tool", "\n\n".join(f"Result {number}: {text}" for number, text in enumerate(listed, 1)))
        for found in search.evidence:
            if found.tool != "search":
                yield Step("assistant", f"[calls {found.tool} {json.dumps(found.url or '')}]", (found.tool,))
                yield Step("tool", _shown(found))
    yield Step("assistant", rollout.answer or "")


def _shown(evidence: Evidence) -> str:
    return "\n".join(filter(None, [evidence.title, evidence.url, evidence.text]))
