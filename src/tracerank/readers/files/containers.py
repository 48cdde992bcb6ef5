"""Objects and lists around the records: results under a key, records by id, a transcript as a bare list, whole pools.

Looks at the outermost shape and knows no transcript format. Where it leaves a doubt, nothing is taken apart. A pool in
one record becomes a record a rollout, each with what the pool says about the question; that is only asked about records
that no reader recognises as they are.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tracerank.answers.exact import normalize_text
from tracerank.readers.agent_names import agent_of
from tracerank.readers.base import Record
from tracerank.readers.files.record_fields import FINAL_FIELDS, RECORD_KEY, question_of, sample_id_of
from tracerank.readers.files.streams import (
    is_node_update,
    opened_event,
    streamed_part,
    unwrapped_update,
    whole_messages,
)
from tracerank.readers.values import plain_text

_LIST_KEYS = (
    *("per_item", "per_question", "results", "samples", "data", "rollouts", "records", "trajectories", "items"),
    *("examples", "runs", "rows", "predictions", "outputs"),
)
# What rollouts of the known formats are about: an object with one of these is a record itself.
_RECORD_FIELDS = frozenset(
    (
        *("question", "query", "messages", "conversation", "conversations", "traj", "trajectory", "transcript"),
        *("rollout", "question_id", "qid", "query_id", "prediction", "searches", "steps", "tool_events"),
        *("gen_text_store", "main_agent_message_history", "events", "response_items"),
    )
)
# Also the settings of a whole run, so that they say something about the records inside only.
_INNER_FIELDS = _RECORD_FIELDS | {"task_id", "prompt", "problem", "response", "completion"}
_ROW_FIELDS = frozenset(
    ("task", "example", "sample", "item", "input", "result", "run", "output", "response", "request")
)
"""Names of what a row is made of: its objects are not records by id."""
_STEP_FIELDS = frozenset(("step_number", "task", "plan", "system_prompt"))
_ROLES = frozenset(("system", "developer", "user", "human", "assistant", "gpt", "tool", "function", "observation"))

_KIND_FIELDS = ("type", "role", "kind", "event", "author", "subtype", "qualified_name")
_AGENT = "current_agent_name"
_SELF_TOLD = (_AGENT, "tool_kwargs", "parent_tool_use_id", "triggers", "interrupts")
"""Fields of events of LlamaIndex, the Claude Agent SDK and LangGraph, of which a plain dump does not say its kind."""
_EVENT_FIELDS = frozenset(
    (
        *("content", "message", "payload", "item", "data", "parts", "output", "arguments", "text", "subtype", "blocks"),
        *("call_id", "operation", "input", "thread_id", "sessionId", "session_id", "uuid", "usage", "tool_calls"),
        *("tool_name", "attachment", "delta", "response", "result", "tool_id", "event", "qualified_name", "kwargs"),
        *("raw_item", *_SELF_TOLD),
    )
)
_NO_EVENT = (_RECORD_FIELDS - {"steps", "query"}) | {
    *(
        "trace_id",
        "traceId",
        "span_id",
        "spanId",
        "run_type",
        "custom_id",
        "schema",
        "answer",
        "object",
        "golden_answers",
    ),
    *("sample_id", "references", "prediction", "label", "resourceSpans", "attributes", "observationId"),
}
"""A span, a line of a batch or a rollout may say its kind, too."""
_ITEM_KINDS = frozenset(("function_call", "function_call_output", "web_search_call", "file_search_call", "mcp_call"))
_MESSAGE_KINDS = frozenset(("human", "ai", "tool", "system", "AIMessageChunk", "function", "constructor"))


class Part(NamedTuple):
    """A value inside a container."""

    place: str
    """Where it stands, to be put behind the place of the container."""
    value: Any
    """A record, or what stands in its place."""


def parts_of(record: Record) -> list[Part] | None:
    """The records inside an object that is no record itself; None: it is one, or nothing is known about it."""
    if not _RECORD_FIELDS.isdisjoint(record):
        return None
    for key in _LIST_KEYS:
        inner = record.get(key)
        if isinstance(inner, list) and _are_records(inner):
            return [Part(f":{key}[{index}]", value) for index, value in enumerate(inner)]
    values = list(record.values())
    if len(values) and all(isinstance(value, Mapping) for value in values):
        is_row = len(values) > 1 and not _ROW_FIELDS.isdisjoint(record)
        return list(_keyed(record)) if _are_records(values) and not is_row else None
    if len(values) and all(isinstance(value, list) and _are_records(value) for value in values):
        return list(_keyed_lists(record))
    if len(values) and all(isinstance(value, list) and value and all(map(_is_answer, value)) for value in values):
        # Of words alone the keys may as well be the names of columns.
        asking = sum(isinstance(key, str) and (" " in key.strip() or key.rstrip().endswith("?")) for key in record)
        return list(_asked_lists(record)) if 2 * asking > len(values) else None
    return None


def records_in(values: list[Any]) -> list[Any]:
    """The records of a JSON array; a single one where the array is itself a transcript, or a question and answers."""
    whole = as_record(values)
    if whole is None and len(values) == 2 and isinstance(values[1], list):
        whole = pair_record(values)
    return values if whole is None else [whole]


def pair_record(value: object) -> dict[str, Any] | None:
    """``[question, [answers]]`` or ``[question, answer]`` as a record; None: it is neither."""
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str) or not value[0].strip():
        return None
    question, said = value
    if isinstance(said, str):
        return {"question": question, "answer": said}
    return {"question": question, _ANSWERS: said} if isinstance(said, list) and any(map(_is_answer, said)) else None


def as_record(values: list[Any]) -> Record | None:
    """A list that is one transcript, chat messages or an agent's steps, as a record; None: it is a list of records."""
    if (streamed := streamed_part(values)) is not None:
        return streamed
    if not values or not all(isinstance(value, Mapping) for value in values):
        parts = [streamed_part(value) if isinstance(value, list) else None for value in values]
        return events_record(parts) if parts and all(part is not None for part in parts) else None
    if all(str(value.get("role", value.get("from"))) in _ROLES for value in values):
        return {"messages": values}
    if any("step_number" in value for value in values) and not any(_STEP_FIELDS.isdisjoint(v) for v in values):
        return {"steps": values}
    if all(is_node_update(value, is_first=False) for value in values):
        return events_record([unwrapped_update(value) for value in values]) if is_node_update(values[0]) else None
    if is_event(values[0]) and all(map(is_later_event, values)):
        return events_record(values)
    return None


