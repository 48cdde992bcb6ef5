"""Texts in which marks part the agent's words from what came back: Search-R1, R1-Searcher, Search-o1.

``turns`` takes a text apart by a row of marks. A page may hold marks, too: a return counts only where something asked
for it, and what stands inside it neither calls nor answers. Scores and verdicts in a record become labels only.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tracerank.answers.text_keys import trimmed
from tracerank.pools.types import Question, Rollout
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.assembly import searches_of
from tracerank.readers.formats.langchain_texts import text_transcript
from tracerank.readers.formats.webqa import references_of as listed_references
from tracerank.readers.ranked import split_ranked
from tracerank.readers.results import Result
from tracerank.readers.sources.record_fields import (
    label_value,
    question_of,
    references_of,
    sample_id_of,
    stated_references,
)
from tracerank.readers.tools import ToolCall
from tracerank.readers.values import cleaned

_SPECIAL_TOKEN = re.compile(r"<\|[a-z_]{1,30}\|>")


class Marks(NamedTuple):
    """What stands around a query and around what came back on it."""

    query: str
    returns: re.Pattern[str]
    """Opens a return."""
    closes: str
    is_loose: bool = False
    """A return may stand anywhere behind its query; its first closing mark ends it, and so does a mark of the agent.
    False: it stands right behind, and ends with the last closing mark before the next return, for pages hold marks."""


_TAGS = Marks("<search>", re.compile("<information>"), "</information>", is_loose=True)
_R1 = Marks("<|begin_of_query|>", re.compile(r"<\|end_of_query\|>\s*<\|begin_of_documents\|>"), "<|end_of_documents|>")
_O1 = Marks(
    "<|begin_search_query|>",
    re.compile(r"<\|end_search_query\|>\s*<\|begin_search_result\|>"),
    "<|end_search_result|>",
)
_AGENT_TAG = re.compile(r"<(?:search|information|think|answer)>")
_QUERY_END = re.compile(r"(?:</?|</?search)?</search>|</?(?:search|information|think|answer)>")


def turns(text: str, marks: Marks) -> Iterator[tuple[str, str | None]]:
    """What the agent said and what came back on it, turn by turn; on its last words nothing did."""
    at, asked = 0, text.find(marks.query)
    for opened in marks.returns.finditer(text):
        # A return that no query asked for was made up by the agent.
        if opened.start() >= at and (not marks.is_loose or 0 <= asked < opened.start()):
            end, start = _end_of_return(text, opened.end(), marks)
            yield text[at : opened.start()], text[opened.end() : end]
            at, asked = start, text.find(marks.query, start)
    yield text[at:], None


def _end_of_return(text: str, start: int, marks: Marks) -> tuple[int, int]:
    """Where a return ends, and where the agent's next words begin."""
    following = marks.returns.search(text, start)
    stop = len(text) if following is None else following.start()
    close = (text.find if marks.is_loose else text.rfind)(marks.closes, start, stop)
    if close >= 0:
        return close, close + len(marks.closes)
    cut = _AGENT_TAG.search(text, start, stop) if marks.is_loose else None
    end = stop if cut is None else cut.start()
    return end, end


def _query(said: str, marks: Marks) -> str:
    query = _QUERY_END.split(said.rpartition(marks.query)[2], maxsplit=1)[0]
    return _SPECIAL_TOKEN.sub("", query).strip()


def speaker(message: object) -> str:
    """The clean role of a message; empty for what is none."""
    return cleaned(message.get("role", message.get("from"))) if isinstance(message, Mapping) else ""


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = deque(pattern.finditer(text), maxlen=1)
    return last[0] if last else None


# ---- Search-R1: <search>, <information>, <answer>

TEXT_FIELDS = ("output", "response", "completion", "text", "trajectory", "generated_text")
_PROMPT_FIELDS = ("input", "prompt", "query")
_REFERENCE_FIELDS = ("golden_answers", "gts", "ground_truth", "references", "answers", "reward_model")
_JSON = ('{"', "[{", "{'", "[[")
_OPENING_TAGS = ("<search>", "<information>", "<answer>")

