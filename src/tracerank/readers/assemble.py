"""Events to a rollout: which return answers which call, what is a plan and what the answer, what the answer cites.

Knows none of the spellings of the formats; which calls are research and what they showed is settled in
``calls/assembly.py``.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.answers.extraction import extract_answer
from tracerank.pools.types import Question
from tracerank.pools.urls import canonical_url
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.assembly import rollout_of, unread
from tracerank.readers.chat_turns import Turns
from tracerank.readers.events import Called, Event, Returned, Said
from tracerank.readers.hosted import FILE_SEARCH, MAX_SPANS
from tracerank.readers.results import Result
from tracerank.readers.sources.loose_json import decoded_value
from tracerank.readers.sources.record_fields import (
    explicit_answer,
    final_text,
    label_of,
    question_of,
    sample_id_of,
    unasked_question,
)
from tracerank.readers.tools import (
    ToolCall,
    ToolNames,
    as_answer,
    clean_name,
    is_underway,
    names_in_use,
    parse_arguments,
    submitted_answer,
)
from tracerank.readers.values import plain_text

_NO_ANSWERS = frozenset(("[no prediction]", "[failed]", "server error", "no answer found.", "no valid answer found"))
_OVER = frozenset(("TERMINATE", "APPROVE", "APPROVED"))
"""What agents say to each other when all is said."""
_ANSWER_FIELDS = ("answer", "final_answer", "exact_answer", "short_answer", "response", "output", "result", "text")


@dataclass(slots=True)
class Pairing:
    """How returns found their calls."""

    by_id: int = 0
    by_order: int = 0
    strays: int = 0
    """Returns that no call asked for."""
    unreturned: int = 0
    """Calls that may be research and of which nothing came back."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What a transcript comes down to."""

    calls: tuple[ToolCall, ...] = ()
    """In the order in which they were made."""
    asked: str | None = None
    """What the user asked before the work began."""
    final: str | None = None
    """The agent's last words, from which the answer is extracted; None: it never answered."""
    plans: frozenset[str] = frozenset()
    """What was said before further research."""
    pairing: Pairing = field(default_factory=Pairing, compare=False)


