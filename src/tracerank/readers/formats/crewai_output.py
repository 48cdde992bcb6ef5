"""CrewAI: a crew's output with the messages of its tasks, the output of one task, and the rows of an output log.

The question is the task's description, not the prompt that is made of it; ``expected_output`` says what form an answer
has and is no reference. Older versions keep no messages, and the output log never does: that is told.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Question
from tracerank.readers.assemble import Dialogue, parsed_dialogue, stated_answer
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.formats.react import is_react, read_text
from tracerank.readers.reading import Reading
from tracerank.readers.sources.record_fields import decoded, question_of, sample_id_of, unasked_question
from tracerank.readers.tools import ToolCall
from tracerank.readers.values import encodable, said_of
from tracerank.readers.walk import read_anything

_TASKS = "tasks_output"
_HOLDERS = ("output", "outputs", "result", "crew_output", "response", "crew")
_OF_CREW = frozenset(
    (
        *(_TASKS, "raw", "pydantic", "json_dict", "token_usage", "description", "name", "expected_output", "summary"),
        *("agent", "output_format", "messages", "tool_failures", "task", "task_name", "status", "output", "timestamp"),
        *_HOLDERS,
    )
)
"""Fields that mean something else here than beside other transcripts."""
_NO_MESSAGES = (
    "this log of CrewAI keeps no searches: only the answers can be compared; CrewOutput of version 1 has messages"
)
_SEVERAL = (
    "the crew has several tasks: their descriptions together are taken for the question, the last output for the "
    "answer; --map question=FIELD or --questions FILE says what was asked"
)


class CrewAIReader:
    """One rollout a crew's run, or a completed row of an output log."""

    name = "crewai"

    def recognises(self, record: Record) -> bool:
        """By the outputs of tasks, or by a row that says what became of a task."""
        if not isinstance(record, Mapping):
            return False
        return _crew(record) is not None or _is_row(record)

    def parse(self, record: Record, source: str) -> Parsed:
        """What was asked, searched in all tasks, and said in the end."""
        plain = decoded(record)
        crew = _crew(plain)
        fields = {name: value for name, value in plain.items() if name not in _OF_CREW}
        sample_id = sample_id_of(fields)
        tasks = list(_tasks(plain if crew is None else crew))
        asked = [text.strip() for task in tasks if isinstance(text := task.get("description", task.get("task")), str)]
        question = _question(fields, "\n\n".join(dict.fromkeys(asked)))
        final = _final(plain if crew is None else crew, tasks)
        if final is None:
            reject("the run has no output: it did not end, or its tasks failed", question, sample_id)
        logged = [messages for task in tasks if isinstance(messages := task.get("messages"), list)]
        readings = [read_anything(messages) for messages in logged]
        calls = tuple(call for one in zip(logged, readings, strict=True) for call in _calls(*one))
        parsed = parsed_dialogue(fields, source, Dialogue(calls, None, final), question=question, sample_id=sample_id)
        doubts = [text for holds, text in ((not readings, _NO_MESSAGES), (len(asked) > 1, _SEVERAL)) if holds]
        loss = next((told for one in readings if (told := one.not_understood(parsed.rollout))), "")
        return replace(parsed, doubt="; ".join(doubts), loss=loss)


def _is_row(record: Record) -> bool:
    return all(isinstance(record.get(name), str) for name in ("task", "agent", "status", "timestamp"))


def _crew(record: Record) -> Record | None:
    """The crew's output, or a task's, in a record or in a field of it."""
    for holder in (record, *(record.get(name) for name in _HOLDERS)):
        if not isinstance(holder, Mapping):
            continue
        tasks = holder.get(_TASKS)
        is_crew = isinstance(tasks, list) and any(isinstance(task, Mapping) and "raw" in task for task in tasks)
        if is_crew or ("raw" in holder and "description" in holder and "output_format" in holder):
            return holder
    return None


def _tasks(crew: Record) -> Iterator[Record]:
    listed = crew.get(_TASKS)
    yield from (task for task in listed if isinstance(task, Mapping)) if isinstance(listed, list) else (crew,)


def _question(fields: Record, described: str) -> Question:
    inputs = fields.get("inputs")
    stated = question_of({**(inputs if isinstance(inputs, Mapping) else {}), **fields})
    if stated is not None and stated.text:
        return stated
    if not described:
        return stated or unasked_question(fields)
    text = encodable(described)
    return replace(stated, text=text) if stated is not None else Question(normalize_text(text), text)


def _final(crew: Record, tasks: list[Record]) -> str | None:
    """What came out: the fields of a structured output where one says the answer, else the words."""
    for holder in (crew, *reversed(tasks)):
        for name in ("json_dict", "pydantic"):
            if isinstance(value := holder.get(name), Mapping) and (stated := stated_answer(value)) is not None:
                return stated
        for name in ("raw", "output"):
            if isinstance(value := holder.get(name), str) and value.strip():
                return value
    return None


def _calls(messages: list[Any], reading: Reading) -> Iterator[ToolCall]:
    found = reading.dialogue.calls
    # A model without function calling writes its actions and what came of them as text.
    said = "" if found else "\n".join(said_of(one.get("content")) for one in messages if _is_of_agent(one))
    yield from read_text(said, None).calls if is_react(said) else found


def _is_of_agent(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") == "assistant"