_ASSISTANT = re.compile(r"<\|im_start\|>assistant\s*|<\|start_header_id\|>assistant<\|end_header_id\|>\s*")
_ASSISTANT_LINE = re.compile(r"^Assistant:\s*", re.MULTILINE)
_QUESTION = re.compile(r"\bQuestion:[ \t]*+([^\s<][^\n<]*)")
# Prompts spell out the tags, "between <search> and </search>", and give an example answer.
_INSTRUCTION = re.compile(r"<(think|search|information|answer)>(?:\s*(?:and|query|Beijing|\.\.\.)\s*)?</\1>")
_DOCUMENTS = re.compile(r"<information>\s*Doc\b")
_CUT_TOKENS = re.compile(r"(?:\s{0,9}<\|[a-z_]{1,30}\|>){1,9}\Z")
# The environment's reply to a malformed turn spells them out, too.
_INVALID_ACTION = re.compile(
    r"My previous action is invalid\."
    r"(?:\s*If I want to search, I should put the query between <search> and </search>\.)?"
    r"(?:\s*If I want to give the final answer, I should put the answer between <answer> and </answer>\.)?"
    r"(?:\s*Let me try again\.)?"
)
_OPENED = re.compile("<(search|answer)>")
_ANSWER_END = re.compile(r"</?(?:search|information|think|answer)>|</?a?n?s?w?e?r?\s*\Z")


class SearchR1Reader:
    """One rollout a record, the transcript a string of tags."""

    name = "search-r1"

    def recognises(self, record: Record) -> bool:
        """By tags in one of the text fields, or by search tags in chat messages."""
        text = _tagged_text(record)
        if text is not None and _holds_tags(text):
            # A page may hold an answer tag, too: of a transcript kept as JSON, or with named turns, it says nothing.
            return "<search>" in text or not (text.lstrip().startswith(_JSON) or text_transcript(record) is not None)
        messages = record.get("messages")
        return isinstance(messages, list) and any(
            speaker(message) == "assistant" and "<search>" in (_content(message) or "") for message in messages
        )

    def parse(self, record: Record, source: str) -> Parsed:
        """The tags as searches and an answer; a search without a return is not evidence of anything."""
        text, prompt = _transcript(record)
        sample_id = sample_id_of(record)
        question = _prompted_question(record, prompt, text or "")
        if question is None:
            reject("no question: expected 'question', or 'Question: …' in the prompt")
        if text is None:
            fields = ", ".join(TEXT_FIELDS)
            reject(f"no transcript: expected a text with tags in one of {fields}, messages", question, sample_id)
        calls, answer = _read_tags(_generated(_INVALID_ACTION.sub("", text), question.text))
        label = None if question.references else _score(record)
        searches = tuple(search for search in searches_of(calls) if search.evidence)
        rollout = Rollout(sample_id or 0, answer, searches, label, source=source)
        return Parsed(question, rollout, sample_id is not None)


def _holds_tags(text: str) -> bool:
    return any(tag in text for tag in _OPENING_TAGS)


def _tagged_text(record: Record) -> str | None:
    values = (record.get(name) for name in TEXT_FIELDS)
    inner = (value.get("final_response") if isinstance(value, Mapping) else value for value in values)
    texts = [value for value in inner if isinstance(value, str)]
    return next(filter(_holds_tags, texts), texts[0] if texts else None)


def _transcript(record: Record) -> tuple[str | None, str]:
    """What the agent wrote and saw, and the prompt before it."""
    prompts = [_content(record.get(name)) for name in _PROMPT_FIELDS]
    output = record.get("output")
    if isinstance(output, Mapping):
        prompts.append(_content(output.get("query")))
    text = _tagged_text(record)
    messages = record.get("messages")
    if isinstance(messages, list) and (text is None or not _holds_tags(text)):
        start = next((index for index, message in enumerate(messages) if speaker(message) == "assistant"), None)
        if start is not None:
            text = "\n".join(filter(None, map(_seen, messages[start:])))
            prompts.append(next((_content(m) for m in reversed(messages[:start]) if speaker(m) == "user"), None))
    return text, next(filter(None, prompts), "")


def _seen(message: object) -> str | None:
    """What the agent wrote or got back; what else the user's turns say may spell out the tags, as prompts do."""
    text = _content(message)
    if text is None or speaker(message) != "user":
        return text
    at, end = text.find("<information>"), text.rfind("</information>")
    return None if at < 0 else text[at : len(text) if end < 0 else end + len("</information>")]


