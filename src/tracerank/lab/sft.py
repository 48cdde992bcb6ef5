"""Rejection sampling: rollouts worth imitating, written as conversations to train a chat model on.

Chooses and writes; the labels or the decisions come from elsewhere. A conversation that was kept is written verbatim,
any other is rebuilt from searches, evidence and answer in the words of our own prompts, without reasoning.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tracerank.answers.exact import exact_match, normalize_answer
from tracerank.endpoints.chat import ChatMessage, ChatTool, ToolCall, message_to_record
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.lab.chat.prompts import FORCED, MISSED, UNSEARCHED, holds_prompt
from tracerank.lab.chat.tags import TagStyle, information
from tracerank.lab.chat.tools import BROWSER_TOOLS, SEARCH, search_style
from tracerank.lab.corpus.base import Passage
from tracerank.lab.tools.page_text import disarmed, one_line
from tracerank.lab.tools.ranked_search import NOTHING_FOUND
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Rollout, Search
from tracerank.runs.atomic import write_lines
from tracerank.votes.base import Decision, Method, decide_stream

_DEMANDS = (*MISSED, *UNSEARCHED, *FORCED)
"""Prompts that answer a malformed turn or demand an answer."""
# What our tools say to a call that cannot be done.
_FAILED = re.compile(
    r'Error(?::| during search| fetching URL)|\{"error"|Invalid (?:link id|location)|Cannot run `find`'
    r"|No pages to access|Cursor `|`(?:query|pattern|cursor|loc|num_lines)` should"
)
_TOOLBOXES: tuple[tuple[ChatTool, ...], ...] = ((SEARCH,), BROWSER_TOOLS)


class Choice(NamedTuple):
    """A rollout to imitate."""

    rollout: Rollout
    reason: str
    goes_first: bool = False
    """Before all others of its pool."""


class Examples(NamedTuple):
    """What became of a pool's choices."""

    records: tuple[dict[str, Any], ...] = ()
    rebuilt: int = 0
    """Of the records, conversations that had not been kept."""
    lost: int = 0
    """Choices that cannot be written: no conversation was kept, and pages were opened or a query was not logged."""


def correct_rollouts(pool: Pool) -> list[Choice]:
    """The rollouts with label 1 that may be chosen: a right guess without evidence teaches nothing (App. A.1)."""
    chosen = [rollout for rollout in _eligible(pool) if rollout.label == 1]
    exact = [exact_match(rollout.answer, pool.question.references) for rollout in chosen]
    return [
        Choice(rollout, f"correct: {'exact match' if is_exact else 'labelled so'}")
        for rollout, is_exact in zip(chosen, exact, strict=True)
    ]


def selected_rollouts(pool: Pool, decision: Decision, method: str) -> list[Choice]:
    """The rollout that a method selected and those with the same answer; all of them must have read something."""
    if decision.sample_id is None:
        return []
    wanted, why = normalize_answer(decision.answer), _why_selected(decision, method)
    alike = f"same answer as sample {decision.sample_id}, {why}"
    return [
        Choice(rollout, why if is_it else alike, goes_first=is_it)
        for rollout in _eligible(pool)
        if (is_it := rollout.sample_id == decision.sample_id) or normalize_answer(rollout.answer) == wanted
    ]


def examples_of(pool: Pool, choices: Iterable[Choice], style: str, per_question: int) -> Examples:
    """At most so many distinct conversations, first those without failed calls or demands, then the fewest searches."""
    records: dict[tuple[ChatMessage, ...], dict[str, Any]] = {}
    rebuilt = lost = 0
    for choice in sorted(choices, key=lambda one: (not one.goes_first, *_merit(one.rollout))):
        messages = conversation_of(pool.question.text, choice.rollout, style)
        if messages is None:
            lost += 1
        elif messages not in records and len(records) < per_question:
            records[messages] = _record(pool, choice, messages)
            rebuilt += not choice.rollout.messages
    return Examples(tuple(records.values()), rebuilt, lost)


def conversation_of(question: str, rollout: Rollout, style: str) -> tuple[ChatMessage, ...] | None:
    """The conversation as it was held or could have been; None: it cannot be rebuilt."""
    if rollout.messages:
        return rollout.messages
    if any(not search.query or any(seen.tool != "search" for seen in search.evidence) for search in rollout.searches):
        return None
    return tuple(REBUILDS[style](question, rollout))


def _eligible(pool: Pool) -> list[Rollout]:
    dropped = pool.retained().dropped
    return [rollout for rollout in pool.rollouts if rollout.sample_id not in dropped]


def _why_selected(decision: Decision, method: str) -> str:
    by = f"selected by {method}"
    if decision.group:
        return f"{by} with {len(decision.group)} of {len(decision.scores)} votes"
    score = decision.scores.get(decision.sample_id) if decision.sample_id is not None else None
    return by if score is None else f"{by} with the score {score:.4g}, of {len(decision.scores)} candidates"


