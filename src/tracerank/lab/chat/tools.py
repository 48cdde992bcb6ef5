"""The tool-calling style: the server's own function calls, over ranked search or over a browser's three tools.

Which tools there are and how the conversation is read back differ between the two; all else is the same.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.answers.extraction import NOTHING, WHOLE_TEXT, extract_answer
from tracerank.endpoints.chat import (
    ChatMessage,
    ChatReply,
    ChatTool,
    ToolCall,
    arguments_schema,
    message_to_record,
    number_argument,
    text_argument,
)
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.style import Heard, Reading, demanding, ranked_return
from tracerank.lab.corpus.base import Library, Retriever
from tracerank.lab.tools.browser import DEFAULT_RULE, Browser, BrowserRule
from tracerank.lab.tools.page_text import LINE_WIDTH, shown_name
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers.browser.events import read_messages
from tracerank.readers.browser.views import read_views
from tracerank.readers.calls.assembly import searches_of
from tracerank.readers.calls.chat_messages import read_chat
from tracerank.readers.calls.offered_calls import Written, calls_in, fitted, tool_meant
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
_MADE_UP = re.compile(r"\s*<tool_response>.*\Z", re.S)
"""A return that the model writes itself instead of waiting for it, as small ones do."""


@dataclass(frozen=True, slots=True)
class ToolStyle:
    """Function calls; the two kinds are made below."""

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
        return (*map(prompt_text, (self.instructions, "tools_ask", *_TOLD, "last_turn")), repr(self.tools))

    def opening(self, question: str) -> tuple[ChatMessage, ...]:
        """Instructions as the system's turn, the question as the user's, who asks at the very end to look it up."""
        # How to answer is explained once something was looked up: small models answer at once where they know the form.
        return (
            ChatMessage("system", prompt_text(self.instructions)),
            ChatMessage("user", f"{encodable(question)}\n\n{prompt_text('tools_ask')}"),
        )

    def session(self, question: str, return_characters: int) -> "ToolSession":
        return ToolSession(self.begin(return_characters), {tool.name: tool for tool in self.tools}, encodable(question))

    def last_turn(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        return demanding(messages, prompt_text("last_turn"))

    def read(self, question: str, messages: Sequence[ChatMessage]) -> Reading:
        """The answer is extracted from the last message, if that is the model's and calls nothing."""
        found = self.recover([message_to_record(message) for message in messages])
        last = messages[-1]
        said = last.content if last.role == "assistant" and not last.tool_calls else ""
        return Reading(extract_answer(said).answer, found.searches, found.views)


_TOLD = ("tools_cut", "tools_invalid", "tools_unsearched", "tools_untagged")
"""Prompts that answer a miss."""
_UNTAGGED = (WHOLE_TEXT, NOTHING)


@dataclass(slots=True)
class ToolSession:
    """One rollout and its tools."""

    call: CallTool
    tools: Mapping[str, ChatTool]
    """By name; the first one searches."""
    question: str
    """Also the query of an example: small models copy examples as they are."""
    made: int = field(default=0, init=False)
    """Calls so far."""
    _given: set[str] = field(default_factory=set, init=False)
    """Reminders that were given, each once."""

    def hear(self, reply: ChatReply, is_last: bool = False) -> Heard:
        """Calls, also those that the model wrote into its text because the server does not know its dialect."""
        text = _MADE_UP.sub("", encodable(reply.text))
        wanted = [(call.name, call.arguments) for call in reply.tool_calls]
        written = Written((), text, is_malformed=False) if wanted else calls_in(text, self.tools)
        if written.calls:
            wanted = [(call.name, json.dumps(call.arguments)) for call in written.calls]
            text = written.words
        if wanted and not is_last:
            calls = tuple(self._numbered(*call) for call in wanted)
            return Heard(ChatMessage("assistant", text, calls[:1]), calls)
        if is_last:
            text = "" if written.is_malformed else text
            return Heard(ChatMessage("assistant", text), is_final=bool(text.strip()))
        reminder = self._reminder(reply, text, written.is_malformed)
        message = ChatMessage("assistant", text)
        return Heard(message, is_final=not reminder, reminder=reminder, is_hidden=written.is_malformed)

    def _reminder(self, reply: ChatReply, text: str, is_malformed: bool) -> str:
        """What there is to say to a reply that calls nothing; nothing: it answers."""
        is_untagged = extract_answer(text).how in _UNTAGGED
        if is_malformed:
            return self._prompt("tools_invalid")
        if reply.is_cut and is_untagged:
            return self._prompt("tools_cut")
        if not self.made:
            return self._once("tools_unsearched")
        return self._once("tools_untagged") if is_untagged else ""

    def _once(self, name: str) -> str:
        if name in self._given:
            return ""
        self._given.add(name)
        return self._prompt(name)

    def _prompt(self, name: str) -> str:
        call = {"name": next(iter(self.tools)), "arguments": {"query": self.question}}
        return prompt_text(name).replace("{call}", json.dumps(call, ensure_ascii=False))

    def answer(self, heard: Heard, calls_left: int) -> tuple[ChatMessage, ...]:
        """Calls and their returns one by one, as the tools do them: a page is opened from a listing that came back."""
        if not heard.calls:
            return (ChatMessage("user", heard.reminder),)
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
        meant = tool_meant(name, self.tools)
        plain = meant or _NOT_IN_A_NAME.sub("_", cleaned(name).removeprefix("functions."))[:_LONGEST_NAME]
        given = _json_object(encodable(arguments))
        if meant is not None and (values := json.loads(given)).keys() != {MALFORMED}:
            given = json.dumps(fitted(values, self.tools[meant].parameters), ensure_ascii=False)
        # Nine letters and digits: Mistral's templates want exactly that.
        return ToolCall(f"call{self.made:05}", plain or "unnamed", given)


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


