"""AggAgent: a model examines the rollouts through tools, one call at a time, and hands in an answer (App. A.2).

It may look at solutions, search a trajectory, read a segment, finish. A call never raises: what is wrong with it is
told to the model as the tool's return. Returns are JSON in which the texts of others are quoted.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tracerank.answers.scripts import UNSPACED
from tracerank.endpoints.chat import (
    ChatMessage,
    ChatModel,
    ChatReply,
    ChatTool,
    EmptyReply,
    PromptTooLong,
    Sampling,
    ToolCall,
    arguments_schema,
    estimated_tokens,
    number_argument,
    text_argument,
)
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.methods.aggregation.asking import (
    AskingMethod,
    CountedChat,
    accepted_answer,
    cut_words,
    quoted,
    room_in,
    written_decision,
)
from tracerank.methods.aggregation.transcripts import Step, described, solution_of, steps_of
from tracerank.methods.base import Decision
from tracerank.methods.prompts import prompt_text
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule

_TERM = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_LONGEST_QUERY = 200
ROLES = ("assistant", "tool")


def _object(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return arguments_schema(required, **properties) | {"additionalProperties": False}


FINISH = ChatTool(
    "finish",
    "Hands in the answer and ends the work.",
    _object(
        ("solution", "reason"),
        solution=text_argument("Why this is the answer, then the short answer inside answer tags: <answer>…</answer>"),
        reason=text_argument("How the trajectories were weighed and conflicts settled."),
    ),
)


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """How much a tool shows at most."""

    matches: int = 10
    """Steps that a search returns; k is cut to it."""
    usual_matches: int = 5
    """When the call names no k."""
    excerpt_words: int = 150
    """Of each step that a search returns."""
    segment_steps: int = 5
    segment_words: int = 600
    """Of each step of a segment."""
    solution_words: int = 1_000
    """Of each solution."""

    def tools(self) -> tuple[ChatTool, ...]:
        """The tools as the model is told of them."""
        which = number_argument("Number of the trajectory, from 1.")
        search = _object(
            ("trajectory", "query"),
            trajectory=which,
            query=text_argument("Words to look for."),
            role={"type": "string", "enum": list(ROLES), "description": "Only steps of this role; leave out for all."},
            k=number_argument(f"Most steps to return: {self.usual_matches} if left out, at most {self.matches}."),
        )
        segment = _object(
            ("trajectory", "start", "end"),
            trajectory=which,
            start=number_argument("First step, from 1."),
            end=number_argument(f"Last step; at most {self.segment_steps} steps are shown."),
        )
        solution = _object((), trajectory=number_argument("Number of the trajectory, from 1; leave out for all."))
        return (
            ChatTool("get_solution", "Shows the final words of one trajectory, or of all.", solution),
            ChatTool("search_trajectory", "Finds the steps of one trajectory that mention given words.", search),
            ChatTool("get_segment", "Shows steps of one trajectory in order.", segment),
            FINISH,
        )


class _Wrong(Exception):
    """What the model has to be told about its call."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One rollout as the tools see it."""

    solution: str
    steps: tuple[Step, ...]


