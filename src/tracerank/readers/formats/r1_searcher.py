"""R1-Searcher and Search-o1 transcripts: one text with marks around queries and what came back.

R1-Searcher writes ``<|begin_of_query|>``, ``<|begin_of_documents|>`` and ``<answer>``; the verdict of its judge,
``gpt4o_output``, is the label: the reference stays beside it, so exact match can always be computed, the verdict
cannot. Search-o1 writes ``<|begin_search_query|>``, ``<|begin_search_result|>`` and a box. ``pred_ans`` and
``Pred_Answer`` are not read; the text says the same.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.results import Result
from tracerank.readers.sources.record_fields import label_value, question_of, references_of, sample_id_of
from tracerank.readers.tools import ToolCall

_TEXT_FIELDS = ("gen_text_store", "gen_text", "output", "response", "text", "Output")


class _Marks(NamedTuple):
    """What a model writes around a query, and its environment around a return."""

    query: str
    documents: str
    documents_end: str
    asked: re.Pattern[str]
    """A return follows its query; documents that nobody asked for are part of a page or of the agent's dreams."""


_R1 = _Marks(
    *("<|begin_of_query|>", "<|begin_of_documents|>", "<|end_of_documents|>"),
    re.compile(r"<\|end_of_query\|>\s*<\|begin_of_documents\|>"),
)
_O1 = _Marks(
    *("<|begin_search_query|>", "<|begin_search_result|>", "<|end_search_result|>"),
    re.compile(r"<\|end_search_query\|>\s*<\|begin_search_result\|>"),
)
_NOTHING_NEW = re.compile(
    r"\s*(?:You have searched this query\. Please refer|The maximum search limit is exceeded\."
    r"|No helpful information found)"
)
"""What Search-o1's environment says instead of a result."""
_FINAL_INFORMATION = re.compile(r"\s*\*\*Final Information\*\*:?\s*")
_ASKED_LAST = re.compile(r"\bQuestion:[ \t]*\n?([^\n]{1,20000})")
_PROMPT_END = re.compile(r"<\|im_end\|>|<\|eot_id\|>|<\|im_start\|>|<\|start_header_id\|>")
_NUMBER = re.compile(r"^\((\d{1,3})\)", re.M)
_TITLED = re.compile(r"Title:[ \t]*([^\n]{1,300}?)[ \t]+Text:[ \t]*")
_SPACED_TITLE = re.compile(r"([^\n]{1,200}?)(?:\t| {3})[ \t]*")


class R1SearcherReader:
    """One rollout a record, the transcript a string of marks."""

    name = "r1-searcher"

    def recognises(self, record: Record) -> bool:
        """By the field that only these files have, or by the marks."""
        if not isinstance(record, Mapping):
            return False
        text = _text(record)
        if text is None:
            return False
        return "gen_text_store" in record or _is_search_o1(record) or any(_is_marked(text, one) for one in (_R1, _O1))

    def parse(self, record: Record, source: str) -> Parsed:
        """The marks as searches; the answer stands behind the last return."""
        text = _text(record)
        if text is None:
            fields = ", ".join(_TEXT_FIELDS)
            reject(f"no transcript: expected a text in one of {fields}", question_of(record), sample_id_of(record))
        marks = _O1 if _O1.query in text or _is_search_o1(record) else _R1
        calls, rest = _read(text, marks)
        if marks is _R1:
            dialogue = Dialogue(calls, final=rest if "<answer>" in rest else None)
            return parsed_dialogue(record, source, dialogue, label=label_value(record.get("gpt4o_output")))
        dialogue = Dialogue(calls, _asked(record), rest if "\\boxed" in rest or "<answer>" in rest else None)
        metrics = record.get("Metrics")
        label = None if references_of(record) or not isinstance(metrics, Mapping) else label_value(metrics.get("em"))
        # Ids number the questions of one file; the prompt that stands under the question's name is not the question.
        beside = {key: value for key, value in record.items() if key not in ("Question", "id")}
        return parsed_dialogue(beside, source, dialogue, label=label)


def _is_search_o1(record: Record) -> bool:
    return "Output" in record and "Pred_Answer" in record and isinstance(record.get("Question"), str)


def _is_marked(text: str, marks: _Marks) -> bool:
    return marks.query in text and marks.documents in text


def _asked(record: Record) -> str | None:
    """The question at the end of the prompt that Search-o1 keeps in its place."""
    prompt = record.get("Question", record.get("question"))
    if not isinstance(prompt, str):
        return None
    last = deque(_ASKED_LAST.finditer(prompt), maxlen=1)
    asked = prompt[last[0].start(1) :] if last else prompt
    end = _PROMPT_END.search(asked)
    return (asked if end is None else asked[: end.start()]).strip() or None


def _text(record: Record) -> str | None:
    return next((value for name in _TEXT_FIELDS if isinstance(value := record.get(name), str)), None)


def _read(text: str, marks: _Marks) -> tuple[tuple[ToolCall, ...], str]:
    """The searches of a transcript, and what the agent wrote after the last return."""
    calls: list[ToolCall] = []
    rest = text
    returns = list(marks.asked.finditer(text))
    ends = [*(found.start() for found in returns[1:]), len(text)]
    before = text[: returns[0].start()] if returns else ""
    for found, end in zip(returns, ends, strict=False):
        query = before.rpartition(marks.query)[2].strip()
        # The environment closes a return behind all of its text: marks inside belong to a page.
        documents, closed, rest = text[found.end() : end].rpartition(marks.documents_end)
        if not closed:
            documents, rest = rest, ""
        if marks is _R1:
            calls.append(ToolCall("search", {"query": query}, results=tuple(_results(documents)), kind="search"))
        else:
            is_empty = _NOTHING_NEW.match(documents) is not None
            told = _FINAL_INFORMATION.sub("", documents, count=1)
            calls.append(ToolCall("search", {"query": query}, told, results=() if is_empty else None, kind="search"))
        before = rest
    return tuple(calls), rest


def _results(documents: str) -> Iterator[Result]:
    """``(1)…`` lines in sequence; a number out of sequence belongs to a text."""
    starts: list[re.Match[str]] = []
    for number in _NUMBER.finditer(documents):
        if int(number[1]) == len(starts) + 1:
            starts.append(number)
    ends = [*(start.start() for start in starts[1:]), len(documents)]
    for rank, (start, end) in enumerate(zip(starts, ends, strict=False), start=1):
        yield _result(documents[start.end() : end].strip(), rank)


def _result(text: str, rank: int) -> Result:
    if len(text) > 1 and text[0] == text[-1] == '"':  # a row of a CSV corpus
        text = text[1:-1].replace('""', '"')
    title = _TITLED.match(text) or _SPACED_TITLE.match(text)
    if title is None:
        return Result(text, rank=rank)
    return Result(text[title.end() :], title[1].strip(), rank=rank)