_PRINTED_LINE = LINE_WIDTH + len("L1234: \n")


def _tool(name: str, description: str, required: tuple[str, ...], **properties: Mapping[str, Any]) -> ChatTool:
    return ChatTool(name, description, arguments_schema(required, **properties))


SEARCH = _tool(
    "search",
    "Finds the three passages that fit best.",
    ("query",),
    query=text_argument("What to search for."),
)

_CURSOR = number_argument("Number of an earlier view to start from; the last one if left out.")
BROWSER_TOOLS = (
    _tool(
        "browser_search",
        "Searches for pages and lists them under numbered links.",
        ("query",),
        query=text_argument("What to search for."),
    ),
    _tool(
        "browser_open",
        "Opens a numbered link of a view, or an address, or shows more of the page of a view.",
        (),
        id=number_argument("Number of the link."),
        url=text_argument("Address of a page, instead of a link."),
        cursor=_CURSOR,
        loc=number_argument("First line to show."),
    ),
    _tool(
        "browser_find",
        "Shows where words occur in the page of a view.",
        ("pattern",),
        pattern=text_argument("The words, exactly as the page has them."),
        cursor=_CURSOR,
    ),
)
"""Named so that a reader knows them for a browser's; Open and Find are two words of many agents."""


def search_style(retriever: Retriever) -> ToolStyle:
    """One tool, ``search``, which returns ranked passages."""

    def begin(characters: int) -> CallTool:
        return lambda name, values: _searched(retriever, name, values, characters)

    return ToolStyle("tools", WEBQA, "tools", (SEARCH,), begin, _recover_searches)


def browser_style(library: Library, rule: BrowserRule = DEFAULT_RULE) -> ToolStyle:
    """A browser over a library of pages."""

    def begin(characters: int) -> CallTool:
        return Browser(library, _within(rule, characters)).call

    return ToolStyle("browser", BROWSING, "browser", BROWSER_TOOLS, begin, _recover_views)


def _searched(retriever: Retriever, name: str, values: Mapping[str, Any], characters: int) -> str:
    if name != SEARCH.name:
        return f"Error: there is no tool `{shown_name(name)}`; the only tool is `{SEARCH.name}`."
    query = values.get("query")
    if not isinstance(query, str) or not query.strip():
        return "Error: `query` should be text that is not empty."
    return ranked_return(retriever, normalize_text(encodable(query)), characters)


def _recover_searches(records: Records) -> Reading:
    return Reading(searches=searches_of(read_chat(records).calls))


def _recover_views(records: Records) -> Reading:
    views, searches = read_views(read_messages(records).events)
    return Reading(searches=searches, views=views)


def _within(rule: BrowserRule, characters: int) -> BrowserRule:
    """A rule that shows fewer lines instead of cutting a view, whose header says how many there are."""
    most = max(1, characters // _PRINTED_LINE)
    return BrowserRule(rule.results, rule.snippet_words, min(rule.view_lines, most), min(rule.most_lines, most))
