"""Transcripts that are read by shape: one way to parse whatever the walk understands, and the table of their names.

A vendor's messages are known by the kinds of objects in them, so that users see a name they know and a run that broke
off may lack its answer. A record without such a sign is read alike, but never guessed at in silence: one whose question
or answer cannot be told is a problem.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracerank.readers.assemble import asked_question, parsed_dialogue
from tracerank.readers.base import GENERAL, Parsed, Record, reject
from tracerank.readers.chat_roles import makes_calls
from tracerank.readers.formats.langchain_texts import TextTranscript, text_transcript
from tracerank.readers.reading import Reading
from tracerank.readers.runs.transcripts import streamed_messages
from tracerank.readers.shapes import is_result
from tracerank.readers.sources.record_fields import (
    decoded,
    explicit_answer,
    final_text,
    question_of,
    sample_id_of,
    stated_references,
    unasked_question,
)
from tracerank.readers.values import cleaned, plain_text
from tracerank.readers.vocabulary import plain_fields
from tracerank.readers.walk import holds_calls, read_anything

CHAT, LANGCHAIN, _AGENTS, _RESPONSES, _ANTHROPIC = (
    *("openai-chat", "langchain", "openai-agents", "openai-responses", "anthropic"),
)
_BROWSECOMP = "browsecomp-plus"
NAMES = (_BROWSECOMP, _AGENTS, _RESPONSES, _ANTHROPIC, LANGCHAIN, CHAT)
"""Of known layouts, most of them the messages of vendors."""

_MESSAGES = (
    *("messages", "conversation", "conversations", "history", "trajectory", "rollout", "transcript", "chat_history"),
    "completion",
)
_ITEMS = ("output", "items", "response_items", "input_list", "data", "response", "input")
_RUN_ITEMS = ("new_items", "session_items", "generated_items")
_INSIDE = ("outputs", "state", "values", "channel_values", "final_state", "body")
_STATES = (*_INSIDE, "result")
_HOLDERS = (*_MESSAGES, *_RUN_ITEMS, *_ITEMS, *_INSIDE, "intermediate_steps", "message", "content", "kwargs")
"""Fields in which a transcript, or a part of it, may stand."""
_COLUMNS = (*_ITEMS, *_RUN_ITEMS, "intermediate_steps", "chat_history")
_WRITTEN_IN = (*_MESSAGES, *_COLUMNS)
"""Those that tables keep as JSON."""
_REPLIES = ("response", "message", "output", "completion")
_NOT_AROUND = frozenset((*_STATES, *_REPLIES, "input", "inputs", "content"))
"""Fields that are part of the transcript where they are no plain text."""
_ASKED_IN = ("original_input", "inputs", "input", "request", "output", *_STATES)
_MAX_DEPTH = 8


# ---- whose messages they are

_KINDS = {
    **dict.fromkeys(("tool_use", "mcp_tool_use", "server_tool_use"), _ANTHROPIC),
    **dict.fromkeys(("tool_result", "mcp_tool_result"), _ANTHROPIC),
    **dict.fromkeys(("web_search_tool_result", "web_fetch_tool_result"), _ANTHROPIC),
    **dict.fromkeys(("function_call", "function_call_output", "custom_tool_call"), _RESPONSES),
    **dict.fromkeys(("custom_tool_call_output", "web_search_call", "file_search_call", "mcp_call"), _RESPONSES),
    "output_text": _RESPONSES,
    **dict.fromkeys(("ai", "human", "AIMessageChunk", "HumanMessageChunk"), LANGCHAIN),
}
"""What an object calls itself -> whose it is."""
_NEEDED = {"tool_use": "input", "mcp_tool_use": "input", "tool_result": "tool_use_id", "mcp_tool_result": "tool_use_id"}
_CLASSES = ("AIMessage", "HumanMessage", "AIMessageChunk", "HumanMessageChunk")
# Inside a JSON string quotes are escaped, so that no page can look like this.
_WRITTEN = re.compile(
    r'"(?P<agents>raw_item)":|"type"\s{0,3}:\s{0,3}"(?P<kind>function_call|function_call_output|custom_tool_call|'
    r"custom_tool_call_output|web_search_call|file_search_call|mcp_call|server_tool_use|ai|human)\""
    r'|"(?P<anthropic>tool_use_id)"\s{0,3}:|"(?P<langchain>AIMessage|HumanMessage)"'
    r'|"(?P<chat>tool_calls|function_call)"\s{0,3}:'
)


def vendor_of(record: Record) -> str:
    """Whose messages a record holds, as the name of a row of the table; empty: it has no sign of any."""
    columns = (text for name in _WRITTEN_IN if isinstance(text := record.get(name), str))
    if "query_id" in record and _is_browsecomp(record.get("result")):
        return _BROWSECOMP
    batch = result.get("message") if isinstance(result := record.get("result"), Mapping) else None
    found = _sign(record, _MAX_DEPTH) or _sign(batch, 1) or next(filter(None, map(_written_sign, columns)), "")
    if not found and not isinstance(record.get("messages"), str) and text_transcript(record) is not None:
        return LANGCHAIN
    return found


def _is_browsecomp(items: object) -> bool:
    """Whether a list holds the typed results of BrowseComp-Plus, which keeps one run a file."""
    return isinstance(items, list) and any(
        isinstance(one, Mapping) and {"type", "tool_name"} <= one.keys() for one in items
    )


def _sign(value: object, depth: int) -> str:
    if isinstance(value, list | tuple) and depth:
        return next(filter(None, (_sign(one, depth - 1) for one in value)), "")
    if not isinstance(value, Mapping) or not depth or value.get("role") == "tool":
        return ""
    if own := _own_sign(value):
        return own
    return next(filter(None, (_sign(value[key], depth - 1) for key in _HOLDERS if key in value)), "")


def _own_sign(value: Mapping[Any, Any]) -> str:
    if isinstance(value.get("raw_item"), Mapping):
        return _AGENTS
    kind, content = value.get("type"), value.get("content")
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return _RESPONSES
    if kind == "message" and value.get("role") == "assistant" and "stop_reason" in value and isinstance(content, list):
        return _ANTHROPIC
    if isinstance(value.get("tool"), str) and "tool_input" in value:
        return LANGCHAIN  # the action of an executor
    if kind == "constructor":
        name = value.get("id")
        return LANGCHAIN if isinstance(name, list) and name and name[-1] in _CLASSES else ""
    whose = _KINDS.get(kind, "") if isinstance(kind, str) else ""
    if whose == LANGCHAIN:
        fields = value["data"] if isinstance(value.get("data"), Mapping) else value
        return whose if "content" in fields and "role" not in fields else ""
    if whose and _NEEDED.get(str(kind), "type") in value:
        return whose
    return CHAT if makes_calls(value) else ""


def _written_sign(text: str) -> str:
    """The sign in a list that a table keeps as JSON; decoding it here would cost as much as reading it."""
    found = _WRITTEN.search(text) if text[:1] == "[" else None
    if found is None:
        return ""
    if found["chat"]:
        return CHAT if '"role"' in text else ""
    if found["agents"]:
        return _AGENTS
    return _KINDS[found["kind"]] if found["kind"] else _ANTHROPIC if found["anthropic"] else LANGCHAIN


# ---- what they say

_RUN = ("events", "messages")
_OWN_ANSWER = ("text", "raw", "finaloutput", "final_output", "content", "response", "output", "final", "reply")
"""Where a run keeps its last words once more, outside its transcript."""
_NOT_OUTPUT = ("question", "query", "reasoning", "rationale", "question_id", "id", "session_id", "dataset", "model")
_UNSURE = "read by shape with low confidence, here and elsewhere: check questions and answers with `tracerank inspect`"


@dataclass(frozen=True, slots=True)
class Walked:
    """A name under which transcripts are read by shape."""

    name: str

    def recognises(self, record: Record) -> bool:
        """By the vendor's sign; the general one by anything that looks like a call."""
        if not isinstance(record, Mapping):
            return False
        return vendor_of(record) == self.name if self.name != GENERAL else holds_calls(record) or _ends_a_run(record)

    def parse(self, record: Record, source: str) -> Parsed:
        """What was asked, done and said; the answer is the agent's last words after its last search."""
        plain = {name: streamed_messages(value) for name, value in decoded(record, *_COLUMNS).items()}
        kept = None if self.name != LANGCHAIN or _sign(plain, _MAX_DEPTH) else text_transcript(plain)
        if kept is not None:
            plain = {**plain, kept.field: None, "messages": kept.messages}
        reading = read_anything(_chat_of(plain) if self.name == CHAT else plain)
        parsed = self._parsed(plain, source, reading)
        is_general = self.name == GENERAL
        if is_general:
            doubt = _UNSURE if reading.confidence == "low" else parsed.doubt
            parsed = replace(parsed, confidence=reading.confidence, doubt=doubt)
        if is_general or not any(search.evidence for search in parsed.rollout.searches):
            parsed = replace(parsed, loss=reading.not_understood(parsed.rollout))
        return parsed if kept is None else _doubted(parsed, kept)

    def _parsed(self, plain: Record, source: str, reading: Reading) -> Parsed:
        fields, dialogue = _around(plain), reading.dialogue
        sample_id = sample_id_of(fields)
        question = asked_question(fields, dialogue.asked or _asked_in(plain))
        if self.name != GENERAL:
            if not dialogue.calls and dialogue.final is None and not (question and vendor_of(plain)):
                names = ", ".join((*_MESSAGES, *_ITEMS, *_RUN_ITEMS))
                reject(f"no items or messages: expected a list in one of {names}, or a reply", question, sample_id)
            if dialogue.final is None:
                dialogue = replace(dialogue, final=_last_words(plain, reading))
            return parsed_dialogue(fields, source, dialogue, question=question)
        if question is None:
            if not dialogue.calls and not _ends_a_run(plain) and "events" not in plain:
                reject("the question cannot be told: no user speaks and no field says it; seen: no tool calls")
            question = unasked_question(fields)
        if dialogue.final is None and explicit_answer(fields) is None and final_text(fields) is None:
            final = _own_answer(plain, reading)
            if final is None:
                hint = "; --map answer=answer if it is that field" if plain.get("answer") else ""
                reason = f"the answer cannot be told: no words after the last call; seen: {reading.seen}{hint}"
                reject(reason, question, sample_id)
            dialogue = replace(dialogue, final=final)
            if plain_text(plain.get("answer")) == final:
                question = replace(question, references=stated_references(fields))
        return parsed_dialogue(fields, source, dialogue, question=question, sample_id=sample_id)


