"""AggAgent: a model examines the rollouts through tools, one call at a time, and hands in an answer (App. A.2).

The loop of its authors, with two limits more: a model that calls nothing of use several times in a row is made to
finish, as is one whose conversation outgrows its room. Calls count however a model writes them, native or in its text.
The tools are in ``trajectory_tools.py``.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracerank.chat.asking import AskingMethod, CountedChat, cut_words, quoted, room_in
from tracerank.chat.prompts import prompt_text
from tracerank.chat.replies import (
    BY_RULE,
    Found,
    accepted_answer,
    is_placeholder,
    named_in,
    read_reply,
    without_tags,
)
from tracerank.chat.trajectory_tools import (
    FINISH,
    LOOKING,
    Returned,
    Trajectory,
    TrajectoryTools,
    longest_common,
    wrong,
)
from tracerank.chat.transcripts import described, solution_of, steps_of
from tracerank.chat.written import Written, written_decision
from tracerank.endpoints.chat import (
    ChatMessage,
    ChatModel,
    ChatReply,
    ChatTool,
    EmptyReply,
    PromptTooLong,
    Sampling,
    ToolCall,
    estimated_tokens,
)
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule
from tracerank.readers.calls.offered_calls import calls_in
from tracerank.votes.base import CALLS, FORCED, MISSES, Decision

_NO_TOOL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_RETURN_SHARE = 4
"""Which part of the words in a prompt one return may take."""


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
    most_misses: int = 3
    """Replies in a row that call nothing, or nothing that works or is new; then it is made to finish."""
    token_cap: int = 100 * 1024
    """Tokens of the conversation from which it is made to finish; the context must hold them and a reply."""
    return_words: int = 16_000
    """Of what one call of a tool gives back."""
    concurrency: int = 4
    """Questions under way at once."""
    rule: RetentionRule | None = None
    """Which rollouts are read; None: those that the pool's setting retains, as in the paper."""
    is_strict: bool = False
    """The paper's accounting: a run without a finish call and one that was terminated stay empty."""

    def within(self, context: int) -> "AggAgentConfig":
        """The same for a model that holds so many tokens."""
        room = room_in(context)
        reply = min(self.max_tokens, room.reply_tokens // 2)  # calls are short, and much else has to fit
        return replace(
            self,
            max_tokens=reply,
            token_cap=min(self.token_cap, context - 2 * reply),
            return_words=min(self.return_words, room.prompt_words // _RETURN_SHARE),
        )

    def sampling(self) -> Sampling:
        return Sampling(self.max_tokens, self.temperature, self.top_p, self.seed, one_call=True)


class AggAgent(AskingMethod):
    """A tool loop over the trajectories."""

    def __init__(self, chat: ChatModel, config: AggAgentConfig | None = None) -> None:
        longest_common()  # what is missing is said before anything is paid for
        self.config = config or AggAgentConfig()
        self.name = "aggagent-paper" if self.config.is_strict else "aggagent"
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        trajectories = [Trajectory(without_tags(solution_of(one)), steps_of(one)) for one in retained.kept]
        run = _Run(chat, self.config, pool.question.text, trajectories)
        end = run.to_its_end()
        found = end.found
        if found is None and not self.config.is_strict:
            answers = [one.answer or "" for one in retained.kept]
            found = read_reply(run.last_words, accepted_answer, answers) or named_in(run.last_words, answers)
            found = None if found is None else replace(found, how=f"no finish call, {found.how}")
        written = Written(found, run.last_words or None, end.note, run.counts)
        return written_decision(pool, retained, written, chat.usage, self.config.is_strict)


@dataclass(frozen=True, slots=True)
class _End:
    found: Found | None
    note: str | None


@dataclass(frozen=True, slots=True)
class _Call:
    """What a reply calls, however it is written."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    """None: they cannot be read."""


class _Run:
    """One question's conversation."""

    def __init__(
        self, chat: CountedChat, config: AggAgentConfig, question: str, trajectories: list[Trajectory]
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.last_words = ""
        """The solution handed in last, else what the model said last."""
        self._chat = chat
        self._config = config
        self._tools = TrajectoryTools(trajectories, config.return_words)
        self._first_solution: str | None = None
        """Of the first finish call, accepted or not."""
        self._made: set[str] = set()
        """Calls that were carried out."""
        self._misses = 0
        """In a row."""
        self._has_checked = False
        """Whether it has looked at more than the solutions."""
        self._checking_call = _CHECKING_CALL.replace("QUERY", quoted(cut_words(question, _QUERY_WORDS)))
        lines = [f"Trajectory {number}: {described(one.steps)}" for number, one in enumerate(trajectories, start=1)]
        asked = prompt_text("aggagent_user").format(
            question=quoted(question), count=len(trajectories), trajectories="\n".join(lines)
        )
        self._messages = [
            ChatMessage("system", prompt_text("aggagent_system")),
            ChatMessage("user", asked),
        ]
        self._tokens = 0

    def to_its_end(self) -> _End:
        for step in range(1, self._config.max_steps + 1):
            try:
                answer = self._step((*LOOKING, FINISH))
            except PromptTooLong:
                if step == 1:  # then no run can work, and the user has to know
                    raise
                return self._outgrown(step)
            if answer is not None:
                return _End(Found(answer, BY_RULE), None)
            if self._misses >= self._config.most_misses:
                return self._forced(f"made to finish after {step} steps: {self._misses} in a row called nothing of use")
            if self._tokens > self._config.token_cap:
                return self._forced(f"made to finish after {step} steps at {self._tokens:,} tokens")
        return self._unaccepted(f"no answer accepted in {self._config.max_steps} steps")

    def _outgrown(self, step: int) -> _End:
        """A conversation that no longer fits: terminated, or made to finish without what came last."""
        why = f"at step {step} the conversation no longer fits the model's context"
        if self._config.is_strict:
            return _End(None, f"terminated: {why}")
        if len(self._messages[-1].content) > len(_LEFT_OUT):
            self._messages[-1] = replace(self._messages[-1], content=_LEFT_OUT)
        return self._forced(f"made to finish: {why}")

    def _forced(self, why: str) -> _End:
        """One more reply, in which only finish may be called."""
        self.counts[FORCED] = 1
        self._add(ChatMessage("user", _filled("aggagent_finish", call=_LAST_CALL)))
        try:
            answer = self._step((FINISH,))
        except PromptTooLong:
            return _End(None, f"{why}; terminated: the conversation no longer fits the model's context")
        return self._unaccepted(why) if answer is None else _End(Found(answer, BY_RULE), why)

    def _unaccepted(self, why: str) -> _End:
        """A run that completed without an accepted answer: its first solution stands as it was written."""
        if self._first_solution is None:
            return _End(None, f"{why}; finish was never called")
        return _End(Found(self._first_solution, BY_RULE), f"{why}; the first solution handed in, taken verbatim")

    def _step(self, tools: tuple[ChatTool, ...]) -> str | None:
        """One reply and what its call gives back; the answer once one is accepted."""
        try:
            reply = self._chat.reply(self._messages, self._config.sampling(), tools)
        except EmptyReply as error:
            reply = error.reply
        self.last_words = reply.text.strip() or self.last_words
        call = _first_call(reply, tools, len(self._messages))
        if call is None:
            self._count_miss()
            self._add(ChatMessage("assistant", reply.text.strip() or "(nothing)"), reply)
            self._add(ChatMessage("user", _filled("aggagent_nudge", call=self._next_call())))
            return None
        # Servers parse the arguments of earlier calls again, so what is no JSON must not go back to them.
        written = json.dumps(dict(call.arguments or {}))
        answer, returned = self._carried_out(call, f"{call.name} {written}")
        if reply.tool_calls:
            self._add(ChatMessage("assistant", reply.text, (ToolCall(call.id, call.name, written),)), reply)
            self._add(ChatMessage("tool", returned.text, tool_call_id=call.id))
        else:  # a model that writes its calls takes a tool's turn for its own, so it is answered in words
            called = json.dumps({"name": call.name, "arguments": call.arguments or {}}, ensure_ascii=False)
            answered = _filled("aggagent_returned", tool=call.name, returned=returned.text, call=self._next_call())
            self._add(ChatMessage("assistant", called), reply)
            self._add(ChatMessage("user", answered))
        return answer

    def _next_call(self) -> str:
        """What a model that writes its calls is shown as one: the procedure's next step."""
        if not self.counts[CALLS]:
            return _FIRST_CALL
        return _LAST_CALL if self._has_checked else self._checking_call

    def _carried_out(self, call: _Call, key: str) -> tuple[str | None, Returned]:
        answer: str | None = None
        if call.name == FINISH.name and call.arguments is not None:
            answer, returned = self._finish(call.arguments.get("solution", call.arguments.get("input")))
        elif key in self._made:
            returned = wrong("this call was made before and its return stands above; make another one, or call finish")
        else:
            returned = self._tools.run(call.name, call.arguments)
        self._made.add(key)
        if returned.is_error:
            self._count_miss()
        else:
            self._has_checked = self._has_checked or call.name not in ("get_solution", FINISH.name)
            self._misses = 0
            self.counts[CALLS] += 1
        return answer, returned

    def _count_miss(self) -> None:
        self._misses += 1
        self.counts[MISSES] += 1

    def _finish(self, solution: object) -> tuple[str | None, Returned]:
        if not isinstance(solution, str) or not solution.strip():
            return None, wrong("'solution' must be a text that is not empty")
        self.last_words = solution.strip()
        self._first_solution = self._first_solution or solution.strip()
        answer = accepted_answer(solution)
        if answer is None or is_placeholder(answer):
            return None, wrong("'solution' must begin with a line 'Exact Answer: ' and the short answer")
        return answer, Returned(quoted({"accepted": True}))

    def _add(self, message: ChatMessage, reply: ChatReply | None = None) -> None:
        """Appends a turn; the server's count of a reply replaces what was estimated up to there."""
        self._messages.append(message)
        if reply is not None and reply.usage is not None:
            self._tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
        elif reply is not None and self._tokens == 0:
            self._tokens = sum(_estimate(turn) for turn in self._messages)
        else:
            self._tokens += _estimate(message)


_LEFT_OUT = "(left out: it does not fit)"
_QUERY_WORDS = 30
_FIRST_CALL = 'The first is:\n{"name": "get_solution", "arguments": {}}'
_CHECKING_CALL = (
    "To check what the agents' tools returned, that is for example:\n"
    '{"name": "search_trajectory", "arguments": {"query": QUERY, "role": "tool"}}'
)
_LAST_CALL = (
    "When you know the answer, that is:\n"
    r'{"name": "finish", "arguments": {"solution": "Exact Answer: …\nExplanation: …", "reason": "…"}}'
)


def _filled(name: str, **parts: str) -> str:
    return prompt_text(name).format(**parts)


def _names(tools: tuple[ChatTool, ...]) -> tuple[str, ...]:
    return tuple(tool.name for tool in tools)


def _first_call(reply: ChatReply, tools: tuple[ChatTool, ...], turn: int) -> _Call | None:
    """One call at a time, as AggAgent's authors have it: the rest is dropped."""
    if reply.tool_calls:
        call = reply.tool_calls[0]
        name = _NO_TOOL_NAME.sub("", call.name)[:64] or "unnamed"
        return _Call(call.id, name, _arguments(call.arguments))
    found = calls_in(reply.text, _names(tools)).calls
    if not found:
        return None
    name = _NO_TOOL_NAME.sub("", found[0].name)[:64] or "unnamed"
    return _Call(f"call_{turn}", name, found[0].arguments)


def _arguments(written: str) -> dict[str, Any] | None:
    """The call's arguments; None: they are no JSON object."""
    try:
        value = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _estimate(message: ChatMessage) -> int:
    return estimated_tokens(message.content + "".join(call.name + call.arguments for call in message.tool_calls))
