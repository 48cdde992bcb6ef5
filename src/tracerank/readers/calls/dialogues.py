"""A dialogue: the calls, the question and the last words that a transcript comes down to, and the rollout it makes.

The builder puts one together piece by piece: calls that wait for their returns, citations, words. Knows none of the
spellings of the message formats; what the calls are worth is settled in ``assembly.py``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.answers.extraction import extract_answer
from tracerank.pools.types import Question
from tracerank.pools.urls import canonical_url
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.assembly import rollout_of, unread
from tracerank.readers.calls.tool_calls import TOOL_NAMES, ToolCall, ToolNames, is_underway, submitted_answer
from tracerank.readers.files.record_fields import (
    explicit_answer,
    final_text,
    label_of,
    question_of,
    sample_id_of,
    unasked_question,
)
from tracerank.readers.results import Result
from tracerank.readers.values import plain_text, whole_number

FILE_SEARCH = "file_search"
_MOST_SPANS = 20
"""Of one source; every search that lists it repeats them."""
_NO_ANSWERS = frozenset(("[no prediction]", "[failed]", "server error", "no answer found.", "no valid answer found"))
_ANSWER_FIELDS = ("answer", "final_answer", "exact_answer", "short_answer", "response", "output", "result", "text")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What a transcript comes down to."""

    calls: tuple[ToolCall, ...] = ()
    """In the order in which they were made."""
    asked: str | None = None
    """Text of the first user message."""
    final: str | None = None
    """The agent's last words, from which the answer is extracted; None: it never answered."""


class DialogueBuilder:
    """Takes the pieces in the order in which they were logged."""

    def __init__(self, names: ToolNames = TOOL_NAMES) -> None:
        self._names = names
        self._calls: list[ToolCall] = []
        self._waiting: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._cited: dict[str, Result] = {}
        self._asked = ""
        self._final: str | None = None
        self._plans: set[str | None] = set()

    def ask(self, text: str) -> None:
        """What a user said; the first words are the question."""
        self._asked = self._asked if self._asked.strip() else text

    def call(self, call: ToolCall, call_id: object = None) -> bool:
        """A call; whether it is research, before which words are a plan and not the answer."""
        key = _id(call_id)
        self._places[key] = self._waiting[key] = len(self._calls)
        self._calls.append(call)
        submitted = submitted_answer(call)
        if submitted is not None:
            self._final = submitted
            return False
        is_research = call.kind not in (None, "other") or is_underway(call.name, call.arguments, self._names)
        if is_research:
            self._plans.add(self._final)
            self._final = None
        return is_research

    @property
    def plans(self) -> frozenset[str]:
        """What was said before further research."""
        return frozenset(plan for plan in self._plans if plan and plan.strip())

    def knows(self, call_id: object) -> bool:
        """Whether a call of this id was made, which formats that log calls twice ask."""
        return _id(call_id) in self._places

    @property
    def has_answer(self) -> bool:
        """Whether something was said, or handed in, since the last search."""
        return self._final is not None

    def recall(self, call_id: object) -> None:
        """A call that is logged once more: words that were a plan before it are one again."""
        if _id(call_id) in self._places and self._final in self._plans:
            self._final = None

    def give(self, call_id: object, arguments: Mapping[str, Any]) -> None:
        """The arguments of a call that was logged before they were known."""
        place = self._places.get(_id(call_id))
        if place is not None:
            self._calls[place] = replace(self._calls[place], arguments=arguments)

    def returned(
        self,
        call_id: object,
        output: object = None,
        *,
        is_error: bool = False,
        artifact: object = None,
        results: tuple[Result, ...] | None = None,
    ) -> None:
        """What a call brought back; a return that no waiting call asked for is nobody's."""
        place = self._waiting.pop(_id(call_id), None)
        if place is None:
            return
        made = self._calls[place]
        if results is None and output is None:
            results = made.results  # the call itself says what a hosted tool showed
        if is_error and results is not None:
            results = ()
        self._calls[place] = replace(made, output=output, is_error=is_error, artifact=artifact, results=results)

    def say(self, text: str, cited: Iterable[Result] = (), *, is_final: bool = True) -> None:
        """What the agent said to the user, and the sources that it cites there."""
        if is_final and text.strip():
            self._final = text
        for result in cited:
            key = _key(result)
            known = self._cited.get(key, result)
            spans = tuple(dict.fromkeys((*known.cited, *result.cited)))[:_MOST_SPANS]
            self._cited[key] = replace(known, title=known.title or result.title, cited=spans)

    def dialogue(self) -> Dialogue:
        """All that was said and done, each citation with the hosted call that showed its source."""
        return Dialogue(tuple(_with_citations(self._calls, self._cited)), self._asked or None, self._final)


