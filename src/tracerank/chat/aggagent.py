"""AggAgent: a model examines the rollouts through tools, one call at a time, and hands in an answer (App. A.2).

The loop of its authors, with two limits more: a model that calls nothing of use several times in a row is made to
finish, as is one whose conversation outgrows its room. Calls count however a model writes them, native or in its text.
The tools are in ``trajectory_tools.py``.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tracerank.chat.asking import AskingMethod, CountedChat, Room, cut_words, quoted
from tracerank.chat.offered_calls import calls_in
from tracerank.chat.prompts import prompt_text
from tracerank.chat.replies import BY_RULE, Found, accepted_answer, is_placeholder, named_in, read_reply, without_tags
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
from tracerank.pools.types import Retained
from tracerank.votes.base import CALLS, FORCED, MISSES, Decision

MAX_MISSES = 3
"""Replies in a row that call nothing, or nothing that works or is new; then the model is made to finish."""
_NO_TOOL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
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


class AggAgent(AskingMethod):
    """A tool loop over the trajectories."""

    name = "aggagent"
    room = Room(max_tokens=10_000, prompt_words=64_000)

    def __init__(
        self,
        chat: ChatModel,
        room: Room | None = None,
        *,
        concurrency: int = 4,
        max_steps: int = 100,
        token_cap: int = 100 * 1024,
    ) -> None:
        """``max_steps``: replies, the forced one aside; ``token_cap``: of the conversation, then it must finish."""
        longest_common()  # what is missing is said before anything is paid for
        super().__init__(chat, room, concurrency=concurrency)
        self.max_steps = max_steps
        self.token_cap = token_cap
        if (context := self.given.context) is not None:
            reply = min(self.given.max_tokens, context // 8)  # calls are short, and much else has to fit
            self.given = replace(self.given, max_tokens=reply)
            self.token_cap = min(token_cap, context - 2 * reply)

    def sampling(self) -> Sampling:
        return Sampling(self.given.max_tokens, temperature=1.0, top_p=0.95, seed=0, one_call=True)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        run = _Run(self, chat, pool.question.text, retained)
        found, note = run.to_its_end()
        if found is None:
            answers = [one.answer or "" for one in retained.kept]
            found = read_reply(run.last_words, accepted_answer, answers) or named_in(run.last_words, answers)
            found = None if found is None else found._replace(how=f"no finish call, {found.how}")
        written = Written(found, run.last_words or None, note, run.counts)
        return written_decision(pool, retained, written, chat.usage)


class _Call(NamedTuple):
    """What a reply calls, however it is written."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    """None: they cannot be read."""


_End = tuple[Found | None, str | None]
"""The answer that was handed in, and what else happened."""


class _Run:
    """One question's conversation."""

    def __init__(self, method: AggAgent, chat: CountedChat, question: str, retained: Retained) -> None:
        trajectories = [Trajectory(without_tags(solution_of(one)), steps_of(one)) for one in retained.kept]
        self.counts: Counter[str] = Counter()
        self.last_words = ""
        """The solution handed in last, else what the model said last."""
        self._chat = chat
        self._method = method
        self._tools = TrajectoryTools(trajectories, method.given.prompt_words // 4)
        self._first_solution: str | None = None
        """Of the first finish call, accepted or not."""
        self._made: set[str] = set()
        """Calls that were carried out."""
        self._misses = 0
        """In a row."""
        checking = _CHECKING_CALL.replace("QUERY", quoted(cut_words(question, _QUERY_WORDS)))
        self._procedure = (_FIRST_CALL, checking, _LAST_CALL)
        """What a model that writes its calls is shown, by the number of calls that it has made."""
        lines = [f"Trajectory {number}: {described(one.steps)}" for number, one in enumerate(trajectories, start=1)]
        asked = _filled(
            "aggagent_user", question=quoted(question), count=len(trajectories), trajectories="\n".join(lines)
        )
        self._messages = [ChatMessage("system", prompt_text("aggagent_system")), ChatMessage("user", asked)]
        self._tokens = 0
        """Of the conversation: as the server counted them, and an estimate of the last return."""

    def to_its_end(self) -> _End:
        for step in range(1, self._method.max_steps + 1):
            try:
                answer = self._step((*LOOKING, FINISH))
            except PromptTooLong:
                if step == 1:  # then no run can work, and the user has to know
                    raise
                if len(self._messages[-1].content) > len(_LEFT_OUT):
                    self._messages[-1] = replace(self._messages[-1], content=_LEFT_OUT)
                return self._forced(f"made to finish: at step {step} the conversation no longer fits the context")
            if answer is not None:
                return Found(answer, BY_RULE), None
            if self._misses >= MAX_MISSES:
                return self._forced(f"made to finish after {step} steps: {self._misses} in a row called nothing of use")
            if self._tokens > self._method.token_cap:
                return self._forced(f"made to finish after {step} steps at {self._tokens:,} tokens")
        return self._unaccepted(f"no answer accepted in {self._method.max_steps} steps")

    def _forced(self, why: str) -> _End:
        """One more reply, in which only finish may be called."""
        self.counts[FORCED] = 1
        self._messages.append(ChatMessage("user", _filled("aggagent_finish", call=_LAST_CALL)))
        try:
            answer = self._step((FINISH,))
        except PromptTooLong:
            return None, f"{why}; terminated: the conversation no longer fits the context"
        return self._unaccepted(why) if answer is None else (Found(answer, BY_RULE), why)

    def _unaccepted(self, why: str) -> _End:
        """A run that completed without an accepted answer: its first solution stands as it was written."""
        if self._first_solution is None:
            return None, f"{why}; finish was never called"
        return Found(self._first_solution, BY_RULE), f"{why}; the first solution handed in, taken verbatim"

    def _step(self, tools: tuple[ChatTool, ...]) -> str | None:
        """One reply and what its call gives back; the answer once one is accepted."""
        try:
            reply = self._chat.reply(self._messages, self._method.sampling(), tools)
        except EmptyReply as error:
            reply = error.reply
        self._tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens if reply.usage else self._tokens
        self.last_words = reply.text.strip() or self.last_words
        call = _first_call(reply, tools, len(self._messages))
        if call is None:
            self._count_miss()
            self._messages.append(ChatMessage("assistant", reply.text.strip() or "(nothing)"))
            self._messages.append(ChatMessage("user", _filled("aggagent_nudge", call=self._next_call())))
            return None
        # Servers parse the arguments of earlier calls again, so what is no JSON must not go back to them.
        written = json.dumps(dict(call.arguments or {}))
        answer, returned = self._carried_out(call, f"{call.name} {written}")
        self._tokens += estimated_tokens(returned.text)
        if reply.tool_calls:
            self._messages.append(ChatMessage("assistant", reply.text, (ToolCall(call.id, call.name, written),)))
            self._messages.append(ChatMessage("tool", returned.text, tool_call_id=call.id))
        else:  # a model that writes its calls takes a tool's turn for its own, so it is answered in words
            called = json.dumps({"name": call.name, "arguments": call.arguments or {}}, ensure_ascii=False)
            answered = _filled("aggagent_returned", tool=call.name, returned=returned.text, call=self._next_call())
            self._messages += [ChatMessage("assistant", called), ChatMessage("user", answered)]
        return answer

    def _next_call(self) -> str:
        return self._procedure[min(self.counts[CALLS], len(self._procedure) - 1)]

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


def _filled(name: str, **parts: object) -> str:
    return prompt_text(name).format(**parts)


def _first_call(reply: ChatReply, tools: tuple[ChatTool, ...], turn: int) -> _Call | None:
    """One call at a time, as AggAgent's authors have it: the rest is dropped."""
    native = reply.tool_calls[0] if reply.tool_calls else None
    written = [] if native else calls_in(reply.text, tuple(tool.name for tool in tools)).calls
    if native is None and not written:
        return None
    name = _NO_TOOL_NAME.sub("", native.name if native else written[0].name)[:64] or "unnamed"
    if native is None:
        return _Call(f"call_{turn}", name, written[0].arguments)
    return _Call(native.id, name, native.values)