class TrajectoryTools:
    """The tools that look, over the trajectories of one question."""

    def __init__(self, trajectories: Sequence[Trajectory], limits: ToolLimits) -> None:
        self.trajectories = trajectories
        self.limits = limits
        self._named: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "get_solution": self._solutions,
            "search_trajectory": self._search,
            "get_segment": self._segment,
        }

    def run(self, name: str, arguments: Mapping[str, Any] | None) -> str:
        """What the call gives, or what is wrong with it, as JSON."""
        if arguments is None:
            return wrong("the arguments are no JSON object")
        tool = self._named.get(name)
        if tool is None:
            return wrong(f"there is no tool of this name; there are {', '.join([*self._named, FINISH.name])}")
        try:
            return quoted(tool(arguments))
        except _Wrong as error:
            return wrong(str(error))

    def _solutions(self, arguments: Mapping[str, Any]) -> object:
        if arguments.get("trajectory") is None:
            numbers = list(range(1, len(self.trajectories) + 1))
        else:
            numbers = [self._chosen(arguments)]
        return [{"trajectory": number, "solution": self._solution(number)} for number in numbers]

    def _solution(self, number: int) -> str:
        return cut_words(self.trajectories[number - 1].solution, self.limits.solution_words)

    def _search(self, arguments: Mapping[str, Any]) -> object:
        number = self._chosen(arguments)
        query, role = arguments.get("query"), arguments.get("role")
        wanted = terms(query)[:_LONGEST_QUERY] if isinstance(query, str) else []
        if not wanted:
            raise _Wrong("'query' must be a text with at least one word")
        if role is not None and role not in ROLES:
            raise _Wrong(f"'role' must be one of {', '.join(ROLES)}, or left out")
        most = max(1, min(_integer(arguments, "k", self.limits.usual_matches), self.limits.matches))
        found = [
            (place, step, rouge_recall(wanted, step.text))
            for place, step in enumerate(self.trajectories[number - 1].steps, start=1)
            if role is None or step.role == role
        ]
        best = sorted((row for row in found if row[2] > 0), key=lambda row: -row[2])[:most]  # equals: the earlier step
        if not best:
            return {"matches": [], "hint": "no step has any of these words; try others, or another trajectory"}
        return {"matches": [_shown(place, step, self.limits.excerpt_words, recall) for place, step, recall in best]}

    def _segment(self, arguments: Mapping[str, Any]) -> object:
        steps = self.trajectories[self._chosen(arguments) - 1].steps
        start = min(max(1, _integer(arguments, "start")), len(steps))
        end = min(max(start, _integer(arguments, "end")), start + self.limits.segment_steps - 1)
        shown = [
            _shown(place, steps[place - 1], self.limits.segment_words)
            for place in range(start, min(end, len(steps)) + 1)
        ]
        return {"steps": shown, "of": len(steps)}

    def _chosen(self, arguments: Mapping[str, Any]) -> int:
        number = _integer(arguments, "trajectory")
        if not 1 <= number <= len(self.trajectories):
            raise _Wrong(f"'trajectory' must lie between 1 and {len(self.trajectories)}")
        return number


def read_arguments(call: ToolCall) -> dict[str, Any] | None:
    """The call's arguments; None: they are no JSON object."""
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def wrong(what: str) -> str:
    """The return of a call that could not be carried out."""
    return quoted({"error": what})


def terms(text: str) -> list[str]:
    """The words of a text in lower case; characters of scripts without spaces one by one."""
    return _TERM.findall(text.lower())


def rouge_recall(wanted: Sequence[str], text: str) -> float:
    """ROUGE-L recall: the share of the wanted words that the text has in the same order."""
    return int(longest_common()(wanted, terms(text))) / len(wanted)


def longest_common() -> Callable[[Sequence[str], Sequence[str]], int]:
    """The length of the longest common subsequence, from the library that has it fastest."""
    with needed("AggAgent searches with", "aggregation", UsageError):
        from rapidfuzz.distance import LCSseq
    return LCSseq.similarity


def _shown(place: int, step: Step, words: int, recall: float | None = None) -> dict[str, object]:
    shown: dict[str, object] = {"step": place, "role": step.role}
    if recall is not None:
        shown["score"] = round(recall, 3)
    return shown | {"text": cut_words(step.text, words)}


def _integer(arguments: Mapping[str, Any], name: str, otherwise: int | None = None) -> int:
    """A whole number, which models also write as text or with a point."""
    value = arguments.get(name, otherwise)
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]{1,9}\s*", value):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return int(value)
    if type(value) is int:
        return value
    raise _Wrong(f"{name!r} must be a whole number")


_NO_TOOL_NAME = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class AggAgentConfig:
    """How AggAgent works."""

    max_tokens: int = 10_000
    """Of each reply."""
    temperature: float = 1.0
    top_p: float | None = 0.95
    seed: int | None = 0
    """None: the server's own, another each time; replies are then not repeatable."""
    max_steps: int = 100
    """Replies of the model, the forced one aside."""
    token_cap: int = 100 * 1024
    """Tokens of the conversation from which it is made to finish; the context must hold them and a reply."""
    limits: ToolLimits = field(default_factory=ToolLimits)
    concurrency: int = 4
    """Questions under way at once."""
    rule: RetentionRule | None = None
    """Which rollouts are read; None: those that the pool's setting retains, as in the paper."""

    def within(self, context: int) -> "AggAgentConfig":
        """The same for a model that holds so many tokens."""
        reply = min(self.max_tokens, room_in(context).reply_tokens)
        return replace(self, max_tokens=reply, token_cap=min(self.token_cap, context - 2 * reply))

    def sampling(self) -> Sampling:
        return Sampling(self.max_tokens, self.temperature, self.top_p, self.seed)


class AggAgent(AskingMethod):
    """A tool loop over the trajectories."""

    name = "aggagent"

    def __init__(self, chat: ChatModel, config: AggAgentConfig | None = None) -> None:
        longest_common()  # what is missing is said before anything is paid for
        self.config = config or AggAgentConfig()
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        trajectories = [Trajectory(solution_of(rollout), steps_of(rollout)) for rollout in retained.kept]
        run = _Run(chat, self.config, pool.question.text, trajectories)
        end = run.to_its_end()
        return written_decision(pool, retained, end.answer, chat.usage, end.note)


