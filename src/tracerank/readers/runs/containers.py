"""Objects around the records: results under a key, records by id, whole pools, and a user's own record around a dump.

Looks at the outermost shape and knows no transcript format. Where it leaves a doubt, nothing is taken apart. A pool in
one record becomes a record a rollout, each with what the pool says about the question.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from tracerank.answers.exact import normalize_text
from tracerank.readers.agent_names import agent_of
from tracerank.readers.base import Record
from tracerank.readers.runs.model_calls import last_call, reply_of
from tracerank.readers.runs.transcripts import ITEM_KINDS, as_record
from tracerank.readers.sources.loose_json import load_json
from tracerank.readers.sources.record_fields import (
    COLUMN,
    FINAL_FIELDS,
    RECORD_FIELDS,
    RECORD_KEY,
    explicit_answer,
    is_known_field,
    question_of,
    sample_id_of,
)
from tracerank.readers.values import plain_text

_LIST_KEYS = (
    *("per_item", "per_question", "results", "samples", "data", "rollouts", "records", "trajectories", "items"),
    *("examples", "runs", "rows", "predictions", "outputs"),
)

_INNER_FIELDS = RECORD_FIELDS | {"task_id", "prompt", "problem", "response", "completion"}

_ROW_FIELDS = frozenset(
    ("task", "example", "sample", "item", "input", "result", "run", "output", "response", "request")
)
"""Names of what a row is made of: its objects are not records by id."""


class Part(NamedTuple):
    """A value inside a container."""

    place: str
    """Where it stands, to be put behind the place of the container."""
    value: Any
    """A record, or what stands in its place."""


def parts_of(record: Record) -> list[Part] | None:
    """The records inside an object that is no record itself; None: it is one, or nothing is known about it."""
    if not RECORD_FIELDS.isdisjoint(record):
        return None
    for key in _LIST_KEYS:
        inner = record.get(key)
        if isinstance(inner, list) and _are_records(inner):
            return [Part(f":{key}[{index}]", value) for index, value in enumerate(inner)]
    values = list(record.values())
    if values and all(isinstance(value, Mapping) for value in values):
        if not _are_records(values) or (len(values) > 1 and not _ROW_FIELDS.isdisjoint(record)):
            return None
        return [Part(f":[{key}]", {RECORD_KEY: key, **value}) for key, value in record.items()]
    if not values or not all(isinstance(value, list) and value for value in values):
        return None
    if all(map(_are_records, values)):  # several under one key, which is the question that they share
        placed = ((key, index, value) for key, listed in record.items() for index, value in enumerate(listed))
        return [Part(f":[{key}][{index}]", _keyed(key, value)) for key, index, value in placed]
    # Questions to lists of answers: of words alone the keys may as well be the names of columns.
    asking = sum(isinstance(key, str) and (" " in key.strip() or key.rstrip().endswith("?")) for key in record)
    if 2 * asking <= len(values) or not all(map(_is_answer, chain.from_iterable(values))):
        return None
    return [Part(f":[{question}]", {"question": question, _ANSWERS: said}) for question, said in record.items()]


def _keyed(key: str, value: object) -> Any:
    whole = as_record(value) if isinstance(value, list) else value
    return {"question_id": key, **whole} if isinstance(whole, Mapping) else value


def records_in(values: list[Any]) -> list[Any]:
    """The records of a JSON array; a single one where the array is itself a transcript."""
    whole = as_record(values)
    return values if whole is None else [whole]


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


# ---- pools in one record

_ANSWERS = "answers"

_ROLLOUT_LIST_KEYS = (
    *("rollouts", "trajectories", "samples", "attempts", "runs", "traces", "episodes", "trials", "candidates"),
    *("conversations", "completions", "responses", "generations", "outputs", "predictions", "solutions", "results"),
    *("candidate_answers", "model_answers", _ANSWERS),  # the last one may be the references of all others
)

_SURE_POOLS = ("rollouts", "trajectories", "attempts", "runs", "traces", "episodes", "trials")

_AS_IT_STANDS = ("candidate_answers", "model_answers", _ANSWERS, "answer", "candidate")
"""Names of answers rather than of texts in which one is to be found."""

_SAID_FIELDS = frozenset((*FINAL_FIELDS, "answer"))

_TRANSCRIPT_FIELDS = frozenset(
    (
        *("messages", "conversation", "conversations", "trajectory", "traj", "transcript", "trace", "history"),
        *("rollout", "steps", "searches", "response", "completion", "output", "text", "gen_text_store", "tool_events"),
        *("events", "response_items", "dialogue", "dialog", "chat", "log"),
    )
)

_OF_THE_ROLLOUT = frozenset(("id", "uuid", "question_id", "qid", "query_id", "example_id", "task_id"))
"""Ids inside a rollout; the pool says which question it is."""

_QUESTION_IDS = ("question_id", "qid", "query_id", "question_index")
"""Ids that are nothing but a question's."""