def _chat_of(record: Record) -> Record:
    """The record without the lists and objects in which it may keep the run of its chat once more."""
    chat = next(
        (name for name in _MESSAGES if isinstance(record.get(name), list) and any(map(_role, record[name]))), ""
    )
    kept = (chat, "prompt", "input", *_REPLIES) if chat else tuple(record)
    return {name: value for name, value in record.items() if name in kept or not isinstance(value, list | Mapping)}


def _around(record: Record) -> dict[str, Any]:
    """The fields around a transcript: not those that hold it."""
    is_reply = record.get("type") == "message" and "content" in record
    return {
        name: value
        for name, value in record.items()
        if name not in _NOT_AROUND or (isinstance(value, str) and not (is_reply and name == "content"))
    }


def _asked_in(record: Record) -> str | None:
    """The question in what a run was given, where no user speaks."""
    for given in map(record.get, _ASKED_IN):
        if isinstance(given, str) and len(given.split(maxsplit=1)) > 1:
            return given
        if isinstance(given, Mapping) and (found := question_of(given)) is not None and found.text:
            return found.text
    return None


def _doubted(parsed: Parsed, kept: TextTranscript) -> Parsed:
    """A transcript that was kept as text, with what that leaves open."""
    count = f"{kept.strays} return{'s' * (kept.strays != 1)}"
    loss = f"{count} without a call in a transcript kept as text" if kept.strays else ""
    return replace(parsed, doubt=parsed.doubt or kept.doubt, loss=loss)


