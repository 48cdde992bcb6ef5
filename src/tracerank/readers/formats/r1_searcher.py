"""R1-Searcher transcripts: one text with ``<|begin_of_query|>``, ``<|begin_of_documents|>`` and ``<answer>`` marks.

The verdict of the judge, ``gpt4o_output``, is the label: the reference stays beside it, so exact match can always be
computed, the verdict cannot. ``pred_ans`` is not read; the text says the same.
"""

import re
from collections.abc import Iterator, Mapping

from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.dialogues import Dialogue, parsed_dialogue
from tracerank.readers.calls.results import Result
from tracerank.readers.calls.tool_calls import ToolCall
from tracerank.readers.files.record_fields import label_value, question_of, sample_id_of

_TEXT_FIELDS = ("gen_text_store", "gen_text", "output", "response", "text")
_QUERY = "<|begin_of_query|>"
_DOCUMENTS, _DOCUMENTS_END = "<|begin_of_documents|>", "<|end_of_documents|>"
# A return follows its query; documents that nobody asked for are part of a page or of the agent's dreams.
_RETURN = re.compile(r"<\|end_of_query\|>\s*<\|begin_of_documents\|>")
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
        return text is not None and ("gen_text_store" in record or (_QUERY in text and _DOCUMENTS in text))

    def parse(self, record: Record, source: str) -> Parsed:
        """The marks as searches; the answer stands behind the last return."""
        text = _text(record)
        if text is None:
            fields = ", ".join(_TEXT_FIELDS)
            reject(f"no transcript: expected a text in one of {fields}", question_of(record), sample_id_of(record))
        calls, rest = _read(text)
        dialogue = Dialogue(calls, final=rest if "<answer>" in rest else None)
        return parsed_dialogue(record, source, dialogue, label=label_value(record.get("gpt4o_output")))


def _text(record: Record) -> str | None:
    return next((value for name in _TEXT_FIELDS if isinstance(value := record.get(name), str)), None)


def _read(text: str) -> tuple[tuple[ToolCall, ...], str]:
    """The searches of a transcript, and what the agent wrote after the last return."""
    calls: list[ToolCall] = []
    rest = text
    returns = list(_RETURN.finditer(text))
    ends = [*(found.start() for found in returns[1:]), len(text)]
    before = text[: returns[0].start()] if returns else ""
    for found, end in zip(returns, ends, strict=False):
        query = before.rpartition(_QUERY)[2].strip()
        # The environment closes a return behind all of its text: marks inside belong to a page.
        documents, closed, rest = text[found.end() : end].rpartition(_DOCUMENTS_END)
        if not closed:
            documents, rest = rest, ""
        calls.append(ToolCall("search", {"query": query}, results=tuple(_results(documents)), kind="search"))
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
