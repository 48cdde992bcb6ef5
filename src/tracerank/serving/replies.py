"""Completions of one request, sampled until it is clear which to return: answers by a method, tool calls by counting.

An answer is a rollout of the conversation: the tool messages before it and its citations are its evidence. A reply that
calls tools is no answer yet; it is compared by the names of the tools, then by their arguments. Knows nothing of HTTP.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tracerank.endpoints.chat import Usage, record_to_message, text_in
from tracerank.errors import MalformedRollout, ReadError, UsageError
from tracerank.pools.types import Question, Rollout
from tracerank.sampling.waves import Failure
from tracerank.serving.decider import Decider
from tracerank.serving.shapes import forced_function, message_in, messages_of
from tracerank.stopping.rules import BetaRule, Rule, State, Verdict
from tracerank.stopping.session import Session
from tracerank.votes.base import Method
from tracerank.votes.spans import decision_span

CALLS_AGREE = 0.9
"""Probability that the most frequent tools stay so at which sampling stops; three samples that agree are enough."""
NOT_CALIBRATED = "tool calls are counted, and how often such a choice is right is not known"
ALL_EMPTY = "no sample has an answer; the first is returned"

Completion = Mapping[str, Any]
Calls = tuple[tuple[str, str], ...]
"""Names and arguments of the calls in a reply, sorted."""


class Replies:
    """Takes samples and decides when there are enough."""

    def __init__(self, body: Mapping[str, Any], method: Method, rule: Rule, budget: int, decider: Decider) -> None:
        """``body``: the request."""
        self._body, self._messages, self._forced = body, messages_of(body), forced_function(body)
        self._budget = budget
        self._decider = decider
        self._calls_rule = BetaRule(CALLS_AGREE)
        self._texts = Session(Question("request", last_question(self._messages)), method, budget, rule)
        self._calls: dict[int, Calls] = {}
        self.completions: dict[int, Completion] = {}
        self.failures: list[Failure] = []

    def take(self, number: int, ended: "Completion | Failure") -> None:
        if isinstance(ended, Failure):
            self.failures.append(ended)
            return
        self.completions[number] = ended
        message = message_in(ended) or {}
        calls = calls_in(message)
        if calls and {name for name, _ in calls} != {self._forced}:
            self._calls[number] = calls
            return
        if calls:  # of the forced function: its arguments are the answer
            message = {"role": "assistant", "content": "\n".join(arguments for _, arguments in calls)}
        given: dict[str, Any] = {"messages": [*self._messages, *_cited(ended), message]}
        if "output" in ended and not calls:
            given = {"input": self._messages, "output": ended["output"]}
        try:
            self._decider.call(self._texts.add, {**given, "sample_id": number})
        except (MalformedRollout, ReadError, UsageError):  # then the text stands alone
            self._decider.call(self._texts.add, Rollout(number, text_in(message.get("content"))))

    def should_continue(self) -> Verdict:
        left = self._budget - len(self.completions) - len(self.failures)
        if left <= 0:
            return Verdict(False, f"all {self._budget} samples were drawn")
        if not self.completions:
            return Verdict(True, "nothing was sampled yet")
        if not self._are_calls:
            return self._texts.rule.verdict(self._texts.state, left)
        votes = sorted((*Counter(map(_names, self._calls.values())).values(), *self._texts.state.votes), reverse=True)
        return self._calls_rule.verdict(State(len(self.completions), tuple(votes)), left)

    def chosen(self) -> tuple[Completion, dict[str, Any]]:
        """The completion to return, and why; there must be one."""
        if self._are_calls:
            (number, agree), note = self._most_called(), NOT_CALIBRATED
            confidence = rank_score = None
        else:
            with decision_span(self._texts.method.name) as record:
                decision = self._decider.call(self._texts.decision)
                record(self._texts.pool, decision)
            confidence, rank_score, note = decision.confidence, decision.rank_score, decision.note or ""
            if decision.sample_id is None:
                number, agree, note = min(self.completions), 0, ALL_EMPTY
            else:
                number, agree = decision.sample_id, max(1, len(decision.group))
        return self.completions[number], {
            "chosen": number,
            "confidence": confidence,
            "rank_score": rank_score,
            "agree": agree,
            "groups": sorted((*Counter(self._calls.values()).values(), *self._texts.state.votes), reverse=True),
            "cost": _usage(self.completions.values()),
            "note": note,
        }

    @property
    def _are_calls(self) -> bool:
        """Whether more samples call tools than answer; the first sample breaks a tie."""
        answers = sum(self._texts.state.votes)
        if len(self._calls) != answers:
            return len(self._calls) > answers
        return bool(self._calls) and min(self._calls) == min(self.completions)

    def _most_called(self) -> tuple[int, int]:
        """The first sample with the most frequent calls of the most frequent tools, and how many make the same."""
        calls, same = self._calls, Counter(self._calls.values())
        tools = Counter(map(_names, calls.values()))
        number = max(calls, key=lambda one: (tools[_names(calls[one])], same[calls[one]], -one))
        return number, same[calls[number]]


def last_question(messages: Sequence[Any]) -> str:
    """The last user message with text."""
    users = (one for one in reversed(messages) if isinstance(one, Mapping) and one.get("role") == "user")
    texts = (text_in(one.get("content")) for one in users)
    return next((text for text in texts if text.strip()), "")


def calls_in(message: Mapping[str, Any]) -> Calls:
    """The tool calls of a reply, equal where they are the same call; empty for a reply in words."""
    return tuple(sorted((call.name, _same_json(call.arguments)) for call in record_to_message(message).tool_calls))


def _same_json(text: str) -> str:
    """JSON in one spelling; anything else as it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text.strip()


def _names(calls: Calls) -> tuple[str, ...]:
    return tuple(name for name, _ in calls)


def _cited(completion: Completion) -> list[dict[str, Any]]:
    """The sources that a server which searches by itself lists beside the reply, as the search that it made."""
    results = completion.get("search_results") or completion.get("citations")
    if not isinstance(results, list) or not results:
        return []
    listed = [{"url": one} if isinstance(one, str) else one for one in results]
    call = {"id": "hosted", "type": "function", "function": {"name": "web_search", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "hosted", "name": "web_search", "content": json.dumps(listed)},
    ]


def _usage(completions: Iterable[Completion]) -> dict[str, int] | None:
    """Tokens of all samples; None: the server does not count them."""
    counts = [one["usage"] for one in completions if isinstance(one.get("usage"), Mapping)]
    names = ("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")
    pairs = [tuple(map(one.get, names["input_tokens" in one])) for one in counts]
    total = Usage.total(Usage(*pair) for pair in pairs if all(isinstance(count, int) for count in pair))
    return None if total is None else asdict(total)
