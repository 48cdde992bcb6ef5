"""ReAct transcripts: FireAct's trajectories, KnowAgent's prompts, LangChain's scratchpads.

Finds the transcript, cuts the prompt with its examples off, and reads the fields around it. Verdicts that the
environment tells the agent are labels at most and never become text.
The grammar is Thought, Action and Observation marks at the beginnings of lines. A page may hold such marks, too. Inside
an observation only the agent's next thought is believed, with the next number where turns are numbered; an answer
counts only when nothing was researched after it. Messages with roles leave no such doubt. Every step is linear in the
length of the text.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.answers.exact import normalize_answer
from tracerank.answers.text_keys import trimmed
from tracerank.pools.types import Question
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.call_bodies import value_calls
from tracerank.readers.calls.text_calls import CALL_TAGS
from tracerank.readers.formats.marked import speaker
from tracerank.readers.runs.model_calls import reply_of
from tracerank.readers.sources.loose_json import load_loosely
from tracerank.readers.sources.record_fields import RECORD_KEY, decoded, question_of, sample_id_of
from tracerank.readers.tools import TOOL_NAMES, ToolCall, kind_of_call, parse_arguments, submitted_answer
from tracerank.readers.values import content_of, said_of, text_of

REACT_NAMES = TOOL_NAMES.extended(search=("search", "retrieve"), find=("lookup",))
"""The tools of the question-answering agents that write ReAct text."""

_MARK = re.compile(
    r"^[ \t>]{0,4}\*{0,2}(Thought|ActionPath|Action Input|Action|Observation|Final Answer|Answer)(?:[ \t](\d{1,3}))?"
    r"\*{0,2}[ \t]*:\*{0,2}[ \t]*",
    re.M,
)
_ANSWERS = ("Final Answer", "Answer")
_BRACKETS = re.compile(r"([A-Za-z][\w.-]{0,40}(?: \w{1,20})?)[ \t]*\[")
_PARENTHESES = re.compile(r"([A-Za-z][\w.-]{0,40})\(([^\n]*)\)[ \t]*(?:\n|\Z)")


def is_react(text: str) -> bool:
    """Whether a text holds at least one action and what came of it."""
    if "Action" not in text:
        return False
    kinds = {mark[1] for mark in _MARK.finditer(text)}
    ended = "Observation" in kinds or "Final Answer" in kinds or "inish[" in text
    return "Action" in kinds and ended


class _Turns:
    """What the agent has done so far, one action a turn: environments carry out the first and stop there."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.final: str | None = None
        self.is_waiting = False  # an action was taken whose observation is to come

    def act(self, call: ToolCall) -> None:
        if self.is_waiting:
            return
        self.is_waiting = True
        answer = submitted_answer(call)
        if answer is not None:
            self.final = answer
        elif kind_of_call(call.name, call.arguments, REACT_NAMES) != "other":
            self.final = None
        self.calls.append(call)

    def observe(self, text: str) -> None:
        if self.is_waiting:
            self.calls[-1] = replace(self.calls[-1], output=text.strip())
        self.is_waiting = False

    def answer(self, text: str) -> None:
        if not self.is_waiting and text.strip():
            self.final = trimmed(text)

    def dialogue(self, asked: str | None) -> Dialogue:
        return Dialogue(tuple(self.calls), asked, self.final)


def read_text(text: str, asked: str | None) -> Dialogue:
    """The turns of one text from which the prompt has been cut."""
    turns = _Turns()
    marks = list(_believed(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    bodies = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=False)]
    number: str | None = None
    for index, (mark, body) in enumerate(zip(marks, bodies, strict=False)):
        if mark[1] == "Action":
            if mark[2] != number:  # the environment said nothing to the turn before
                turns.is_waiting = False
            number = mark[2]
            has_input = index + 1 < len(marks) and marks[index + 1][1] == "Action Input"
            turns.act(_call(body, bodies[index + 1] if has_input else None))
        elif mark[1] == "Observation":
            turns.observe(body)
        elif mark[1] in _ANSWERS:
            turns.answer(body)
    return turns.dialogue(asked)