def _content(value: object) -> str | None:
    """The text of a message, of a list of messages or of content parts."""
    if isinstance(value, Mapping):
        value = value.get("content", value.get("text"))
    if isinstance(value, list):
        return "\n".join(filter(None, [_content(item) for item in value if isinstance(item, Mapping | str)])) or None
    return value if isinstance(value, str) else None


def _prompted_question(record: Record, prompt: str, text: str) -> Question | None:
    stated = record.get("question")
    asked = stated if isinstance(stated, str) and stated.strip() else None
    if asked is None:
        found = _last(_QUESTION, prompt or _before_generated(text))
        asked = found[1].strip() if found else prompt.strip()
    question = question_of({**record, **dict.fromkeys((*_PROMPT_FIELDS, *TEXT_FIELDS)), "question": asked})
    listed = next(filter(None, (listed_references(record.get(name)) for name in _REFERENCE_FIELDS)), ())
    references = listed or stated_references(record)
    return None if question is None else replace(question, text=asked, references=references)


def _score(record: Record) -> float | None:
    output = record.get("output")
    for holder in (record, output if isinstance(output, Mapping) else {}):
        metrics = holder.get("metric_score")
        exact = metrics.get("em") if isinstance(metrics, Mapping) else None
        for value in (exact, holder.get("score"), holder.get("reward")):
            if not isinstance(value, str) and (label := label_value(value)) is not None:
                return label
    return None


def _before_generated(text: str) -> str:
    marker = _ASSISTANT.search(text) or _ASSISTANT_LINE.search(text)
    return text if marker is None else text[: marker.start()]


def _generated(text: str, question: str) -> str:
    """The text without the prompt, whose example tags would be taken for the agent's."""
    if marker := _ASSISTANT.search(text):
        return text[marker.end() :]
    documents = _DOCUMENTS.search(text)
    head = text if documents is None else text[: documents.start()]
    start = 0
    if question and (at := head.find(f"Question: {question}")) >= 0:
        start = at + len("Question: ") + len(question)
    elif (told := _last(_INSTRUCTION, head)) and (asked := _QUESTION.search(head, told.end())):
        start = asked.end()
    if (turn := _ASSISTANT_LINE.search(head, start)) and (start or "User:" in head[: turn.start()]):
        start = turn.end()
    return text[start:]


def _read_tags(text: str) -> tuple[list[ToolCall], str | None]:
    """The searches, and the last whole answer; one that was cut off counts where no search follows."""
    calls: list[ToolCall] = []
    answer: str | None = None
    cut: str | None = None
    for said, returned in turns(text, _TAGS):
        for tag in _OPENED.finditer(said):
            close = _ANSWER_END.search(said, tag.end()) if tag[1] == "answer" else None
            # The policies are taught to put one space on both sides of an answer.
            inner = trimmed(said[tag.end() : close.start() if close else None].removeprefix(" "))
            if close is not None and close[0] == "</answer>":
                answer = inner
            else:
                cut = _CUT_TOKENS.sub("", inner) if tag[1] == "answer" else None
        if returned is not None:
            chunks = split_ranked(_SPECIAL_TOKEN.sub("", returned))
            found = tuple(Result(chunk.text, chunk.title, rank=chunk.rank) for chunk in chunks)
            calls.append(ToolCall("search", {"query": _query(said, _TAGS)}, results=found, kind="search"))
    return calls, cut if answer is None else answer


# ---- R1-Searcher and Search-o1: <|begin_of_query|>, <|begin_search_query|>

_R1_FIELDS = ("gen_text_store", "gen_text", "output", "response", "text", "Output")
_NOTHING_NEW = re.compile(
    r"\s*(?:You have searched this query\. Please refer|The maximum search limit is exceeded\."
    r"|No helpful information found)"
)
"""What Search-o1's environment says instead of a result."""
_FINAL_INFORMATION = re.compile(r"(?<!\s)\s*+\*\*Final Information\*\*:?\s*")
_ASKED_LAST = re.compile(r"\bQuestion:[ \t]*\n?([^\n]{1,20000})")
_PROMPT_END = re.compile(r"<\|im_end\|>|<\|eot_id\|>|<\|im_start\|>|<\|start_header_id\|>")
_NUMBER = re.compile(r"^\((\d{1,3})\)", re.M)
_TITLED = re.compile(r"Title:[ \t]*+([^\n]{1,300}?)[ \t]+Text:[ \t]*")
_SPACED_TITLE = re.compile(r"([^\n]{1,200}?)(?:\t| {3})[ \t]*")