class Assembly:
    """Takes events in the order in which they were logged and puts them together."""

    def __init__(self, names: ToolNames | None = None) -> None:
        self.pairing = Pairing()
        self._names = names
        self._calls: list[ToolCall] = []
        self._events: list[Called] = []
        self._index: dict[str, int] = {}  # id -> the latest call under it
        self._waiting: dict[int, str] = {}  # calls that have not returned, with their clean names
        self._unpaired: list[Returned] = []  # returns without an id, since the last other event
        self._cited: dict[str, Result] = {}
        self._turns = Turns()
        self._final: str | None = None
        self._plans: set[str] = set()
        self._said: dict[str, str] = {}  # id of a message -> its longest text
        self._heard: set[tuple[str, str]] = set()  # texts with the ids that they were said under

    def add(self, event: Event) -> None:
        """The next event."""
        if isinstance(event, Returned):
            self._return(event)
            return
        if self._unpaired:
            self._pair()
        if isinstance(event, Called):
            self._call(event)
        elif isinstance(event, Said):
            self._turns.reply()
            self._say(event)
        elif not self._calls or self._turns.question is None:
            self._turns.ask(event.text)

    def dialogue(self) -> Dialogue:
        """All that was said and done, each citation with the hosted call that showed its source."""
        self._pair()
        self.pairing.unreturned = sum(is_underway(name, {}) for name in self._waiting.values())
        calls = tuple(_with_citations(self._calls, self._cited))
        return Dialogue(calls, self._turns.question, self._final, frozenset(self._plans), self.pairing)

    def _call(self, event: Called) -> None:
        given = event.arguments
        arguments = given if type(given) is dict else parse_arguments(decoded_value(given))
        known = None if event.id is None else self._index.get(event.id)
        if known is not None and not (arguments and self._is_used(known, event.name, arguments)):
            if arguments and not self._calls[known].arguments:
                self._calls[known] = replace(self._calls[known], arguments=arguments)
            if self._final in self._plans:
                self._final = None  # the words before it were logged again, too
            return
        call = ToolCall(event.name, arguments, kind=event.kind, results=event.results)
        index = len(self._calls)
        self._calls.append(call)
        self._events.append(event)
        if event.id is not None:
            self._index[event.id] = index
        self._waiting[index] = clean_name(event.name)
        submitted = submitted_answer(call)
        if submitted is not None:
            self._final = submitted
        elif call.kind not in (None, "other") or is_underway(call.name, arguments, self._names):
            if self._final and self._final.strip():
                self._plans.add(self._final)
            self._final = None

    def _is_used(self, index: int, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether an id stands for another call now: the first one has returned, and asked for something else."""
        made = self._calls[index]
        return index not in self._waiting and (made.name != name or made.arguments != arguments)

    def _say(self, event: Said) -> None:
        text = self._whole(event) if event.id is not None else event.text
        if self._final is not None and text.strip(" .!*\n").upper() in _OVER:
            text = ""
        if event.is_final and text.strip():
            self._final = text
        for result in event.cited:
            key = _key(result)
            known = self._cited.get(key, result)
            spans = tuple(dict.fromkeys((*known.cited, *result.cited)))[:MAX_SPANS]
            self._cited[key] = replace(known, title=known.title or result.title, cited=spans)

    def _whole(self, event: Said) -> str:
        """The words of a message as far as they are known; empty for what was logged before."""
        assert event.id is not None
        text, before = event.text, self._said.get(event.id)
        if not text.strip() or (event.id, text) in self._heard:
            return ""
        self._heard.add((event.id, text))
        if before is None:
            self._said[event.id] = text
            return text
        if before.startswith(text) or (text.startswith(before) and before in self._plans):
            return ""
        if not text.startswith(before) and self._final == before:
            text = before + text  # its next part, with no call between them
        self._said[event.id] = text
        return text

    # ---- which call a return answers

    def _return(self, event: Returned) -> None:
        index = None if event.id is None else self._index.get(event.id)
        if index is None:
            self._unpaired.append(event)
        elif index in self._waiting:
            self.pairing.by_id += 1
            self._take(index, event)

    def _pair(self) -> None:
        """The returns without an id of a known call, in order, with the calls that wait for them."""
        returns, self._unpaired = self._unpaired, []
        if not returns:
            return
        waiting = [index for index in self._waiting if self._events[index].id is None]
        if not waiting and all(one.id is None for one in returns):
            waiting = list(self._waiting)
        if len(waiting) > len(returns):  # those before the latest turn stay unanswered
            turn = self._events[waiting[-1]].turn
            waiting = [index for index in waiting if self._events[index].turn == turn]
        for one in returns:
            name = clean_name(one.name)
            index = next((index for index in waiting if not name or self._waiting[index] == name), None)
            if index is None:
                self.pairing.strays += 1
                continue
            waiting.remove(index)
            self.pairing.by_order += 1
            self._take(index, one)

    def _take(self, index: int, event: Returned) -> None:
        del self._waiting[index]
        made = self._calls[index]
        results = event.results
        if results is None and (event.output is None or event.output == ""):
            results = made.results  # the call itself says what a hosted tool showed
        if event.is_error and results is not None:
            results = ()
        self._calls[index] = replace(
            made, output=event.output, is_error=event.is_error, artifact=event.artifact, results=results
        )


def dialogue_of(events: Iterable[Event], names: ToolNames | None = None) -> Dialogue:
    """What the events of a transcript come down to."""
    assembly = Assembly(names)
    for event in events:
        assembly.add(event)
    return assembly.dialogue()


def parsed_dialogue(
    record: Record,
    source: str,
    dialogue: Dialogue,
    *,
    names: ToolNames | None = None,
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
    used = names_in_use()
    if used.own:
        dialogue = replace(dialogue, calls=tuple(map(used.applied, dialogue.calls)))
    final = explicit_answer(record)
    if final is None:
        final = dialogue.final if dialogue.final and dialogue.final.strip() else final_text(record)
    final = _part_of(final) if final is not None else None
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


_answer_field: ContextVar[str] = ContextVar("answer field", default="")


@contextmanager
def answering_with(field: str) -> Iterator[None]:
    """Records that are read inside answer with this field of an answer that is an object."""
    token = _answer_field.set(field)
    try:
        yield
    finally:
        _answer_field.reset(token)


def _part_of(answer: str) -> str:
    """The field of a structured answer that the user wants; any other answer as it is."""
    field = _answer_field.get()
    value = decoded_value(answer.strip()) if field else None
    found = value.get(field) if isinstance(value, Mapping) else None
    return answer if found is None else as_answer(found)


def asked_question(fields: Record, asked: str | None = None) -> Question | None:
    """The question of a record; a line of a batch that does not say what was asked goes by its own id."""
    name = plain_text(fields.get("custom_id"))
    if not name:
        return question_of(fields, asked)
    # Beside it, 'id' is that of the request.
    rest = {key: value for key, value in fields.items() if key != "id"}
    return question_of(rest, asked) or question_of({"question_id": name})


def stated_answer(value: object) -> str | None:
    """The answer in the structured output of an agent, or in its plain text; None: nothing that could be one.

    An object that does not say which of its fields is the answer is the answer, as JSON.
    """
    if not isinstance(value, Mapping):
        return plain_text(value)
    if not _answer_field.get():
        named = (plain_text(value[name]) for name in _ANSWER_FIELDS if name in value)
        if (text := next((one for one in named if one is not None and one.strip()), None)) is not None:
            return text
        if len(value) == 1 and isinstance(only := next(iter(value.values())), str) and only.strip():
            return only
    return as_answer(value) if value else None


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
    for index in range(len(calls) - 1, -1, -1):
        call = calls[index]
        if call.results is not None and call.kind == "search" and (call.name == FILE_SEARCH) == is_file:
            calls[index] = replace(call, results=(*call.results, *rest))
            return
    if not is_file:
        calls.append(ToolCall("web_search", results=tuple(rest), kind="search"))


def _key(result: Result) -> str:
    url = canonical_url(result.url)
    return f"url:{url}" if url is not None else f"doc:{result.doc_id}"