def read_messages(messages: Sequence[object], asked: str | None) -> Dialogue:
    """The turns of chat messages: actions in the assistant's, observations in the others."""
    turns = _Turns()
    agents = [message for message in messages if isinstance(message, Mapping) and _is_agent(message)]
    if len(agents) == 1 and messages[-1] is agents[0] and _holds_observations(whole := said_of(content_of(agents[0]))):
        return read_text(whole, asked)  # an SDK keeps all turns of a run in one message
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        content = content_of(message)
        if not _is_agent(message):
            turns.observe(_without_mark(text_of(content)))
            continue
        text = said_of(content)
        turns.is_waiting = False
        said = read_text(text, None)
        for call in said.calls[:1]:
            turns.act(replace(call, output=None))
        if not said.calls and said.final is not None:
            turns.answer(said.final)
    return turns.dialogue(asked)


def _is_agent(message: object) -> bool:
    return speaker(message) in ("assistant", "gpt", "ai")


def _holds_observations(text: str) -> bool:
    return any(mark[1] == "Observation" for mark in _believed(text))


def _without_mark(text: str) -> str:
    mark = _MARK.match(text.lstrip())
    return text.lstrip()[mark.end() :] if mark and mark[1] == "Observation" else text


def _believed(text: str) -> Iterator[re.Match[str]]:
    """The marks that the agent and its environment wrote, as far as the text tells."""
    marks = list(_MARK.finditer(text))
    first = next((mark for mark in marks if mark[1] == "Action"), None)
    is_numbered = first is not None and first[2] is not None
    agent_begins = {"Thought", "ActionPath"} if marks and marks[0] is not first else {"Action"}
    in_page, has_acted, number, before = False, False, 0, ""
    for mark in marks:
        kind = mark[1]
        if kind not in _ANSWERS and (mark[2] is not None) != is_numbered:
            continue
        if kind == "Answer" and before != "Thought":  # a word like any other
            continue
        if in_page and (kind not in agent_begins or (is_numbered and int(mark[2]) != number + 1)):
            continue
        if kind == "Observation" and not has_acted:
            continue
        in_page = kind == "Observation"
        has_acted = kind in ("Action", "Action Input") or (has_acted and not in_page)
        if kind == "Action" and is_numbered:
            number = int(mark[2])
        before = kind
        yield mark


def _call(body: str, given: str | None) -> ToolCall:
    """An action as a call: ``search[query]``, ``search(query)``, JSON, or a name with its input on another line."""
    bare = body.strip().removeprefix("```json").removeprefix("```").strip()
    if bare.startswith("{"):
        return next(value_calls(load_loosely(bare)), ToolCall(""))
    line, _, rest = bare.partition("\n")
    if given is None and (found := _BRACKETS.match(line)):
        # The last bracket of the line closes: titles hold brackets of their own.
        inner = line[found.end() :]
        argument, closed, _ = inner.rpartition("]")
        if not closed:
            argument = inner if "]" not in rest else f"{inner}\n{rest.partition(']')[0]}"
        return ToolCall(found[1], _input(argument))
    if given is None and (found := _PARENTHESES.match(line)):
        return ToolCall(found[1], parse_arguments(found[2].strip().strip("\"'")))
    return ToolCall(line.strip().strip("*`"), parse_arguments(_unquoted(given or "")))


def _input(argument: str) -> dict[str, Any]:
    return {"input": trimmed(argument)} if argument.strip() else {}


def _unquoted(text: str) -> str:
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'`" else bare


# A prompt may hold examples only: it is looked at last.
_TEXT_FIELDS = (
    *("traj", "trajectory", "transcript", "scratchpad", "agent_scratchpad", "log", "react", "output", "response"),
    *("completion", "text", "messages", "conversation", "conversations", "history", "prompt"),
)
_QUESTION_FIELDS = ("question", "query", "problem", "question_text")
_END_OF_PROMPT = re.compile(r"^[ \t]*(?:\(END OF EXAMPLES\)|### Response:|Begin!)[ \t]*$", re.M)
_INSTRUCTION = re.compile(r"^### Instruction:[ \t]*$", re.M)
_QUESTION = re.compile(r"^Question:[ \t]*+([^\n]++)", re.M)
# The last question of a prompt without an end mark: the turns follow at once.
_ASKED = re.compile(r"^Question:[ \t]*+([^\n]++)\n(?=(?:Thought|ActionPath|Action)\b)", re.M)