# ---- runs of no vendor


def _ends_a_run(record: Record) -> bool:
    """Whether a record is all that a command printed in the end."""
    return "subtype" in record and is_result(plain_fields(record))


def tells_run(record: Record) -> bool:
    """Whether the events of a run end in words of the agent, though it called nothing."""
    is_run = any(isinstance(record.get(name), list) for name in _RUN)
    return is_run and read_anything(decoded(record)).dialogue.final is not None


def is_conversation(record: Record) -> bool:
    """Whether the record holds messages in which a user asks and an assistant answers, with or without tools."""
    plain = decoded(record)
    listed = next((one for name in _MESSAGES if isinstance(one := plain.get(name), list) and any(map(_role, one))), [])
    both = [*plain["prompt"], *listed] if isinstance(plain.get("prompt"), list) else listed
    return {"user", "assistant"} <= set(map(_role, both))


def _role(message: object) -> str:
    return cleaned(message.get("role")) if isinstance(message, Mapping) else ""


def _last_words(record: Record, reading: Reading) -> str | None:
    """What a field beside a transcript says that the agent said last; None: nothing, or only a plan."""
    texts = (plain_text(record.get(name)) for name in _OWN_ANSWER)
    return next((text for text in texts if text is not None and text.strip() and not reading.is_plan(text)), None)


def _own_answer(record: Record, reading: Reading) -> str | None:
    if (text := _last_words(record, reading)) is not None:
        return text
    if reading.is_ended and (only := _only_output(record)) is not None:
        return only
    # A run that says it is done keeps its answer beside its steps; one that broke off may have only the reference.
    # A row with a number of its own is a rollout, and so is its answer.
    is_own = reading.is_ended or sample_id_of(record) is not None
    return plain_text(record.get("answer")) if is_own else None


def _only_output(record: Record) -> str | None:
    """The one text beside a trajectory that is neither a question nor reasoning, whatever it is called."""
    if not isinstance(record.get("trajectory"), Mapping) or "answer" in record:
        return None
    kept = [text for name, text in record.items() if name not in _NOT_OUTPUT and isinstance(text, str) and text.strip()]
    return kept[0] if len(kept) == 1 else None


ROWS = {name: Walked(name) for name in (*NAMES, GENERAL)}
"""The rows of the table by name."""
