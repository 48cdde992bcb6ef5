"""The tool-calling style: the server's own function calls, over ranked search or over a browser.

Which tools there are and how the conversation is read back differ between the two; all else is the same.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracerank.agents.chat.prompts import prompt_text
from tracerank.agents.chat.style import Heard, Reading, demanding
from tracerank.answers.extraction import NOTHING, WHOLE_TEXT, extract_answer
from tracerank.endpoints.chat import ChatReply, ChatTool
from tracerank.endpoints.messages import ChatMessage, ToolCall, message_to_record
from tracerank.readers.calls.text_calls import spoken, written_calls
from tracerank.readers.values import cleaned, encodable

Records = Sequence[dict[str, object]]
CallTool = Callable[[str, Mapping[str, Any]], str]
"""Name and arguments to the text that comes back; what the agent gets wrong is a text, too."""

NO_CALLS_LEFT = "Error: no tool calls are left."
NO_OBJECT = "Error: the arguments are not a JSON object."
MALFORMED = "malformed"
"""Key under which arguments that are no JSON object stay in the conversation."""
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_-]")
_LONGEST_NAME = 64  # OpenAI's


@dataclass(frozen=True, slots=True)
class ToolStyle:
    """Function calls; ``chat/toolboxes.py`` has the two kinds."""

    name: str
    setting: str
    instructions: str
    """Name of the prompt."""
    tools: tuple[ChatTool, ...]
    begin: Callable[[int], CallTool]
    """Tools for one rollout, whose returns show about so many characters."""
    recover: Callable[[Records], Reading]
    """Searches and views of a conversation, by our own reader of it."""
    stop: tuple[str, ...] = ()

    @property
    def prompts(self) -> tuple[str, ...]:
        return (*map(prompt_text, (self.instructions, "tools_cut", "last_turn")), repr(self.tools))

    def opening(self, question: str) -> tuple[ChatMessage, ...]:
        """Instructions as the system's turn, the question as the user's."""
        return (
            ChatMessage("system", prompt_text(self.instructions)),
            ChatMessage("user", encodable(question)),
        )

    def session(self, return_characters: int) -> "ToolSession":
        return ToolSession(self.begin(return_characters))

    def last_turn(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        return demanding(messages, prompt_text("last_turn"))

    def read(self, question: str, messages: Sequence[ChatMessage]) -> Reading:
        """The answer is extracted from the last message, if that is the model's and calls nothing."""
        found = self.recover([message_to_record(message) for message in messages])
        last = messages[-1]
        said = last.content if last.role == "assistant" and not last.tool_calls else ""
        return Reading(extract_answer(said).answer, found.searches, found.views)


@dataclass(slots=True)
class ToolSession:
    """One rollout and its tools."""

    call: CallTool
    made: int = field(default=0, init=False)
    """Calls so far."""

    def hear(self, reply: ChatReply, is_last: bool = False) -> Heard:
        """Calls, also those that the model wrote into its text because the server does not know its dialect."""
        text = encodable(reply.text)
        wanted = [(call.name, call.arguments) for call in reply.tool_calls]
        if not wanted and (written := written_calls(text)):
            wanted = [(call.name, json.dumps(call.arguments)) for call in written]
            text = spoken(text).strip()
        if is_last or not wanted:
            is_unfinished = reply.is_cut and extract_answer(text).how in (WHOLE_TEXT, NOTHING)
            return Heard(ChatMessage("assistant", text), is_final=is_last or not is_unfinished)
        calls = tuple(self._numbered(*call) for call in wanted)
        return Heard(ChatMessage("assistant", text, calls[:1]), calls)

    def answer(self, heard: Heard, calls_left: int) -> tuple[ChatMessage, ...]:
        """Calls and their returns one by one, as the tools do them: a page is opened from a listing that came back."""
        if not heard.calls:
            return (ChatMessage("user", prompt_text("tools_cut")),)
        turns: list[ChatMessage] = []
        for place, call in enumerate(heard.calls):
            # Every call has a return: servers refuse a conversation in which one is missing.
            text = self._done(call) if place < calls_left else NO_CALLS_LEFT
            turns += [ChatMessage("assistant", "", (call,)), ChatMessage("tool", text, tool_call_id=call.id)]
        return tuple(turns[1:])  # the first call is in the reply itself

    def _done(self, call: ToolCall) -> str:
        values = json.loads(call.arguments)
        return NO_OBJECT if values.keys() == {MALFORMED} else self.call(call.name, values)

    def _numbered(self, name: str, arguments: str) -> ToolCall:
        """The call in a form that servers accept in a conversation, under an id that does not depend on chance."""
        self.made += 1
        plain = _NOT_IN_A_NAME.sub("_", cleaned(name).removeprefix("functions."))[:_LONGEST_NAME]
        # Nine letters and digits: Mistral's templates want exactly that.
        return ToolCall(f"call{self.made:05}", plain or "unnamed", _json_object(encodable(arguments)))


def _json_object(arguments: str) -> str:
    """The arguments, decoded once if they were encoded twice; what is no object is quoted in one.

    Chat templates parse the arguments of earlier calls, and a server would refuse the whole conversation.
    """
    text = arguments
    for _ in range(2):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict):
            return text
        if not isinstance(value, str):
            break
        text = encodable(value)
    return json.dumps({MALFORMED: arguments}, ensure_ascii=False)
