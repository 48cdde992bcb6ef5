"""What an agent is told a rollout looks like, field by field, and what it is told of one that does not.

Files may hold bad rollouts, which are dropped with a reason; an agent that writes one can write it again, so here a
bad item is an error with its place. What was read well is not checked again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from tracerank.pools.pool import Pool
from tracerank.readers.detect import detect
from tracerank.serving.limits import ServiceLimits
from tracerank.serving.wire import SelectRequest, UnreadableRequest, pool_of

MISTAKES_TOLD = 5
"""Of many bad items, the first ones are told."""
_KEYS_SHOWN = 8

_EVIDENCE = {
    "type": "object",
    "description": "One text that the search returned.",
    "properties": {
        "text": {"type": "string", "description": "The text as the agent saw it; needed."},
        "title": {"type": ["string", "null"], "description": "Title of the document."},
        "url": {"type": ["string", "null"], "description": "Address of the document."},
        "rank": {"type": ["integer", "null"], "description": "Place in the list of results; 1 is the first."},
    },
    "required": ["text"],
}
_SEARCH = {
    "type": "object",
    "description": "One search and all that it returned.",
    "properties": {
        "query": {"type": ["string", "null"], "description": "What was searched for."},
        "evidence": {"type": "array", "items": _EVIDENCE, "description": "Texts that came back; may be empty."},
    },
    "required": ["query", "evidence"],
}
_ROLLOUT = {
    "type": "object",
    "title": "Rollout",
    "description": "An answer and the searches that led to it.",
    "properties": {
        "answer": {"type": ["string", "null"], "description": "The final answer; null: the agent gave none."},
        "searches": {"type": "array", "items": _SEARCH, "description": "In their order; [] if there was none."},
    },
    "required": ["answer", "searches"],
    "examples": [
        {
            "answer": "Ada Lovelace",
            "searches": [
                {
                    "query": "first computer program",
                    "evidence": [{"text": "Ada Lovelace wrote it.", "url": "https://example.org/ada", "rank": 1}],
                }
            ],
        }
    ],
}
_MESSAGE = {
    "type": "object",
    "properties": {
        "role": {"type": "string", "enum": ["system", "developer", "user", "assistant", "tool"]},
        "content": {"description": "Text, a list of parts, or null beside tool calls."},
        "tool_calls": {
            "type": "array",
            "description": 'Of an assistant: {"id", "function": {"name", "arguments"}}, arguments as JSON in a string.',
            "items": {"type": "object"},
        },
        "tool_call_id": {"type": "string", "description": "Of a tool's message: the call that it answers."},
    },
    "required": ["role"],
}
_CHAT = {
    "type": "object",
    "title": "Chat",
    "description": "The whole conversation, with tool calls and what they returned; the last message has the answer.",
    "properties": {"messages": {"type": "array", "items": _MESSAGE, "minItems": 1}},
    "required": ["messages"],
    "examples": [
        {
            "messages": [
                {"role": "user", "content": "Who wrote the first program?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "1", "function": {"name": "search", "arguments": '{"query": "first program"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "Ada Lovelace wrote it."},
                {"role": "assistant", "content": "Answer: Ada Lovelace"},
            ]
        }
    ],
}
_ANSWER = {"type": "string", "title": "Answer", "description": "An answer alone, without searches."}
_OTHER = {"type": "object", "title": "Log", "description": "A record of any other format that tracerank reads."}

Item = Annotated[str | dict[str, Any], WithJsonSchema({"anyOf": [_ROLLOUT, _CHAT, _ANSWER, _OTHER]})]
Items = Annotated[
    list[Item],
    Field(
        min_length=1,
        max_length=ServiceLimits.rollouts,
        description="One item per rollout: an object with answer and searches, one with messages, or an answer alone.",
    ),
]


def checked_pool(question: str, items: Sequence[str | dict[str, Any]]) -> tuple[Pool, list[str]]:
    """The pool of all items and what was remarked in reading; a single bad item is an error that says which and why."""
    mistakes = {place: reason for place, item in enumerate(items) if (reason := next(_mistakes(item), None))}
    if not mistakes:
        numbered = [
            {**(item if isinstance(item, dict) else {"answer": item}), "sample_id": place}
            for place, item in enumerate(items)
        ]
        pool, problems = pool_of(SelectRequest(question=question, rollouts=numbered))
        mistakes = {one.sample_id: one.problem for one in pool.rollouts if one.problem is not None}
        read = {one.sample_id for one in pool.rollouts}
        mistakes |= {
            place: "; ".join(problems) or "is no rollout of its own" for place in range(len(items)) if place not in read
        }
        if not mistakes:
            return pool, problems
    told = [f"rollouts[{place}]: {mistakes[place]}" for place in sorted(mistakes)]
    more = f"; and {len(told) - MISTAKES_TOLD} more" if len(told) > MISTAKES_TOLD else ""
    raise UnreadableRequest("; ".join(told[:MISTAKES_TOLD]) + more + "; nothing was decided: correct and call again")


def _mistakes(item: str | Mapping[str, Any]) -> Iterator[str]:
    """What an item leaves no trace of when it is read, because files may say so: neither answer nor evidence."""
    if isinstance(item, str):
        return
    if not {"answer", "messages"} & item.keys() and detect(item) is None:
        yield f"expected 'answer' and 'searches', or 'messages'; the keys are {_keys(item)}"
    if "messages" in item and not item["messages"]:
        yield "field 'messages': expected at least one message"
    if "answer" in item and "searches" not in item and "evidence" in item:
        yield "field 'evidence': belongs into a search: {answer, searches: [{query, evidence: […]}]}"
    searches = item.get("searches")
    for place, search in enumerate(searches if isinstance(searches, list) else ()):
        if isinstance(search, dict) and "evidence" not in search:
            yield f"field 'searches[{place}].evidence': expected a list; the keys are {_keys(search)}"


def _keys(item: Mapping[str, Any]) -> str:
    return ", ".join(list(map(str, item))[:_KEYS_SHOWN]) or "(none)"