_DAMAGED: Mapping[str, Any] = {"messages": []}
"""Keeps the place of what is no transcript."""

_REPLIES = ("response", "chat.completion")


def parts_of_pool(record: Record) -> list[Part] | None:
    """A record for each rollout of a pool in one record; None: the record is no such pool."""
    for key in _ROLLOUT_LIST_KEYS:
        listed = record.get(key)
        if isinstance(listed, list) and listed and not _go_on(listed):
            rollouts = [_opened(item, key) for item in listed]
            about = {name: value for name, value in record.items() if name != key}
            shared = shared_of(about) if any(rollouts) else None
            if shared is not None and _are_about([rollout for rollout in rollouts if rollout], shared["question"]):
                parts = (_placed(shared, rollout or _DAMAGED, index) for index, rollout in enumerate(rollouts))
                return [Part(f":{key}[{index}]", part) for index, part in enumerate(parts)]
    return _parts_of_columns(record)


def _go_on(replies: list[Any]) -> bool:
    """Whether a list holds the replies of a model in one run: all but the last ask for tools."""
    if len(replies) < 2 or not all(isinstance(one, Mapping) and one.get("object") in _REPLIES for one in replies):
        return False
    return all(_asks_for_tools(one) for one in replies[:-1])


def _asks_for_tools(reply: Mapping[str, Any]) -> bool:
    if isinstance(output := reply.get("output"), list):
        return any(isinstance(one, Mapping) and one.get("type") in ITEM_KINDS for one in output)
    return bool((reply_of({"response": reply}) or {}).get("tool_calls"))


