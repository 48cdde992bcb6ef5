"""Rows of evaluation harnesses that are no transcripts: queries and documents in fields of their own.

A HotpotQA agent's hold the queries without any passage, so that their rollouts follow the browsing rule, which lets
every answer vote. FlashRAG's hold an item of a data set with the retriever's return: one search, one for each query, or
one an iteration. Metrics are read as labels only.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracerank.pools.types import BROWSING
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.sources.record_fields import label_value, question_of, references_of, sample_id_of
from tracerank.readers.tools import ToolCall, queries_of
from tracerank.readers.values import plain_text

_QUERIES = "queries_used"


class HotpotAgentReader:
    """One rollout an item: the queries and the answer."""

    name = "hotpot-agent"

    def recognises(self, record: Record) -> bool:
        """By its list of queries beside a prediction."""
        return isinstance(record, Mapping) and isinstance(record.get(_QUERIES), list) and "prediction" in record

    def parse(self, record: Record, source: str) -> Parsed:
        """The item as a rollout whose searches brought nothing that was logged."""
        if not isinstance(record.get(_QUERIES), list):
            reason = f"field '{_QUERIES}': expected a list of queries"
            reject(reason, question_of(record), sample_id_of(record))
        calls = tuple(_search(query, None) for query in queries_of({"queries": record[_QUERIES]}))
        dialogue = Dialogue(calls, final=plain_text(record.get("prediction")))
        # The bare 'id' is that of the question here.
        fields = {"question_id": record.get("id"), **record}
        parsed = parsed_dialogue(fields, source, dialogue, label=label_value(record.get("em")))
        return replace(parsed, rollout=replace(parsed.rollout, setting=BROWSING))


# ---- FlashRAG

_ONCE, _BY_QUERY = "retrieval_result", "retrieval_results"
_ITERATION = re.compile(r"retrieval_result_iter_(\d{1,6})")
_ANSWERS = ("pred", "raw_pred")
"""The first as the harness read it out of the second."""


class FlashRAGReader:
    """One rollout an item."""

    name = "flashrag"

    def recognises(self, record: Record) -> bool:
        """By retrieved documents beside an answer."""
        output = record.get("output") if isinstance(record, Mapping) else None
        if not isinstance(output, Mapping) or not any(name in output for name in _ANSWERS):
            return False
        return any(name in output for name in (_ONCE, _BY_QUERY)) or any(map(_iteration, output))

    def parse(self, record: Record, source: str) -> Parsed:
        """The retrievals as searches; what was asked of the retriever is the question where nothing else says it."""
        output = record.get("output")
        # The bare id is that of the question here.
        fields = {"question_id": record.get("id"), **{k: v for k, v in record.items() if k != "output"}}
        question = question_of(fields)
        if question is None:
            reject("no question: expected 'question' or 'id'")
        if not isinstance(output, Mapping):
            reject("field 'output': expected an object", question, sample_id_of(fields))
        said = next((text for name in _ANSWERS if (text := plain_text(output.get(name))) and text.strip()), None)
        scores = output.get("metric_score")
        exact = label_value(scores.get("em")) if isinstance(scores, Mapping) else None
        dialogue = Dialogue(tuple(_retrievals(output, question.text)), question.text, said)
        return parsed_dialogue(fields, source, dialogue, label=None if references_of(fields) else exact)


def _retrievals(output: Mapping[str, Any], question: str) -> Iterator[ToolCall]:
    by_query = output.get(_BY_QUERY)
    if isinstance(by_query, Mapping | list) and by_query:
        for found in by_query.values() if isinstance(by_query, Mapping) else by_query:
            if isinstance(found, Mapping):
                yield _search(found.get("query"), found.get("docs"))
        return
    iterations = sorted(int(found[1]) for name in output if (found := _iteration(name)))
    for number in iterations:
        # Each further round asks with what the last one said.
        before = plain_text(output.get(f"pred_iter_{number - 1}")) if number else None
        yield _search(f"{question} {before}" if before else question, output[f"{_ONCE}_iter_{number}"])
    if not iterations:
        yield _search(question, output.get(_ONCE))


def _search(query: object, documents: object) -> ToolCall:
    return ToolCall("search", {"query": query} if isinstance(query, str) else {}, documents, kind="search")


def _iteration(name: object) -> re.Match[str] | None:
    return _ITERATION.fullmatch(name) if isinstance(name, str) else None
