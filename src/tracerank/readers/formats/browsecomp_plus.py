"""BrowseComp-Plus run files: one query a file, its tool calls and texts in ``result``.

The files hold no question text: pools are told apart by ``query_id``, and the text may come from a sibling or be empty.
"""

from collections.abc import Mapping, Sequence

from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.record_fields import Dialogue, parsed_dialogue, question_of, sample_id_of
from tracerank.readers.calls.tool_calls import ToolCall, parse_arguments
from tracerank.readers.calls.tool_names import TOOL_NAMES
from tracerank.readers.values import text_of

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
