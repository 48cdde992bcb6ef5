"""Run files of two evaluation harnesses: a HotpotQA agent's, and BrowseComp-Plus's.

The first hold questions, predictions and the queries used, without any passage, so the rollouts follow the browsing
rule, which lets every answer vote; of the metrics beside a prediction only ``em`` is read, as the label. The second
hold one query a file without its text: pools are told apart by ``query_id``, and the text may come from a sibling.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracerank.pools.types import BROWSING
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.sources.record_fields import label_value, question_of, sample_id_of
from tracerank.readers.tools import TOOL_NAMES, ToolCall, parse_arguments, queries_of
from tracerank.readers.values import plain_text, text_of

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


_NAMES = TOOL_NAMES.extended(search=("local_knowledge_base_retrieval",), open=("get_document",))


class BrowseCompPlusReader:
    """One rollout a file: calls, reasoning and output text in order."""

    name = "browsecomp-plus"

    def recognises(self, record: Record) -> bool:
        """By its query id and a list of typed results."""
        if not isinstance(record, Mapping) or "query_id" not in record:
            return False
        items = record.get("result")
        return isinstance(items, list) and (
            any(isinstance(item, Mapping) and "type" in item and "tool_name" in item for item in items)
            or "retrieved_docids" in record
        )

    def parse(self, record: Record, source: str) -> Parsed:
        """The run as a rollout; a run that ends without output text has no answer."""
        items = record.get("result")
        if not isinstance(items, list):
            reason = "field 'result': expected a list of tool calls and texts"
            reject(reason, question_of(record), sample_id_of(record))
        calls = tuple(_call(item) for item in items if isinstance(item, Mapping) and item.get("type") == "tool_call")
        return parsed_dialogue(record, source, Dialogue(calls, final=_final(items)), names=_NAMES)


def _call(item: Mapping[str, object]) -> ToolCall:
    name = item.get("tool_name")
    return ToolCall(name if isinstance(name, str) else "", parse_arguments(item.get("arguments")), item.get("output"))


def _final(items: Sequence[object]) -> str | None:
    """The output text after the last call; some clients write it in several pieces."""
    texts: list[str] = []
    for item in items:
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind == "tool_call":
            texts.clear()
        elif kind == "output_text" and isinstance(item, Mapping):
            texts.append(text_of(item.get("output")))
    return "\n".join(texts) if any(text.strip() for text in texts) else None
