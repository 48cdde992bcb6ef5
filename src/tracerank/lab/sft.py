"""Rejection sampling: rollouts worth imitating, written as conversations to train a chat model on.

The labels or the decisions come from elsewhere. A conversation that was kept is written verbatim, any other is rebuilt
from searches, evidence and answer as our own agents would have held it, without reasoning.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracerank.answers.exact import exact_match, normalize_answer
from tracerank.endpoints.chat import ChatMessage, ChatReply, ToolCall, message_to_record
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.lab.chat.styles import BROWSER_TOOLS, SEARCH, STYLES
from tracerank.lab.tools.page_text import disarmed, one_line
from tracerank.lab.tools.ranked_search import NOTHING_FOUND
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Rollout, Search
from tracerank.runs.atomic import write_lines
from tracerank.votes.base import Decision, Method, decide_stream

Choices = list[tuple[Rollout, str]]
"""Rollouts of a pool to imitate, the best first, and why."""


@dataclass(slots=True)
class ExportTally:
    """What was written and what not."""

    questions: int = 0
    conversations: int = 0
    rebuilt: int = 0
    """Of the conversations, those that had not been kept."""
    lost: int = 0
    """Rollouts that cannot be written: no conversation was kept, and pages were opened or a query was not logged."""
    without: int = 0
    """Questions without a conversation."""


def correct_rollouts(pool: Pool) -> Choices:
    """The rollouts with label 1, by exact match where the file has none, the shortest first.

    A right guess without evidence teaches nothing (App. A.1) and is not among them.
    """
    pool = labelled(pool, PAPER)
    references = pool.question.references
    return [
        (one, "correct: exact match" if exact_match(one.answer, references) else "correct: labelled so")
        for one in _shortest_first(pool)
        if one.label == 1
    ]


def selected_rollouts(pool: Pool, decision: Decision, method: str) -> Choices:
    """The rollout that a method selected, then those with the same answer."""
    wanted, chosen = normalize_answer(decision.answer), decision.sample_id
    why = f"selected by {method}"
    if decision.group:
        why += f" with {len(decision.group)} of {len(decision.scores)} votes"
    rollouts = [] if chosen is None else _shortest_first(pool)
    selected = [(one, why) for one in rollouts if one.sample_id == chosen]
    others = [one for one in rollouts if one.sample_id != chosen and normalize_answer(one.answer) == wanted]
    return [*selected, *((one, f"same answer as sample {chosen}, {why}") for one in others)]


def _shortest_first(pool: Pool) -> list[Rollout]:
    """Failed calls and reminders make a conversation longer."""
    return sorted(pool.unlinked().kept, key=lambda one: len(one.messages) or 2 * len(one.searches) + 2)


def chosen_rollouts(pools: Iterable[Pool], method: Method | None = None) -> Iterator[tuple[Pool, Choices]]:
    """What each pool gives to imitate: the correct rollouts, or what a method selects."""
    if method is None:
        return ((pool, correct_rollouts(pool)) for pool in pools)
    return ((pool, selected_rollouts(pool, made, method.name)) for pool, made in decide_stream(method, pools))


def write_examples(
    path: Path, chosen: Iterable[tuple[Pool, Choices]], style: str, per_question: int = 1
) -> ExportTally:
    """Write at most so many distinct conversations a question as JSON Lines, gzip if the name ends with .gz."""
    tally = ExportTally()

    def records() -> Iterator[dict[str, Any]]:
        for pool, choices in chosen:
            made: dict[tuple[ChatMessage, ...], dict[str, Any]] = {}
            for rollout, reason in choices:
                messages = conversation_of(pool.question.text, rollout, style)
                if messages is None:
                    tally.lost += 1
                elif messages not in made and len(made) < per_question:
                    ids = {"question_id": pool.question.id, "sample_id": rollout.sample_id}
                    made[messages] = _record(messages) | ids | {"reason": reason}
                    tally.rebuilt += not rollout.messages
            tally.questions += 1
            tally.conversations += len(made)
            tally.without += not made
            yield from made.values()

    write_lines(path, records())
    return tally


def _record(messages: tuple[ChatMessage, ...]) -> dict[str, Any]:
    called = {call.name for message in messages for call in message.tool_calls}
    record: dict[str, Any] = {"messages": [message_to_record(message) for message in messages]}
    for tools in ((SEARCH,), BROWSER_TOOLS):
        if called and called <= {tool.name for tool in tools}:
            # Chat templates print the tools; a model trained without them would not know when to call.
            record["tools"] = [{"type": "function", "function": asdict(tool)} for tool in tools]
    return record


def conversation_of(question: str, rollout: Rollout, style: str) -> tuple[ChatMessage, ...] | None:
    """The conversation as it was held or could have been; None: it cannot be rebuilt."""
    if rollout.messages:
        return rollout.messages
    if any(not search.query or any(seen.tool != "search" for seen in search.evidence) for search in rollout.searches):
        return None
    returned = iter(map(_returned, rollout.searches))
    session = STYLES[style].session(question, lambda name, values: next(returned))
    messages = list(session.opening())
    for search in rollout.searches:
        turn = session.read(_asking(search.query or "", style))
        messages += [turn.message, *session.returns(turn.calls, 1)]
    return (*messages, ChatMessage("assistant", f"<answer>{disarmed(rollout.answer or '')}</answer>"))


def _asking(query: str, style: str) -> ChatReply:
    if STYLES[style].tools:
        call = ToolCall("", SEARCH.name, json.dumps({"query": query}))
        return ChatReply("", tool_calls=(call,))
    return ChatReply(f"<search>{disarmed(query)}")


def _returned(search: Search) -> str:
    """As ``tools/ranked_search.py`` prints it; logs of others may hold what could pass for our tags."""
    lines = [f"Doc {seen.rank or position}{_chunk(seen)}" for position, seen in enumerate(search.evidence, start=1)]
    return "\n".join(lines) or NOTHING_FOUND


def _chunk(seen: Evidence) -> str:
    text = one_line(seen.text)
    return text if text.startswith("(Title:") else f'(Title: "{one_line(seen.title or "")}") {text}'