def _parts_of_columns(record: Record) -> list[Part] | None:
    """The answers of a row that has a column for each."""
    columns = {name: found for name in record if isinstance(name, str) and (found := COLUMN.fullmatch(name))}
    if not columns:
        return None
    kind = next(iter(columns.values()))[1]
    names = list(columns)
    if kind in record and min(int(found[2]) for found in columns.values()) > 1:  # answer, answer_2, …
        names.insert(0, kind)
    shared = shared_of({name: value for name, value in record.items() if name not in names})
    if shared is None:
        return None
    opened = [(name, _opened(record[name], kind)) for name in names if record[name] is not None]
    return [
        Part(f":{name}", _placed(shared, rollout or _DAMAGED, index)) for index, (name, rollout) in enumerate(opened)
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
            return {"events": item}  # calls of a model, states: the walk knows what is said twice
        return None if whole is None else dict(whole)
    if not isinstance(item, Mapping):
        return None
    opened = dict(item)
    if key in _SURE_POOLS and any(isinstance(inner, list | Mapping) and inner for inner in opened.values()):
        return opened  # a dump of any shape
    return None if _TRANSCRIPT_FIELDS.isdisjoint(opened) and _SAID_FIELDS.isdisjoint(opened) else opened


def shared_of(about: Record) -> dict[str, Any] | None:
    """What all rollouts have in common; None: there is no question."""
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


def _placed(shared: Mapping[str, Any], rollout: Mapping[str, Any], index: int) -> dict[str, Any]:
    """A rollout of a pool as a record of its own."""
    own = with_question(shared, rollout)
    return own if sample_id_of(own) is not None else {**own, "sample_id": index}


def with_question(shared: Mapping[str, Any], rollout: Mapping[str, Any]) -> dict[str, Any]:
    """The rollout with what is said about its question; there, its field ``answer`` is what the agent said."""
    own = {name: value for name, value in rollout.items() if name not in _OF_THE_ROLLOUT}
    if "answer" in own and "searches" not in own and not any(name in own for name in FINAL_FIELDS):
        answer = own.pop("answer")
        # A transcript that comes with the reference says the answer itself, if it is right.
        if not (_holds_words(own) and answer in shared.get("references", ())):
            own["final_answer"] = answer
    if isinstance(own.get("response"), str) and own.keys() <= {"response", "sample_id"}:
        # A bare text: tags in it are read by the reader that knows them, else it is what the agent said.
        asked = {"role": "user", "content": shared["question"]}
        own["messages"] = [asked, {"role": "assistant", "content": own["response"]}]
    by = {} if (agent := agent_of(own)) is None else {"agent": agent}
    return {**own, **shared, **by}


# ---- dumps in records of the user

_ABOUT = ("task", "example", "sample", "item", "instance", "row", "input", "inputs")
"""Objects that say what was asked."""

_BESIDE = frozenset(
    (*_ABOUT, "metadata", "meta", "usage", "config", "settings", "info", "extra_info", "scores", "tools")
)

_ITS_OWN = frozenset(("answer", "output", "response", "text", "prompt", "completion", "trajectory", "messages", "id"))
"""Fields that a dump may have as well, and means otherwise."""

_MIN_LENGTH = 40
"""Of a text that may be a dump."""


class Dump(NamedTuple):
    """What a record wraps."""

    record: Record
    """A list of messages or events is one under the name that readers look for."""
    is_listed: bool
    """It stood there as a list."""
    is_text: bool
    """It stood there as JSON."""

    @property
    def is_whole(self) -> bool:
        """It says all that a record has to, so that nothing around it is needed to read it by shape."""
        return self.is_listed or asks_itself(self.record)


def dump_in(record: Record) -> Dump | None:
    """The dump that a record wraps; None: there is none, or there are several."""
    dumps = [found for name, value in record.items() if name not in _BESIDE and (found := _dump(value)) is not None]
    return dumps[0] if len(dumps) == 1 else None


def unwrapped(record: Record, dump: Dump) -> dict[str, Any] | None:
    """The dump as a record with what is said about its question around it; None: there is no question."""
    about = _about(record)
    if about is None:
        return None
    # Number, label and answer of the run may stand outside; what the dump says itself goes first.
    around = {name: value for name, value in record.items() if isinstance(value, str | int | float) and _is_kept(name)}
    if (answer := explicit_answer(record)) is not None:
        around["final_answer"] = answer
    return {**around, **with_question(about, dump.record)}


def asks_itself(record: Record) -> bool:
    """Whether a record says outright what was asked."""
    shared = shared_of({name: value for name, value in record.items() if not isinstance(value, Mapping)})
    return shared is not None and bool(shared["question"])


def _is_kept(name: str) -> bool:
    return is_known_field(name) and name not in _ITS_OWN


def _about(record: Record) -> dict[str, Any] | None:
    """What is said about the question, by the record or by an object in it; None: there is no question."""
    for holder in (record, *(inner for name in _ABOUT if isinstance(inner := record.get(name), Mapping))):
        shared = shared_of(holder)
        if shared is not None and shared["question"]:
            if "id" in holder and not any(name in holder for name in _QUESTION_IDS):
                shared["id"] = shared.pop("question_id")  # it may be that of the run
            return shared
    return None


def _dump(value: object) -> Dump | None:
    """What a value holds that is more than words and numbers."""
    is_text = isinstance(value, str) and len(value) > _MIN_LENGTH and value[0] in "[{"
    value = load_json(value) if isinstance(value, str) and is_text else value
    if isinstance(value, list):
        listed = as_record(value) or last_call(value)
        return None if listed is None else Dump(listed, is_listed=True, is_text=is_text)
    if isinstance(value, Mapping) and any(isinstance(inner, list | Mapping) and inner for inner in value.values()):
        return Dump(value, is_listed=False, is_text=is_text)
    return None
