"""One rollout's side of a conversation with a chat model: what is said to it, and what its replies mean."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tracerank.endpoints.chat import ChatMessage, ChatReply, ChatTool, ToolCall
from tracerank.lab.chat.prompts import prompt_text
from tracerank.readers.values import encodable

CallTool = Callable[[str, Mapping[str, Any]], str]
"""Name and arguments to the text that comes back; what the agent gets wrong is a text, too."""

NO_OBJECT = "Error: the arguments are not a JSON object."
NO_CALLS_LEFT = "Error: no tool calls are left."
MALFORMED = "malformed"
"""Key under which arguments that are no JSON object stay in the conversation."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply of the model and what it asks for."""

    message: ChatMessage
    """The reply as it stays in the conversation, with the first call at most."""
    calls: tuple[ToolCall, ...] = ()
    """What the model wants done, in order; the arguments are a JSON object."""
    is_final: bool = False
    """It answers; otherwise, without calls, it is a miss."""
    reminder: str = ""
    """What the model is answered after a miss."""
    is_kept: bool = True
    """Whether it stays in the conversation at all: small models copy a malformed call, however it was answered."""


class Session(ABC):
    """What the dialects share."""

    stop: ClassVar[tuple[str, ...]] = ()
    """Texts at which the server ends a reply."""
    last_turn: ClassVar[str]
    """The prompt that demands the answer."""

    def __init__(self, question: str, tools: Sequence[ChatTool], instructions: str, call: CallTool) -> None:
        """``instructions``: the prompt that opens the conversation."""
        self.question = encodable(question)
        self.tools = {tool.name: tool for tool in tools}
        self.instructions = instructions
        self._call = call
        self._made = 0
        self._reminded: set[str] = set()

    @abstractmethod
    def opening(self) -> tuple[ChatMessage, ...]:
        """Instructions and question."""

    @abstractmethod
    def read(self, reply: ChatReply, is_last: bool = False) -> Turn:
        """What a reply means; the last one can no longer call anything."""

    @abstractmethod
    def returns(self, calls: Sequence[ToolCall], calls_left: int) -> tuple[ChatMessage, ...]:
        """The calls of a reply done one by one, as messages behind it."""

    def done(self, call: ToolCall) -> str:
        """What a call returns."""
        values = json.loads(call.arguments)
        return NO_OBJECT if values.keys() == {MALFORMED} else self._call(call.name, values)

    def once(self, name: str) -> str:
        """A reminder, the first time; then nothing."""
        is_new = name not in self._reminded
        self._reminded.add(name)
        return self.prompt(name) if is_new else ""

    def prompt(self, name: str) -> str:
        """A prompt, with an example of a call that asks the question: small models copy examples as they are."""
        call = {"name": next(iter(self.tools), "search"), "arguments": {"query": self.question}}
        return prompt_text(name).replace("{call}", json.dumps(call, ensure_ascii=False))


def demanding(messages: Sequence[ChatMessage], demand: str) -> tuple[ChatMessage, ...]:
    """The conversation with a demand at the end of the user's last turn, or in a new one behind other turns."""
    last = messages[-1]
    if last.role != "user":
        return (*messages, ChatMessage("user", demand))
    if last.content.endswith(demand):
        return tuple(messages)
    # Two turns of the user in a row are refused by some templates.
    return (*messages[:-1], replace(last, content=f"{last.content}\n\n{demand}"))