def _merit(rollout: Rollout) -> tuple[int, int, int]:
    return sum(map(_is_trouble, rollout.messages)), len(rollout.searches), rollout.sample_id


def _is_trouble(message: ChatMessage) -> bool:
    """Whether the turn answers a mistake, or demands an answer at a limit."""
    if message.role == "tool":
        return _FAILED.match(message.content) is not None
    return message.role == "user" and holds_prompt(message.content, _DEMANDS)


def _record(pool: Pool, choice: Choice, messages: tuple[ChatMessage, ...]) -> dict[str, Any]:
    called = {call.name for message in messages for call in message.tool_calls}
    tools = next((box for box in _TOOLBOXES if called and called <= {tool.name for tool in box}), ())
    record: dict[str, Any] = {"messages": [message_to_record(message) for message in messages]}
    if tools:
        # Chat templates print the tools; a model trained without them would not know when to call.
        record["tools"] = [{"type": "function", "function": asdict(tool)} for tool in tools]
    ids = {"question_id": pool.question.id, "sample_id": choice.rollout.sample_id}
    return record | ids | {"reason": choice.reason}


def correct_examples(pools: Iterable[Pool], style: str, per_question: int = 1) -> Iterator[Examples]:
    """What the rollouts with label 1 of each pool become, pool by pool; by exact match where the file has no label."""
    known = (labelled(pool, PAPER) for pool in pools)
    return (examples_of(pool, correct_rollouts(pool), style, per_question) for pool in known)


def selected_examples(pools: Iterable[Pool], method: Method, style: str, per_question: int = 1) -> Iterator[Examples]:
    """What the rollouts that a method selects become, pool by pool."""
    return (
        examples_of(pool, selected_rollouts(pool, decision, method.name), style, per_question)
        for pool, decision in decide_stream(method, pools)
    )


@dataclass(slots=True)
class ExportTally:
    """What was written and what not."""

    questions: int = 0
    conversations: int = 0
    rebuilt: int = 0
    """Of the conversations."""
    lost: int = 0
    """Rollouts whose conversation was not kept and cannot be rebuilt."""
    without: int = 0
    """Questions without a conversation."""

    def add(self, examples: Examples) -> None:
        """One more pool."""
        self.questions += 1
        self.conversations += len(examples.records)
        self.rebuilt += examples.rebuilt
        self.lost += examples.lost
        self.without += not examples.records


def write_examples(path: str | Path, made: Iterable[Examples]) -> ExportTally:
    """Write the conversations, one JSON object a line, gzip-compressed if the name ends with .gz; what they come to."""
    tally = ExportTally()

    def records() -> Iterator[dict[str, Any]]:
        for examples in made:
            tally.add(examples)
            yield from examples.records

    write_lines(path, records())
    return tally


# ---- conversations that were not kept


class _Nowhere:
    """Nothing is searched: only the opening of a style is wanted."""

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        return ()


def _with_tools(question: str, rollout: Rollout) -> Iterator[ChatMessage]:
    yield from search_style(_Nowhere()).opening(question)
    for number, search in enumerate(rollout.searches, start=1):
        call = ToolCall(f"call{number:05}", SEARCH.name, json.dumps({"query": search.query or ""}, ensure_ascii=False))
        yield ChatMessage("assistant", "", (call,))
        yield ChatMessage("tool", _returned(search), tool_call_id=call.id)
    yield _answered(rollout)


def _with_tags(question: str, rollout: Rollout) -> Iterator[ChatMessage]:
    yield from TagStyle(_Nowhere()).opening(question)
    for search in rollout.searches:
        yield ChatMessage("assistant", f"<search>{disarmed(search.query or '')}</search>")
        yield ChatMessage("user", information(_returned(search), question))
    yield _answered(rollout)


REBUILDS: Mapping[str, Callable[[str, Rollout], Iterator[ChatMessage]]] = MappingProxyType(
    {"tools": _with_tools, "tags": _with_tags}
)


def _returned(search: Search) -> str:
    """As ``tools/ranked_search.py`` prints it; logs of others may hold what could pass for our marks."""
    lines = [f"Doc {seen.rank or place}{_chunk(seen)}" for place, seen in enumerate(search.evidence, start=1)]
    return "\n".join(lines) or NOTHING_FOUND


def _chunk(seen: Evidence) -> str:
    text = one_line(seen.text)
    return text if text.startswith("(Title:") else f'(Title: "{one_line(seen.title or "")}") {text}'


def _answered(rollout: Rollout) -> ChatMessage:
    return ChatMessage("assistant", f"<answer>{disarmed(rollout.answer or '')}</answer>")