class ReactReader:
    """One rollout a record, the transcript a text or messages with Thought, Action and Observation marks."""

    name = "react"

    def recognises(self, record: Record) -> bool:
        """By actions and what came of them in one of the text fields."""
        return isinstance(record, Mapping) and _transcript(record) is not None

    def parse(self, record: Record, source: str) -> Parsed:
        """The turns as searches; the answer is what the last action hands in."""
        plain = decoded(record)
        # An agent that called nothing may stand among others that did.
        found = _transcript(plain) or _transcript(plain, _is_agent)
        if found is None:
            reason = "no transcript: expected text with 'Action:' and 'Observation:' lines"
            reject(reason, _question(plain, None, ""), sample_id_of(plain))
        name, value = found
        reply = reply_of(plain) if isinstance(value, list) else None
        value = value if reply is None or not isinstance(value, list) else [*value, reply]
        dialogue = _dialogue(value, _stated(plain))
        question = _question(plain, dialogue.asked, name)
        if question is None:
            reject("no question: expected 'question', or 'Question: …' before the first thought")
        final = None if plain.get("halted") is True else _handed_in(plain, dialogue.final)
        # The table of final fields is for chats: here the text has said all there is to say.
        fields = {key: value for key, value in plain.items() if key not in ("prediction", "final_answer")}
        settled = Dialogue(dialogue.calls, dialogue.asked, final)
        return parsed_dialogue(fields, source, settled, names=REACT_NAMES, question=question)


def _transcript(record: Record, is_one: Callable[[object], bool] | None = None) -> tuple[str, str | list[Any]] | None:
    """The field that holds the transcript, with it: text, or messages of which one acts."""
    for name in _TEXT_FIELDS:
        value = record.get(name)
        if isinstance(value, str) and is_react(value):
            return name, value
        if isinstance(value, list) and any(map(is_one or _acts, value)):
            return name, value
    return None


def _acts(message: object) -> bool:
    if not isinstance(message, Mapping) or message.get("tool_calls"):
        return False
    text = text_of(content_of(message))
    if not _is_agent(message) or "Action" not in text or any(tag in text for tag in CALL_TAGS):
        return False
    # Any agent may think in such words: here a tool is called, or an answer handed in.
    made = read_text(text, None).calls
    is_research = (kind_of_call(call.name, call.arguments, REACT_NAMES) != "other" for call in made)
    return any(map(submitted_answer, made)) or any(is_research) or (bool(made) and _holds_observations(text))


# ---- the fields around the transcript


def _stated(record: Record) -> str:
    values = (record.get(name) for name in _QUESTION_FIELDS)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def _question(record: Record, asked: str | None, transcript: str) -> Question | None:
    key = record.get(RECORD_KEY)
    fields = {**record, "question": _stated(record) or asked}
    if isinstance(key, str):
        fields.setdefault("question_id", key)
    fields.pop(transcript, None)
    return question_of(fields)


def _handed_in(record: Record, final: str | None) -> str | None:
    """The answer; where the environment noted another one than the text seems to give, its note decides."""
    noted = record.get("pred")
    if not isinstance(noted, str) or (final and normalize_answer(noted).startswith(normalize_answer(final))):
        return final
    return noted if noted.strip() else None


# ---- the transcript


def _dialogue(transcript: str | list[Any], question: str) -> Dialogue:
    if isinstance(transcript, str):
        asked, text = _without_prompt(transcript, question)
        return read_text(text, asked)
    messages = [message for message in transcript if isinstance(message, Mapping)]
    users = (message for message in messages if speaker(message) in ("user", "human"))
    first = next(users, {})
    asked, rest = _without_prompt(text_of(content_of(first)), question)
    return read_messages(messages, asked or rest.strip())


def _without_prompt(text: str, question: str) -> tuple[str | None, str]:
    """The question as the prompt asks it, and what follows; examples before it are not the agent speaking."""
    end = _END_OF_PROMPT.search(text)
    start = end.end() if end else 0
    if end and (told := _INSTRUCTION.search(text, 0, end.start())):
        return text[told.end() : end.start()].strip() or None, text[start:]
    if question and (at := text.find(f"Question: {question}", start)) >= 0:
        return question, text[at + len("Question: ") + len(question) :]
    if end and (asked := _QUESTION.search(text, start)):
        return asked[1].strip(), text[asked.end() :]
    last = deque(_ASKED.finditer(text, start), maxlen=1)
    return (last[0][1].strip(), text[last[0].end() :]) if last else (None, text[start:])