def events_record(values: list[Any]) -> dict[str, Any]:
    """The events of one run as a record, under the name that the reader of such a list looks for."""
    values = whole_messages([opened_event(value) for value in values])
    if all(isinstance(value.get("messages"), list) and len(value) == 1 for value in values):
        return {"messages": [message for value in values for message in value["messages"]]}
    kinds = {value.get("type") for value in values if isinstance(value.get("type"), str)}
    if kinds & _ITEM_KINDS:
        return {"response_items": values}
    return {"messages" if kinds and kinds <= _MESSAGE_KINDS else "events": values}


def is_event(value: object) -> bool:
    """Whether an object is a message, a call or a return rather than a record: it says its kind, and of whom it is."""
    if not isinstance(value, Mapping) or not _NO_EVENT.isdisjoint(value) or _is_span(value):
        return False
    said = (value.get(name) for name in _KIND_FIELDS)
    is_told = any(isinstance(kind, str) for kind in said)
    return (is_told and not _EVENT_FIELDS.isdisjoint(value)) or _begins_untold(value)


def _begins_untold(value: Mapping[str, Any]) -> bool:
    """Whether an object that does not say its kind is the first event of a run: what was asked, a message, a step."""
    if "triggers" in value or (_AGENT in value and isinstance(value.get("input"), list)):
        return True
    if value.get("type") == "start" and len(value) <= 2:
        return True
    message = value.get("message")
    is_message = isinstance(message, Mapping) and "content" in message and str(message.get("role")) in _ROLES
    return is_message or ("stepNumber" in value and isinstance(value.get("content"), list))


def _is_span(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("context"), Mapping)


def is_later_event(value: object) -> bool:
    """Whether an object is an event among events: there a kind alone will do, such as ``turn.started``."""
    if is_event(value):
        return True
    if not isinstance(value, Mapping) or not _NO_EVENT.isdisjoint(value) or _is_span(value):
        return False
    is_self_told = any(name in value for name in _SELF_TOLD) or _begins_untold(value)
    return is_self_told or any(isinstance(value.get(name), str) for name in _KIND_FIELDS)


def _keyed(record: Record) -> Iterator[Part]:
    for key, value in record.items():
        yield Part(f":[{key}]", {RECORD_KEY: key, **value} if isinstance(value, Mapping) else value)


def _keyed_lists(record: Record) -> Iterator[Part]:
    """Several records under one key: what they share is the question."""
    for key, values in record.items():
        for index, value in enumerate(values):
            whole = as_record(value) if isinstance(value, list) else value
            whole = {"question_id": key, **whole} if isinstance(whole, Mapping) else value
            yield Part(f":[{key}][{index}]", whole)