def parsed_dialogue(
    record: Record,
    source: str,
    dialogue: Dialogue,
    *,
    names: ToolNames = TOOL_NAMES,
    question: Question | None = None,
    sample_id: int | None = None,
    label: float | None = None,
) -> Parsed:
    """A transcript and the fields around it as a rollout; what a reader knows better than the table is passed in."""
    question = question or question_of(record, dialogue.asked)
    if question is None:
        if not dialogue.calls:
            reject("no question: expected 'question', 'query', a question id or a user message with text")
        question = unasked_question(record)
    if sample_id is None:
        sample_id = sample_id_of(record)
    final = explicit_answer(record)
    if final is None:
        final = dialogue.final if dialogue.final and dialogue.final.strip() else final_text(record)
    found = None if final is None or normalize_text(final).lower() in _NO_ANSWERS else extract_answer(final)
    rollout = rollout_of(
        dialogue.calls,
        found.answer if found else None,
        sample_id=sample_id,
        label=label_of(record) if label is None else label,
        confidence=found.confidence if found else None,
        source=source,
        names=names,
    )
    doubt = unread(dialogue.calls, rollout.searches, names)
    return Parsed(question, rollout, is_numbered=sample_id is not None, doubt=doubt)


def asked_question(fields: Record, asked: str | None = None) -> Question | None:
    """The question of a record; a line of a batch that does not say what was asked goes by its own id."""
    name = plain_text(fields.get("custom_id"))
    if not name:
        return question_of(fields, asked)
    # Beside it, 'id' is that of the request.
    rest = {key: value for key, value in fields.items() if key != "id"}
    return question_of(rest, asked) or question_of({"question_id": name})


def stated_answer(value: object) -> str | None:
    """The answer in the structured output of an agent, or in its plain text; None: nothing that could be one."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in _ANSWER_FIELDS if plain_text(value.get(name)) is not None), None)
    return plain_text(value)


def _with_citations(calls: list[ToolCall], cited: Mapping[str, Result]) -> list[ToolCall]:
    if not cited:
        return calls
    shown: set[str] = set()
    cited_calls: list[ToolCall] = []
    for call in calls:
        if call.results:
            keys = [_key(result) for result in call.results]
            shown.update(keys)
            pairs = zip(call.results, keys, strict=True)
            call = replace(call, results=tuple(_cited(result, cited.get(key)) for result, key in pairs))
        cited_calls.append(call)
    for is_file in (False, True):
        rest = [found for key, found in cited.items() if key not in shown and (found.url is None) == is_file]
        if rest:
            _add_cited(cited_calls, rest, is_file)
    return cited_calls


def _cited(result: Result, also: Result | None) -> Result:
    if also is None:
        return result
    return replace(result, title=result.title or also.title, cited=(*result.cited, *also.cited))


def _add_cited(calls: list[ToolCall], rest: list[Result], is_file: bool) -> None:
    """Sources that no call lists: they came from the last hosted search, which does not say what it found."""
    for place in range(len(calls) - 1, -1, -1):
        call = calls[place]
        if call.results is not None and call.kind == "search" and (call.name == FILE_SEARCH) == is_file:
            calls[place] = replace(call, results=(*call.results, *rest))
            return
    if not is_file:
        calls.append(ToolCall("web_search", results=tuple(rest), kind="search"))


def _key(result: Result) -> str:
    url = canonical_url(result.url)
    return f"url:{url}" if url is not None else f"doc:{result.doc_id}"


def _id(value: object) -> str:
    """An id as text; empty for a call without one, which the next return without one answers."""
    number = whole_number(value)
    return str(number) if number is not None else value if isinstance(value, str) else ""
