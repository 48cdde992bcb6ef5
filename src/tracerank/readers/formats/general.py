"""Records of a format that nobody knows: calls, returns and words by their shape, read by ``walk.py``.

Asked last, and where another reader finds nothing in a record that holds calls. It never guesses in silence: a record
whose question or answer cannot be told is a problem, and ``reading_of`` says how sure a reading is.
"""

from collections.abc import Mapping
from dataclasses import replace

from tracerank.answers.exact import normalize_text
from tracerank.pools.types import Question, Rollout
from tracerank.readers.assemble import parsed_dialogue
from tracerank.readers.base import GENERAL, Parsed, Record, reject
from tracerank.readers.reading import Reading
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
from tracerank.readers.tools import names_in_use
from tracerank.readers.values import plain_text
from tracerank.readers.vocabulary import plain_fields
from tracerank.readers.walk import holds_calls, read_anything

_EVENTS = "events"
"""Under which the lines of a run are put together."""
_OWN_ANSWER = ("text", "raw", "finaloutput", "final_output", "content", "response", "output", "final", "reply")
"""Where a run keeps its last words once more, outside its transcript."""
_NOT_OUTPUT = ("question", "query", "reasoning", "rationale", "question_id", "id", "session_id", "dataset", "model")
_UNSURE = "read by shape with low confidence, here and elsewhere: check questions and answers with `tracerank inspect`"
_PLACES = ("output", "outputs", "result", "response", "inputs", "input")


class GeneralReader:
    """One rollout a record, whatever it looks like."""

    name = GENERAL

    def recognises(self, record: Record) -> bool:
        """By anything in it that looks like a call, or as all that a command printed in the end."""
        if not isinstance(record, Mapping):
            return False
        return (any(map(_may_hold, record.values())) and holds_calls(record)) or _ends_a_run(record)

    def parse(self, record: Record, source: str) -> Parsed:
        """What was asked, done and said; the answer is the agent's last words after its last search."""
        return parsed_reading(record, source, read_anything(decoded(record)))


def tells_run(record: Record) -> bool:
    """Whether the events of a run end in words of the agent, though it called nothing."""
    is_run = any(isinstance(record.get(name), list) for name in (_EVENTS, "messages"))
    return is_run and reading_of(record).dialogue.final is not None


def _ends_a_run(record: Record) -> bool:
    return "subtype" in record and is_result(plain_fields(record))


def _may_hold(value: object) -> bool:
    return (isinstance(value, list | dict) and bool(value)) or (isinstance(value, str) and value[:1] in ("{", "["))


def parsed_reading(record: Record, source: str, reading: Reading) -> Parsed:
    """A reading as a rollout; raises where the answer cannot be told."""
    fields = {name: value for name, value in decoded(record).items() if name not in _PLACES or isinstance(value, str)}
    dialogue, sample_id = reading.dialogue, sample_id_of(fields)
    question = _question(fields, dialogue.asked)
    if question is None:
        if not dialogue.calls and not _ends_a_run(record) and _EVENTS not in record:
            reject("the question cannot be told: no user speaks and no field says it; seen: no tool calls")
        question = unasked_question(fields)
    if dialogue.final is None and explicit_answer(fields) is None and final_text(fields) is None:
        final = _own_answer(record, reading)
        if final is None:
            hint = "; --map answer=answer if it is that field" if record.get("answer") else ""
            reason = f"the answer cannot be told: no words after the last call; seen: {_seen(reading)}{hint}"
            reject(reason, question, sample_id)
        dialogue = replace(dialogue, final=final)
        if plain_text(record.get("answer")) == final:
            question = replace(question, references=stated_references(fields))
    parsed = parsed_dialogue(fields, source, dialogue, question=question, sample_id=sample_id)
    doubt = _UNSURE if reading.confidence == "low" else parsed.doubt
    loss = not_understood(parsed.rollout, reading)
    return replace(parsed, confidence=reading.confidence, doubt=doubt, loss=loss)


def _question(fields: Record, asked: str | None) -> Question | None:
    found = question_of(fields, asked)
    if found is None or not asked or found.text == asked.strip():
        return found
    # A user's message that only wraps the question is no other question.
    return found if found.text else replace(found, id=normalize_text(asked), text=asked.strip())


def last_words(record: Record, reading: Reading) -> str | None:
    """What a field beside a transcript says that the agent said last; None: nothing, or only a plan."""
    texts = (plain_text(record.get(name)) for name in _OWN_ANSWER)
    return next((text for text in texts if text is not None and text.strip() and not reading.is_plan(text)), None)


def _own_answer(record: Record, reading: Reading) -> str | None:
    if (text := last_words(record, reading)) is not None:
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
    told = [
        value for name, value in record.items() if name not in _NOT_OUTPUT and isinstance(value, str) and value.strip()
    ]
    return told[0] if len(told) == 1 else None


def reading_of(record: Record) -> Reading:
    """What a record says by shape alone."""
    return read_anything(decoded(record))


def not_understood(rollout: Rollout, reading: Reading) -> str:
    """What to tell about a rollout whose record holds calls or returns that led to nothing; empty: nothing."""
    names = names_in_use()
    if not any(names.kind(call.name) != "other" for call in reading.dialogue.calls):
        return ""
    if not rollout.searches:
        count = len(reading.dialogue.calls)
        return f"{_counted(count, 'tool call')} seen, none understood: {reading.shown}; the rollout has no evidence"
    if not reading.dialogue.pairing.strays:
        return ""
    return f"{_counted(reading.dialogue.pairing.strays, 'return')} without a call seen beside calls to {reading.shown}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _seen(reading: Reading) -> str:
    count = len(reading.dialogue.calls)
    return f"{_counted(count, 'tool call')} ({reading.shown})" if count else "no tool calls"