def _asked_lists(record: Record) -> Iterator[Part]:
    """Questions to lists of answers."""
    for question, said in record.items():
        yield Part(f":[{question}]", {"question": question, _ANSWERS: said})


def _is_answer(value: object) -> bool:
    """Whether an item of a list of answers is a text or a number."""
    return plain_text(value) is not None


def _are_records(values: list[Any]) -> bool:
    """Whether most of the values say what a rollout is about; a few may be damaged."""
    good = sum(
        not _INNER_FIELDS.isdisjoint(value)
        if isinstance(value, Mapping)
        else isinstance(value, list) and as_record(value) is not None
        for value in values
    )
    return 2 * good > len(values)


_ANSWERS = "answers"
_ROLLOUT_LIST_KEYS = (
    *("rollouts", "trajectories", "samples", "attempts", "runs", "traces", "episodes", "trials", "candidates"),
    *("conversations", "completions", "responses", "generations", "outputs", "predictions", "solutions", "results"),
    *("candidate_answers", "model_answers", _ANSWERS),  # the last one may be the references of all others
)
_SURE_POOLS = ("rollouts", "trajectories", "attempts", "runs", "traces", "episodes", "trials")
_COLUMN = re.compile(r"(answer|response|output|completion|prediction|generation|sample|candidate|rollout)[ _-]?\d{1,4}")
"""One of the columns that hold an answer each."""
_AS_IT_STANDS = ("candidate_answers", "model_answers", _ANSWERS, "answer", "candidate")
"""Names of answers rather than of texts in which one is to be found."""
_SAID_FIELDS = frozenset((*FINAL_FIELDS, "answer"))
_TRANSCRIPT_FIELDS = frozenset(
    (
        *("messages", "conversation", "conversations", "trajectory", "traj", "transcript", "trace", "history"),
        *("rollout", "steps", "searches", "response", "completion", "output", "text", "gen_text_store", "tool_events"),
        *("events", "response_items"),
    )
)
# Of a list under one of these names, what a reader would look for under "messages".
_SPELLED = ("trace", "history", "dialogue", "dialog", "chat", "log", "events")
_OF_THE_ROLLOUT = frozenset(("id", "uuid", "question_id", "qid", "query_id", "example_id", "task_id"))
"""Ids inside a rollout; the pool says which question it is."""
_QUESTION_IDS = ("question_id", "qid", "query_id", "question_index")
"""Ids that are nothing but a question's."""
_DAMAGED: Mapping[str, Any] = {"messages": []}
"""Keeps the place of what is no transcript."""


def parts_of_pool(record: Record) -> list[Part] | None:
    """A record for each rollout of a pool in one record; None: the record is no such pool."""
    for key in _ROLLOUT_LIST_KEYS:
        listed = record.get(key)
        if isinstance(listed, list) and listed and not _go_on(listed):
            rollouts = [_opened(item, key) for item in listed]
            about = {name: value for name, value in record.items() if name != key}
            shared = shared_of(about) if any(rollouts) else None
            if shared is not None and _are_about([rollout for rollout in rollouts if rollout], shared["question"]):
                parts = (_placed(shared, rollout or _DAMAGED, place) for place, rollout in enumerate(rollouts))
                return [Part(f":{key}[{place}]", part) for place, part in enumerate(parts)]
    return _parts_of_columns(record)


def _go_on(replies: list[Any]) -> bool:
    """Whether a list holds the replies of a model in one run: all but the last ask for tools."""
    if len(replies) < 2 or not all(isinstance(one, Mapping) and one.get("object") in _REPLIES for one in replies):
        return False
    return all(_asks_for_tools(one) for one in replies[:-1])


def _asks_for_tools(reply: Mapping[str, Any]) -> bool:
    output, choices = reply.get("output"), reply.get("choices")
    if isinstance(output, list):
        return any(isinstance(one, Mapping) and one.get("type") in _ITEM_KINDS for one in output)
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    return isinstance(message, Mapping) and bool(message.get("tool_calls"))


_REPLIES = ("response", "chat.completion")


