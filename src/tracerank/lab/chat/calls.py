"""The function-calling dialect: the server's own tool calls, or those that a model writes into its text."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracerank.answers.extraction import NOTHING, WHOLE_TEXT, extract_answer
from tracerank.chat.offered_calls import Written, calls_in, tool_meant
from tracerank.endpoints.chat import ChatMessage, ChatReply, ToolCall
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.session import MALFORMED, NO_CALLS_LEFT, Session, Turn
from tracerank.readers.values import cleaned, encodable

_UNTAGGED = (WHOLE_TEXT, NOTHING)
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_-]")
_MAX_NAME = 64  # OpenAI's
_MADE_UP = re.compile(r"(?<!\s)\s*+<tool_response>.*\Z", re.S)
"""A return that the model writes itself instead of waiting for it, as small ones do."""


class CallSession(Session):
    """Function calls."""

    last_turn = "last_turn"

    def opening(self) -> tuple[ChatMessage, ...]:
        """Instructions as the system's turn, the question as the user's, who asks at the very end to look it up."""
        # How to answer is explained once something was looked up: small models answer at once where they know the form.
        asked = f"{self.question}\n\n{prompt_text('tools_ask')}"
        return (ChatMessage("system", prompt_text(self.instructions)), ChatMessage("user", asked))

    def read(self, reply: ChatReply, is_last: bool = False) -> Turn:
        """Calls, also those that the model wrote into its text because the server does not know its dialect."""
        text = _MADE_UP.sub("", encodable(reply.text))
        wanted = list(reply.tool_calls)
        written = Written((), text, is_malformed=False) if wanted else calls_in(text, self.tools)
        if written.calls:
            wanted = [ToolCall("", call.name, json.dumps(call.arguments)) for call in written.calls]
            text = written.words
        if is_last:
            text = "" if written.is_malformed else text
            return Turn(ChatMessage("assistant", text), is_final=bool(text.strip()))
        if wanted:
            calls = tuple(map(self._numbered, wanted))
            return Turn(ChatMessage("assistant", text, calls[:1]), calls)
        if written.is_malformed:
            return Turn(ChatMessage("assistant", text), reminder=self.prompt("tools_invalid"), is_kept=False)
        reminder = self._reminder(text, reply.is_cut)
        return Turn(ChatMessage("assistant", text), is_final=not reminder, reminder=reminder)

    def _reminder(self, text: str, is_cut: bool) -> str:
        """What there is to say to a reply that calls nothing; empty if it answers."""
        is_untagged = extract_answer(text).how in _UNTAGGED
        if is_cut and is_untagged:
            return self.prompt("tools_cut")
        if not self._made:
            return self.once("tools_unsearched")
        return self.once("tools_untagged") if is_untagged else ""

    def returns(self, calls: Sequence[ToolCall], calls_left: int) -> tuple[ChatMessage, ...]:
        """Calls and their returns in turn: a page is opened from a listing that came back."""
        turns: list[ChatMessage] = []
        for index, call in enumerate(calls):
            # Every call has a return: servers refuse a conversation in which one is missing.
            text = self.done(call) if index < calls_left else NO_CALLS_LEFT
            turns += [ChatMessage("assistant", "", (call,)), ChatMessage("tool", text, tool_call_id=call.id)]
        return tuple(turns[1:])  # the first call is in the reply itself

    def _numbered(self, call: ToolCall) -> ToolCall:
        """The call in a form that servers accept in a conversation, under an id that does not depend on the server."""
        self._made += 1
        meant = tool_meant(call.name, self.tools)
        plain = meant or _NOT_IN_A_NAME.sub("_", cleaned(call.name).removeprefix("functions."))[:_MAX_NAME]
        values = call.values
        if values is None:
            values = {MALFORMED: call.arguments}
        elif meant is not None:
            values = _fitted(values, self.tools[meant].parameters)
        # Nine letters and digits: Mistral's templates want exactly that.
        given = encodable(json.dumps(values, ensure_ascii=False))
        return ToolCall(f"call{self._made:05}", plain or "unnamed", given)


def _fitted(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a tool's JSON schema has them: the only one that it needs under its name, digits as numbers."""
    given = dict(arguments)
    properties = parameters.get("properties", {})
    needed = parameters.get("required", [])
    if len(needed) == 1 and needed[0] not in given:
        strange = [name for name, value in given.items() if name not in properties and isinstance(value, str | int)]
        if len(strange) == 1:
            given = {needed[0] if name == strange[0] else name: value for name, value in given.items()}
    for name, value in given.items():
        kind = properties[name].get("type") if name in properties else None
        if kind == "integer" and isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value):
            given[name] = int(value)
    return given