class R1SearcherReader:
    """One rollout a record, the transcript a string of marks; ``pred_ans`` is not read, since the text says the same.

    The verdict of R1-Searcher's judge, ``gpt4o_output``, is the label: exact match can always be computed from the
    reference beside it, the verdict cannot.
    """

    name = "r1-searcher"

    def recognises(self, record: Record) -> bool:
        """By the field that only these files have, or by the marks."""
        text = _r1_text(record) if isinstance(record, Mapping) else None
        if text is None:
            return False
        is_marked = any(row.query in text and row.returns.search(text) is not None for row in (_R1, _O1))
        return is_marked or "gen_text_store" in record or _is_search_o1(record)

    def parse(self, record: Record, source: str) -> Parsed:
        """The marks as searches; the answer stands behind the last return."""
        text = _r1_text(record)
        if text is None:
            fields = ", ".join(_R1_FIELDS)
            reject(f"no transcript: expected a text in one of {fields}", question_of(record), sample_id_of(record))
        marks = _O1 if _O1.query in text or _is_search_o1(record) else _R1
        calls: list[ToolCall] = []
        rest = ""
        for said, returned in turns(text, marks):
            rest = said
            if returned is not None:
                calls.append(_returned(_query(said, marks), returned, marks))
        has_answer = "<answer>" in rest or (marks is _O1 and "\\boxed" in rest)
        dialogue = Dialogue(tuple(calls), final=rest if has_answer else None)
        if marks is _R1:
            return parsed_dialogue(record, source, dialogue, label=label_value(record.get("gpt4o_output")))
        metrics = record.get("Metrics")
        label = None if references_of(record) or not isinstance(metrics, Mapping) else label_value(metrics.get("em"))
        # Ids number the questions of one file; the prompt that stands under the question's name is not the question.
        beside = {key: value for key, value in record.items() if key not in ("Question", "id")}
        return parsed_dialogue(beside, source, replace(dialogue, asked=_asked_last(record)), label=label)


def _is_search_o1(record: Record) -> bool:
    return "Output" in record and "Pred_Answer" in record and isinstance(record.get("Question"), str)


def _asked_last(record: Record) -> str | None:
    """The question at the end of the prompt that Search-o1 keeps in its place."""
    prompt = record.get("Question", record.get("question"))
    if not isinstance(prompt, str):
        return None
    last = _last(_ASKED_LAST, prompt)
    return _PROMPT_END.split(prompt[last.start(1) :] if last else prompt, maxsplit=1)[0].strip() or None


def _r1_text(record: Record) -> str | None:
    return next((value for name in _R1_FIELDS if isinstance(value := record.get(name), str)), None)


def _returned(query: str, documents: str, marks: Marks) -> ToolCall:
    call = ToolCall("search", {"query": query}, kind="search")
    if marks is _R1:
        return replace(call, results=tuple(_numbered(documents)))
    if _NOTHING_NEW.match(documents):
        return replace(call, results=())
    return replace(call, output=_FINAL_INFORMATION.sub("", documents, count=1))


def _numbered(documents: str) -> Iterator[Result]:
    """``(1)…`` lines in sequence; a number out of sequence belongs to a text."""
    starts: list[re.Match[str]] = []
    for number in _NUMBER.finditer(documents):
        if int(number[1]) == len(starts) + 1:
            starts.append(number)
    ends = [*(start.start() for start in starts[1:]), len(documents)]
    for rank, (start, end) in enumerate(zip(starts, ends, strict=False), start=1):
        text = documents[start.end() : end].strip()
        if len(text) > 1 and text[0] == text[-1] == '"':  # a row of a CSV corpus
            text = text[1:-1].replace('""', '"')
        title = _TITLED.match(text) or _SPACED_TITLE.match(text)
        yield Result(text[title.end() :], title[1].strip(), rank=rank) if title else Result(text, rank=rank)