def _parts_of_columns(record: Record) -> list[Part] | None:
    """The answers of a row that has a column for each."""
    columns = {name: found[1] for name in record if isinstance(name, str) and (found := _COLUMN.fullmatch(name))}
    if not columns:
        return None
    kind, first = (
        next(iter(columns.values())),
        min(int(name[len(kind) :].strip(" _-")) for name, kind in columns.items()),
    )
    if first > 1 and kind in record:  # answer, answer_2, …
        columns = {kind: kind, **columns}
    shared = shared_of({name: value for name, value in record.items() if name not in columns})
    if shared is None:
        return None
    opened = ((name, _opened(record[name], kind)) for name, kind in columns.items() if record[name] is not None)
    return [
        Part(f":{name}", _placed(shared, rollout or _DAMAGED, place)) for place, (name, rollout) in enumerate(opened)
    ]


def _are_about(rollouts: list[dict[str, Any]], question: str) -> bool:
    """Whether no rollout has another question of its own: then the list is that of a whole data set."""
    named = [question] if question else []
    for rollout in rollouts:
        own = question_of({name: value for name, value in rollout.items() if name not in _OF_THE_ROLLOUT})
        if own is not None and own.text:
            named.append(own.text)
        elif not question and not _OF_THE_ROLLOUT.isdisjoint(rollout):
            return False  # each may be of its own question
    return len(set(map(normalize_text, named))) <= 1


def _opened(item: object, key: str) -> dict[str, Any] | None:
    """An item of the list as a record; None: it is neither a transcript nor an answer."""
    text = plain_text(item) if key in _AS_IT_STANDS else item
    if isinstance(text, str):
        return {"final_answer" if key in _AS_IT_STANDS else "response": text} if text.strip() else None
    if isinstance(item, list):
        whole = as_record(item)
        if whole is None and key in _SURE_POOLS and all(isinstance(one, Mapping) for one in item):
            return {"events": item}  # calls of a model, states: whoever reads by shape knows what is said twice
        return None if whole is None else dict(whole)
    if not isinstance(item, Mapping):
        return None
    opened = dict(item)
    for name in _SPELLED:
        value = opened.get(name)
        if "messages" not in opened and isinstance(value, list) and (whole := as_record(value)) is not None:
            opened |= whole
    if key in _SURE_POOLS and any(isinstance(inner, list | Mapping) and inner for inner in opened.values()):
        return opened  # a dump of any shape
    return None if _TRANSCRIPT_FIELDS.isdisjoint(opened) and _SAID_FIELDS.isdisjoint(opened) else opened


def shared_of(about: Record) -> dict[str, Any] | None:
    """What all rollouts have in common; None: nobody asked anything."""
    question = question_of(about)
    if question is None or not (question.text or any(name in about for name in _QUESTION_IDS)):
        return None
    shared: dict[str, Any] = {"question_id": question.id or normalize_text(question.text), "question": question.text}
    if question.references:
        shared["references"] = list(question.references)
    if question.dataset:
        shared["dataset"] = question.dataset
    if (agent := agent_of(about)) is not None:
        shared["agent"] = agent
    return shared


def _holds_words(rollout: Mapping[str, Any]) -> bool:
    """Whether a transcript ends with words of the agent."""
    listed = (rollout[name] for name in _TRANSCRIPT_FIELDS if isinstance(rollout.get(name), list) and rollout[name])
    lasts = [values[-1] for values in listed if isinstance(values[-1], Mapping)]
    return any(last.get("role") == "assistant" and bool(last.get("content")) for last in lasts)


def _placed(shared: Mapping[str, Any], rollout: Mapping[str, Any], place: int) -> dict[str, Any]:
    """A rollout of a pool as a record of its own."""
    own = with_question(shared, rollout)
    return own if sample_id_of(own) is not None else {**own, "sample_id": place}


def with_question(shared: Mapping[str, Any], rollout: Mapping[str, Any]) -> dict[str, Any]:
    """The rollout with what is said about its question; there, its field ``answer`` is what the agent said."""
    own = {name: value for name, value in rollout.items() if name not in _OF_THE_ROLLOUT}
    if "answer" in own and "searches" not in own and not any(name in own for name in FINAL_FIELDS):
        answer = own.pop("answer")
        # A transcript that comes with the reference says the answer itself, if it is right.
        if not (_holds_words(own) and answer in shared.get("references", ())):
            own["final_answer"] = answer
    if isinstance(own.get("response"), str) and own.keys() <= {"response", "sample_id"}:
        # A bare text: tags in it are read by whoever knows them, else it is what the agent said.
        asked = {"role": "user", "content": shared["question"]}
        own["messages"] = [asked, {"role": "assistant", "content": own["response"]}]
    by = {} if (agent := agent_of(own)) is None else {"agent": agent}
    return {**own, **shared, **by}
