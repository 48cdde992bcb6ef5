"""Inspect AI samples: one rollout a sample and epoch, of what ``archives.py`` or a ``.json`` log gives.

Scores are read as labels only: their answers and explanations were written by a scorer that saw the target. Metadata,
the store and events, which repeat the messages, are not read.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.readers.assemble import parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.sources.record_fields import label_value, question_of
from tracerank.readers.values import text_of, whole_number
from tracerank.readers.walk import read_anything

_ATTACHED = ("attachment://", "tc://")
_MAX_DEPTH = 8
# Correct, incorrect, partial, no answer.
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


class InspectReader:
    """One rollout a sample; the epochs of a sample are the rollouts of its question."""

    name = "inspect"

    def recognises(self, record: Record) -> bool:
        """By an id, an epoch, a target and messages."""
        is_sample = isinstance(record, Mapping) and all(key in record for key in ("id", "epoch", "input", "target"))
        return is_sample and isinstance(record.get("messages"), list)

    def parse(self, record: Record, source: str) -> Parsed:
        """The sample as a rollout; the answer is extracted from the last message or from what was submitted."""
        attachments = record.get("attachments")
        texts = attachments if isinstance(attachments, Mapping) else {}
        asked, sample_id = _resolved(record.get("input"), texts), whole_number(record.get("epoch"))
        if isinstance(asked, list):
            users = (one for one in asked if isinstance(one, Mapping) and one.get("role") == "user")
            asked = text_of(next(users, {}).get("content"))
        about = {"question_id": record.get("id"), "question": asked, "references": record.get("target")}
        if not isinstance(record.get("messages"), list):
            reject("field 'messages': expected a list", question_of(about), sample_id)
        said = {"messages": _resolved(record["messages"], texts), "output": _resolved(_last(record), texts)}
        dialogue = read_anything(said).dialogue
        question, label = question_of(about, dialogue.asked), _label(record.get("scores"))
        return parsed_dialogue({}, source, dialogue, question=question, sample_id=sample_id, label=label)


def _last(record: Record) -> object:
    """What the model said last, where the messages end without it; words beside a call are a plan."""
    output = record.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return message if isinstance(message, Mapping) and not message.get("tool_calls") else None


def _resolved(value: Any, attachments: Mapping[str, Any], depth: int = _MAX_DEPTH) -> Any:
    """A value whose long texts stand elsewhere in the sample; only a text that is nothing but a reference is one."""
    if isinstance(value, str):
        name = next((value.removeprefix(one) for one in _ATTACHED if value.startswith(one)), None)
        text = None if name is None else attachments.get(name)
        return text if isinstance(text, str) else value
    if not attachments or not depth:
        return value
    if isinstance(value, list):
        return [_resolved(item, attachments, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {key: _resolved(inner, attachments, depth - 1) for key, inner in value.items()}
    return value


def _label(scores: object) -> float | None:
    """The first score that says whether the answer is correct; None: unscored."""
    for score in scores.values() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping) and len(value) == 1:
            (value,) = value.values()
        label = _GRADES.get(value) if isinstance(value, str) else None
        label = label_value(value) if label is None else label
        if label is not None:
            return label
    return None
