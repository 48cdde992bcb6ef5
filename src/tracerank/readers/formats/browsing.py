"""Browsing rollouts: gpt-oss harmony messages, OpenAI tool calls and typed events of a search/open/find browser.

Holds the record's own fields: ids, question, answer, label. Messages are read in ``browser/events.py``. The candidate
answer is the whole final message, as in the paper; nothing is extracted from it.
"""

import re
from collections.abc import Mapping, Sequence
from reprlib import repr as short_repr

from tracerank.answers.exact import normalize_text
from tracerank.answers.text_keys import trimmed
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.browser.events import Conversation, call_names, read_messages, read_typed_events
from tracerank.readers.browser.views import read_views
from tracerank.readers.sources.record_fields import stated_references
from tracerank.readers.values import encodable, plain_text, text_of, tool_of, whole_number

_ID_FIELDS = ("qid", "question_id", "id")
_TEXT_FIELDS = ("question", "query")
_SAMPLE_FIELDS = ("sample_id", "traj_idx", "seed")
# The published browsing rollouts were sampled with the seeds 42, 43 and so on.
_FIRST_SEED = 42
_LABELS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "correct"), 1.0),
    **dict.fromkeys(("false", "0", "0.0", "no", "incorrect"), 0.0),
}
_CURSOR = re.compile(r"\s*\[\d+\]")
_VIEW = re.compile(r"\(web-search://|\n\s*\*\*viewing lines |\nL\d+:")


class BrowsingReader:
    """Reads one rollout of a browser agent per record."""

    name = "browsing"

    def recognises(self, record: Record) -> bool:
        """Whether the record holds browser calls, typed browser events or a harmony conversation without tools."""
        if not isinstance(record, Mapping):
            return False
        messages, events = record.get("messages"), record.get("tool_events")
        if isinstance(messages, list):
            return _are_browsing(messages)
        if isinstance(events, list):
            return not events or any(isinstance(event, dict) and tool_of(event.get("tool_type")) for event in events)
        return False

    def parse(self, record: Record, source: str) -> Parsed:
        """The record as a browsing rollout."""
        if not isinstance(record, Mapping):
            reject(f"a rollout must be an object, got {type(record).__name__}")
        question_id, text, sample_id = _question_id(record), _question_text(record), _sample_id(record)
        known = Question(question_id or normalize_text(text), text) if question_id or text else None
        problem = _problem(record)
        if problem is not None:
            reject(problem, known, sample_id)
        conversation = _conversation(record)
        text = text or encodable(conversation.question or "")
        if not text.strip():
            reject("no question: expected 'question', 'query' or a user message with text", known, sample_id)
        views, searches = read_views(conversation.events)
        rollout = Rollout(
            sample_id=sample_id or 0,
            answer=_answer(record, conversation),
            searches=searches,
            label=_label(record.get("correct")),
            setting=BROWSING,
            views=views,
            source=source,
        )
        question = Question(question_id or normalize_text(text), text, stated_references(record))
        return Parsed(question, rollout, is_numbered=sample_id is not None)


def _are_browsing(messages: Sequence[object]) -> bool:
    has_channels = has_cursors = has_views = has_returns = False
    tools: set[str] = set()
    for message in messages:
        if not isinstance(message, dict):
            continue
        for name in call_names(message):
            if tool := tool_of(name):
                if "browser" in name.lower():
                    return True
                tools.add(tool)
        if message.get("role") == "tool":
            has_returns = True
            content = text_of(message.get("content"))
            if _CURSOR.match(content):
                has_cursors, has_views = True, has_views or _VIEW.search(content) is not None
        has_channels = has_channels or isinstance(message.get("channel"), str)
    # Any agent may call its tool "search", and number what it found; only this browser returns numbered *views*, or
    # has more tools than that.
    is_browser = has_cursors and bool(tools) and (has_views or len(tools) > 1)
    return is_browser or (has_channels and not has_returns)


def _first_given(record: Record, names: Sequence[str]) -> tuple[str, object]:
    """The first of the fields that is not null, else the last name and None: tables fill absent fields with null."""
    for name in names:
        value = record.get(name)
        if value is not None:
            return name, value
    return names[-1], None


def _question_id(record: Record) -> str:
    _, value = _first_given(record, _ID_FIELDS)
    if isinstance(value, str):
        return encodable(value.strip())
    number = whole_number(value)
    return "" if number is None else str(number)


def _question_text(record: Record) -> str:
    _, value = _first_given(record, _TEXT_FIELDS)
    return encodable(value) if isinstance(value, str) and value.strip() else ""


def _sample_id(record: Record) -> int | None:
    name, value = _first_given(record, _SAMPLE_FIELDS)
    number = whole_number(value)
    return number - _FIRST_SEED if number is not None and name == "seed" else number


def _problem(record: Record) -> str | None:
    """Why the record cannot be a rollout, in terms of its fields."""
    name, value = _first_given(record, _ID_FIELDS)
    if not (value is None or isinstance(value, str) or whole_number(value) is not None):
        return f"field {name!r} must be text or a whole number, got {_shown(value)}"
    name, value = _first_given(record, _TEXT_FIELDS)
    if not (value is None or isinstance(value, str)):
        return f"field {name!r} must be text, got {type(value).__name__}"
    name, value = _first_given(record, _SAMPLE_FIELDS)
    if not (value is None or whole_number(value) is not None):
        return f"field {name!r} must be a whole number, got {_shown(value)}"
    name, value = _first_given(record, ("messages", "tool_events"))
    if value is None:
        return "a browsing rollout needs a list 'messages' or 'tool_events'"
    if not isinstance(value, list):
        return f"field {name!r} must be a list, got {type(value).__name__}"
    name, value = _first_given(record, _answer_fields(record))
    if not (value is None or plain_text(value) is not None):
        return f"field {name!r} must be text, got {type(value).__name__}"
    return None


def _shown(value: object) -> str:
    return short_repr(value) if isinstance(value, str | float) else type(value).__name__


def _conversation(record: Record) -> Conversation:
    if record.get("messages") is not None:
        return read_messages(record["messages"])
    return Conversation(read_typed_events(record["tool_events"]), question=None, answer=None)


def _answer_fields(record: Record) -> tuple[str, ...]:
    # Beside messages, 'answer' is the reference in published logs: never the candidate.
    said = ("candidate_answer", "final_answer")
    return said if record.get("messages") is not None else (*said, "answer")


def _answer(record: Record, conversation: Conversation) -> str | None:
    answer = plain_text(_first_given(record, _answer_fields(record))[1])
    if answer is None:
        answer = conversation.answer
    return None if answer is None else encodable(trimmed(answer))


def _label(value: object) -> float | None:
    if isinstance(value, str):
        return _LABELS.get(value.strip().lower())
    return float(value) if isinstance(value, int | float) and value in (0, 1) else None
