"""OpenInference attributes, as Phoenix and its instrumentations write them: what a span is, its messages, documents.

Reads attributes only; where they stand in a record is read in ``otel.py``.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.readers.files.loose_json import load_json
from tracerank.readers.telemetry.attributes import Attributes, nested_value
from tracerank.readers.telemetry.spans import SpanKind

_KIND = "openinference.span.kind"
_KINDS: Mapping[str, SpanKind] = {
    **dict.fromkeys(("AGENT", "CHAIN"), "agent"),
    "LLM": "model",
    "TOOL": "tool",
    "RETRIEVER": "search",
    **dict.fromkeys(("EVALUATOR", "GUARDRAIL"), "judge"),
    **dict.fromkeys(("EMBEDDING", "RERANKER", "PROMPT", "UNKNOWN"), "other"),
}


def openinference_fields(attributes: Attributes, stated: str | None = None) -> dict[str, Any] | None:
    """The fields of a span; ``stated`` is a kind that stands beside the attributes. None: another convention."""
    named = attributes.get(_KIND, stated)
    kind = _KINDS.get(named.upper()) if isinstance(named, str) else None
    if kind is None:
        return None
    given = nested_value(attributes, "input.value")
    returned = nested_value(attributes, "output.value")
    fields: dict[str, Any] = {"kind": kind, "input": given, "output": returned}
    if kind == "model":
        fields["input"] = _messages(attributes, "llm.input_messages") or given
        fields["output"] = _messages(attributes, "llm.output_messages") or returned
    elif kind == "tool":
        name = attributes.get("tool.name", attributes.get("tool_call.function.name"))
        if isinstance(name, str):
            fields["name"] = name
        if given is None:
            # Often the schema of the tool, so what it was given comes first.
            arguments = nested_value(attributes, "tool_call.function.arguments")
            fields["input"] = arguments if arguments is not None else nested_value(attributes, "tool.parameters")
    elif kind == "search":
        if given is None:
            fields["input"] = attributes.get("retrieval.query")
        documents = nested_value(attributes, "retrieval.documents")
        if isinstance(documents, list):
            fields["documents"] = [_document(item) for item in documents]
    return fields


def _messages(attributes: Attributes, name: str) -> list[dict[str, Any]]:
    found = nested_value(attributes, name)
    return [_message(item) for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    inner = item.get("message")
    message = dict(inner) if isinstance(inner, Mapping) else dict(item)
    parts = message.pop("contents", None)
    if isinstance(parts, list):
        contents = [part.get("message_content") for part in parts if isinstance(part, Mapping)]
        message.setdefault("content", [dict(part) for part in contents if isinstance(part, Mapping)])
    message.setdefault("content", "")
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [call.get("tool_call", call) if isinstance(call, Mapping) else call for call in calls]
    return message


def _document(item: object) -> dict[str, Any]:
    inner = item.get("document") if isinstance(item, Mapping) else None
    fields = inner if isinstance(inner, Mapping) else {}
    metadata = fields.get("metadata")
    if isinstance(metadata, str):
        metadata = load_json(metadata)
    document = {"text": fields.get("content"), "id": fields.get("id")}
    return {**document, "metadata": metadata} if isinstance(metadata, Mapping) else document
