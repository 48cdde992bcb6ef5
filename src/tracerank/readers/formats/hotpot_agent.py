"""Evaluation files of a HotpotQA agent: questions, predictions and the queries used, without any passage.

Searches have no evidence, so the rollouts follow the browsing rule, which lets every answer vote. Of the metrics beside
a prediction only ``em`` is read, as the label; the others, ``f1`` to ``outcome``, came from the reference, too.
"""

from collections.abc import Mapping
from dataclasses import replace

from tracerank.pools.types import BROWSING
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.record_fields import Dialogue, label_value, parsed_dialogue, question_of, sample_id_of
from tracerank.readers.calls.tool_calls import ToolCall, queries_of
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
        queries = record.get(_QUERIES)
        if not isinstance(queries, list):
            reason = f"field '{_QUERIES}': expected a list of queries"
            reject(reason, question_of(record), sample_id_of(record))
        asked = queries_of({"queries": queries})
        calls = tuple(ToolCall("search", {"query": query}, kind="search") for query in asked)
        dialogue = Dialogue(calls, final=plain_text(record.get("prediction")))
        # The bare 'id' is that of the question here.
        fields = {"question_id": record.get("id"), **record}
        parsed = parsed_dialogue(fields, source, dialogue, label=label_value(record.get("em")))
        return replace(parsed, rollout=replace(parsed.rollout, setting=BROWSING))
