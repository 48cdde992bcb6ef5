"""ReAct transcripts in their records: FireAct's trajectories, KnowAgent's prompts, LangChain's scratchpads.

Finds the transcript, cuts the prompt with its examples off, and reads the fields around it; the turns are read in
``react_text.py``. Verdicts that the environment tells the agent are labels at most and never become text.
"""

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from tracerank.answers.exact import normalize_answer
from tracerank.pools.types import Question
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.record_fields import Dialogue, decoded, parsed_dialogue, question_of, sample_id_of
from tracerank.readers.calls.text_calls import CALL_TAGS
from tracerank.readers.calls.tool_calls import submitted_answer
from tracerank.readers.files.containers import RECORD_KEY
from tracerank.readers.formats.react_text import REACT_NAMES, is_react, read_messages, read_text
from tracerank.readers.values import cleaned, text_of

# A prompt may hold examples only: it is looked at last.
_TEXT_FIELDS = (
    *("traj", "trajectory", "transcript", "scratchpad", "agent_scratchpad", "log", "react", "output", "response"),
    *("completion", "text", "messages", "conversation", "conversations", "history", "prompt"),
)
_QUESTION_FIELDS = ("question", "query", "problem", "question_text")
_END_OF_PROMPT = re.compile(r"^[ \t]*(?:\(END OF EXAMPLES\)|### Response:|Begin!)[ \t]*$", re.M)
_INSTRUCTION = re.compile(r"^### Instruction:[ \t]*$", re.M)
_QUESTION = re.compile(r"^Question:[ \t]*+([^\n]++)", re.M)
# The last question of a prompt without an end mark: the turns follow at once.
_ASKED = re.compile(r"^Question:[ \t]*+([^\n]++)\n(?=(?:Thought|ActionPath|Action)\b)", re.M)


class ReactReader:
    """One rollout a record, the transcript a text or messages with Thought, Action and Observation marks."""

    name = "react"

    def recognises(self, record: Record) -> bool:
        """By actions and what came of them in one of the text fields."""
        return isinstance(record, Mapping) and _transcript(record) is not None

    def parse(self, record: Record, source: str) -> Parsed:
        """The turns as searches; the answer is what the last action hands in."""
        plain = decoded(record)
        found = _transcript(plain)
        if found is None:
            reason = "no transcript: expected text with 'Action:' and 'Observation:' lines"
            reject(reason, _question(plain, None, ""), sample_id_of(plain))
        name, value = found
        dialogue = _dialogue(value, _stated(plain))
        question = _question(plain, dialogue.asked, name)
        if question is None:
            reject("no question: expected 'question', or 'Question: …' before the first thought")
        final = None if plain.get("halted") is True else _handed_in(plain, dialogue.final)
        # The table of final fields is for chats: here the text has said all there is to say.
        fields = {key: value for key, value in plain.items() if key not in ("prediction", "final_answer")}
        settled = Dialogue(dialogue.calls, dialogue.asked, final)
        return parsed_dialogue(fields, source, settled, names=REACT_NAMES, question=question)


def _transcript(record: Record) -> tuple[str, str | list[Any]] | None:
    for name in _TEXT_FIELDS:
        value = record.get(name)
        if isinstance(value, str) and is_react(value):
            return name, value
        if isinstance(value, list) and any(_acts(message) for message in value):
            return name, value
    return None


def _acts(message: object) -> bool:
    if not isinstance(message, Mapping) or message.get("tool_calls"):
        return False
    text = text_of(message.get("content", message.get("value")))
    if (
        _role(message) not in ("assistant", "gpt", "ai")
        or "Action" not in text
        or any(tag in text for tag in CALL_TAGS)
    ):
        return False
    # Any agent may think in such words: here a tool is called, or an answer handed in.
    made = read_text(text, None).calls
    return any(submitted_answer(call) or REACT_NAMES.kind(call.name) not in (None, "other") for call in made)


# ---- the fields around the transcript


def _stated(record: Record) -> str:
    values = (record.get(name) for name in _QUESTION_FIELDS)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def _question(record: Record, asked: str | None, transcript: str) -> Question | None:
    key = record.get(RECORD_KEY)
    fields = {**record, "question": _stated(record) or asked}
    fields.setdefault("ground_truth", record.get("gt"))
    if isinstance(key, str):
        fields.setdefault("question_id", key)
    fields.pop(transcript, None)
    return question_of(fields)


def _handed_in(record: Record, final: str | None) -> str | None:
    """The answer; where the environment noted another one than the text seems to give, its note decides."""
    noted = record.get("pred")
    if not isinstance(noted, str) or (final and normalize_answer(noted).startswith(normalize_answer(final))):
        return final
    return noted if noted.strip() else None


# ---- the transcript


def _dialogue(transcript: str | list[Any], question: str) -> Dialogue:
    if isinstance(transcript, str):
        asked, text = _without_prompt(transcript, question)
        return read_text(text, asked)
    messages = [message for message in transcript if isinstance(message, Mapping)]
    users = (message for message in messages if _role(message) in ("user", "human"))
    first = next(users, {})
    asked, rest = _without_prompt(text_of(first.get("content", first.get("value"))), question)
    return read_messages(messages, asked or rest.strip())


def _role(message: Mapping[str, Any]) -> str:
    return cleaned(message.get("role", message.get("from")))


def _without_prompt(text: str, question: str) -> tuple[str | None, str]:
    """The question as the prompt asks it, and what follows; examples before it are not the agent speaking."""
    end = _END_OF_PROMPT.search(text)
    start = end.end() if end else 0
    if end and (told := _INSTRUCTION.search(text, 0, end.start())):
        return text[told.end() : end.start()].strip() or None, text[start:]
    if question and (at := text.find(f"Question: {question}", start)) >= 0:
        return question, text[at + len("Question: ") + len(question) :]
    if end and (asked := _QUESTION.search(text, start)):
        return asked[1].strip(), text[asked.end() :]
    last = deque(_ASKED.finditer(text, start), maxlen=1)
    return (last[0][1].strip(), text[last[0].end() :]) if last else (None, text[start:])
