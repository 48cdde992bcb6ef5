"""AggAgent: a model examines the rollouts through tools, one call at a time, and hands in an answer (App. A.2)."""

import json
import re
from dataclasses import dataclass, field

from tracerank.embedding.http import estimated_tokens
from tracerank.endpoints.chat import ChatModel, ChatReply, ChatTool, EmptyReply, PromptTooLong, Sampling
from tracerank.endpoints.messages import ChatMessage, ToolCall
from tracerank.methods.aggregation.asking import AskingMethod, CountedChat, written_decision
from tracerank.methods.aggregation.extraction import accepted_answer
from tracerank.methods.aggregation.quoting import quoted
from tracerank.methods.aggregation.trajectory_tools import (
    FINISH,
    ToolLimits,
    Trajectory,
    TrajectoryTools,
    longest_common,
    read_arguments,
    wrong,
)
from tracerank.methods.aggregation.transcripts import described, solution_of, steps_of
from tracerank.methods.base import Decision
from tracerank.methods.prompts import prompt_text
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule

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

    def sampling(self) -> Sampling:
        return Sampling(self.max_tokens, self.temperature, self.top_p, self.seed)


class AggAgent(AskingMethod):
    """A tool loop over the trajectories."""

    name = "aggagent"

    def __init__(self, chat: ChatModel, config: AggAgentConfig | None = None) -> None:
        longest_common()  # what is missing is said before anything is paid for
        self.config = config or AggAgentConfig()
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def settle(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
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