@dataclass(frozen=True, slots=True)
class _End:
    answer: str | None
    note: str | None


class _Run:
    """One question's conversation."""

    def __init__(
        self, chat: CountedChat, config: AggAgentConfig, question: str, trajectories: list[Trajectory]
    ) -> None:
        self._chat = chat
        self._config = config
        self._tools = TrajectoryTools(trajectories, config.limits)
        self._first_solution: str | None = None
        """Of the first finish call, accepted or not."""
        lines = [f"Trajectory {place}: {described(one.steps)}" for place, one in enumerate(trajectories, start=1)]
        asked = prompt_text("aggagent_user").format(
            question=quoted(question), count=len(trajectories), trajectories="\n".join(lines)
        )
        self._messages = [
            ChatMessage("system", prompt_text("aggagent_system")),
            ChatMessage("user", asked),
        ]
        self._tokens = 0

    def to_its_end(self) -> _End:
        tools = self._config.limits.tools()
        for step in range(self._config.max_steps):
            try:
                answer = self._step(tools)
            except PromptTooLong:
                if not step:  # then no run can work, and the user has to know
                    raise
                return _End(None, f"terminated at step {step + 1}: the conversation no longer fits the model's context")
            if answer is not None:
                return _End(answer, None)
            if self._tokens > self._config.token_cap:
                return self._forced(step + 1)
        return self._unaccepted(f"no answer accepted in {self._config.max_steps} steps")

    def _forced(self, steps: int) -> _End:
        """One more reply, in which only finish may be called."""
        why = f"made to finish after {steps} steps at {self._tokens:,} tokens"
        self._add(ChatMessage("user", prompt_text("aggagent_finish")))
        try:
            answer = self._step((FINISH,))
        except PromptTooLong:
            return _End(None, f"{why}; terminated: the conversation no longer fits the model's context")
        return self._unaccepted(why) if answer is None else _End(answer, why)

    def _unaccepted(self, why: str) -> _End:
        """A run that completed without an accepted answer: its first solution stands as it was written."""
        if self._first_solution is None:
            return _End(None, f"{why}; finish was never called")
        return _End(self._first_solution, f"{why}; the first solution handed in, taken verbatim")

    def _step(self, tools: tuple[ChatTool, ...]) -> str | None:
        """One reply and what its call gives back; the answer once one is accepted."""
        try:
            reply = self._chat.reply(self._messages, self._config.sampling(), tools)
        except EmptyReply as error:
            reply = error.reply
        if not reply.tool_calls:
            self._add(ChatMessage("assistant", reply.text.strip() or "(nothing)"), reply)
            self._add(ChatMessage("user", prompt_text("aggagent_nudge")))
            return None
        # One call at a time, as AggAgent's authors have it: the rest is dropped.
        call = reply.tool_calls[0]
        arguments = read_arguments(call)
        name = _NO_TOOL_NAME.sub("", call.name)[:64] or "unnamed"
        # Servers parse the arguments of earlier calls again, so what is no JSON must not go back to them.
        repeated = ToolCall(call.id, name, json.dumps(arguments or {}))
        self._add(ChatMessage("assistant", reply.text, (repeated,)), reply)
        if name == FINISH.name and arguments is not None:
            answer, returned = self._finish(arguments.get("solution"))
        else:
            answer, returned = None, self._tools.run(name, arguments)
        self._add(ChatMessage("tool", returned, tool_call_id=call.id))
        return answer

    def _finish(self, solution: object) -> tuple[str | None, str]:
        if not isinstance(solution, str) or not solution.strip():
            return None, wrong("'solution' must be a text that is not empty")
        self._first_solution = self._first_solution or solution.strip()
        answer = accepted_answer(solution)
        if answer is None:
            return None, wrong("'solution' must hold the short answer between an opening and a closing answer tag")
        return answer, quoted({"accepted": True})

    def _add(self, message: ChatMessage, reply: ChatReply | None = None) -> None:
        """Appends a turn; the server's count of a reply replaces what was estimated up to there."""
        self._messages.append(message)
        if reply is not None and reply.usage is not None:
            self._tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
        elif reply is not None and self._tokens == 0:
            self._tokens = sum(_estimate(turn) for turn in self._messages)
        else:
            self._tokens += _estimate(message)


def _estimate(message: ChatMessage) -> int:
    return estimated_tokens(message.content + "".join(call.name + call.arguments for call in message.tool_calls))
