"""Completions of one request, sampled until it is clear which to return: answers by a selector, calls by their names.

Words are rollouts of the conversation: the tool messages in it and the citations in the reply are their evidence. A
reply that calls tools answers nothing yet; it is compared with others by the names of the tools, then by the arguments.
Knows nothing of HTTP.
"""

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from tracerank.endpoints.chat import ToolCall, Usage, record_to_message, text_in
from tracerank.errors import MalformedRollout, ReadError, UsageError
from tracerank.pools.types import Question
from tracerank.sampling.waves import Failure
from tracerank.stopping.rules import BetaRule, Rule, State, Verdict
from tracerank.stopping.session import Session
from tracerank.votes.base import Escalation, Method

CALLS_AGREE = 0.9
"""How sure the most frequent tools must be to stay so; three samples that agree are enough."""
NOT_CALIBRATED = "tool calls are counted, and how often such a choice is right is not known"
ALL_EMPTY = "no sample has an answer; the first is returned"
WRITTEN_ANEW = "it wrote an answer of its own, and only completions are returned, so the first choice stays"

H = TypeVar("H", bound=Hashable)
Completion = Mapping[str, Any]
Called = tuple[tuple[str, str], ...]
"""Names and arguments of the calls in a reply, in an order of their own."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The completion to return, and how it came to it."""

    completion: Completion
    number: int
    """Of the sample, from 0."""
    confidence: float | None
    groups: tuple[int, ...]
    """Samples of each meaning or of the same calls, the largest first."""
    agree: int
    """How many samples say or call the same as the one that is returned, itself among them."""
    note: str | None
    escalated: Escalation | None = None
    """That another method was asked which it should be."""


class Replies:
    """Takes samples and says when there are enough."""

    def __init__(self, messages: Sequence[Any], method: Method, rule: Rule | None, budget: int, turn: Lock) -> None:
        """``turn`` is held while something is decided: a method need not be safe to share."""
        self._messages = messages
        self._budget = budget
        self._turn = turn
        self._calls_rule = BetaRule(CALLS_AGREE)
        self._texts = Session(Question("request", last_question(messages)), method, budget, rule)
        self._text_numbers: list[int] = []
        self._called: dict[int, Called] = {}
        self.completions: dict[int, Completion] = {}
        self.failures: list[Failure] = []

    def take(self, number: int, ended: "Completion | Failure") -> None:
        if isinstance(ended, Failure):
            self.failures.append(ended)
            return
        self.completions[number] = ended
        message = ended["choices"][0]["message"]
        if called := calls_in(message):
            self._called[number] = called
            return
        self._text_numbers.append(number)
        with self._turn:
            try:
                self._texts.add({"messages": [*self._messages, *_hosted(ended), {**message, "role": "assistant"}]})
            except (MalformedRollout, ReadError, UsageError):  # then what was said stands alone
                self._texts.add(text_in(message.get("content")))

    def should_continue(self) -> Verdict:
        left = self._budget - len(self.completions) - len(self.failures)
        if left <= 0:
            return Verdict(False, f"all {self._budget} samples were drawn")
        if not self.completions:
            return Verdict(True, "nothing was sampled yet")
        if self._are_calls:
            named = Counter(_names(called) for called in self._called.values())
            votes = sorted((*named.values(), *self._texts.state.votes), reverse=True)
            return self._calls_rule.verdict(State(len(self.completions), tuple(votes)), left)
        return self._texts.rule.verdict(self._texts.state, left)

    @property
    def usage(self) -> Usage | None:
        """Tokens of all samples, as far as the server counts; None: it does not."""
        known = [found for one in self.completions.values() if (found := _usage(one)) is not None]
        return sum(known[1:], start=known[0]) if known else None

    def chosen(self) -> Chosen:
        """The completion to return; there must be one."""
        if self._are_calls:
            number, agree = self._most_called()
            note, confidence, escalated = NOT_CALIBRATED, None, None
        else:
            with self._turn:
                decision = self._texts.decision()
            note, confidence, escalated = decision.note or "", decision.confidence, decision.escalated
            if decision.sample_id is None and escalated is not None:
                decision, note = escalated.before, f"{note}; {WRITTEN_ANEW}"
            if decision.sample_id is None:
                first = min(self.completions)
                return Chosen(self.completions[first], first, None, self._groups(), 0, ALL_EMPTY)
            number, agree = self._text_numbers[decision.sample_id], max(1, len(decision.group))
        return Chosen(self.completions[number], number, confidence, self._groups(), agree, note or None, escalated)

    @property
    def _are_calls(self) -> bool:
        """Whether more samples call tools than answer; a tie goes to the kind of the first."""
        answered = sum(self._texts.state.votes)
        if len(self._called) != answered:
            return len(self._called) > answered
        return bool(self._called) and min(self._called) == min(self.completions)

    def _most_called(self) -> tuple[int, int]:
        """The first sample of the most frequent calls by the most frequent tools, and how many call the same."""
        ordered = dict(sorted(self._called.items()))
        tools = _most_common([_names(called) for called in ordered.values()])
        same = {number: called for number, called in ordered.items() if _names(called) == tools}
        calls = _most_common(list(same.values()))
        numbers = [number for number, called in same.items() if called == calls]
        return min(numbers), len(numbers)

    def _groups(self) -> tuple[int, ...]:
        return tuple(sorted((*Counter(self._called.values()).values(), *self._texts.state.votes), reverse=True))


def last_question(messages: Sequence[Any]) -> str:
    """What the user asked last."""
    asked = (text_in(one.get("content")) for one in reversed(messages) if _role(one) == "user")
    return next((text for text in asked if text.strip()), "")


def calls_in(message: Mapping[str, Any]) -> Called:
    """The calls of a reply, alike where they are the same call; none where it is in words."""
    made = record_to_message(message).tool_calls
    legacy = message.get("function_call")
    if not made and isinstance(legacy, Mapping) and isinstance(legacy.get("name"), str):
        made = (ToolCall("", legacy["name"], str(legacy.get("arguments", ""))),)
    return tuple(sorted((call.name, _same_json(call.arguments)) for call in made))


def _same_json(text: str) -> str:
    """JSON in one spelling; what is none, as it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text.strip()


def _names(called: Called) -> tuple[str, ...]:
    return tuple(name for name, _ in called)


def _most_common(values: Sequence[H]) -> H:
    """Of several, the one that comes first."""
    [(value, _)] = Counter(values).most_common(1)
    return value


def _hosted(completion: Completion) -> list[dict[str, Any]]:
    """What a server that searches by itself lists beside the reply, as the search that it was."""
    results = completion.get("search_results") or completion.get("citations")
    if not isinstance(results, list) or not results:
        return []
    listed = [{"url": one} if isinstance(one, str) else one for one in results]
    call = {"id": "hosted", "type": "function", "function": {"name": "web_search", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "hosted", "name": "web_search", "content": json.dumps(listed)},
    ]


def _usage(completion: Completion) -> Usage | None:
    counts = completion.get("usage")
    if not isinstance(counts, Mapping):
        return None
    prompt, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return Usage(prompt, written) if isinstance(prompt, int) and isinstance(written, int) else None


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, Mapping) else None
