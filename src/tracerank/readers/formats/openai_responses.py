"""OpenAI Responses: one response, its batch line, or a list of items as the Agents SDK's ``to_input_list`` gives it.

Finds the items in a record and reads them one by one: messages, hosted searches, functions and their outputs.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracerank.pools.urls import canonical_url
from tracerank.readers.assemble import FILE_SEARCH, Assembly, asked_question, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.results import Result, blocks_of, cited_results
from tracerank.readers.sources.record_fields import decoded, lists_any, sample_id_of
from tracerank.readers.tools import ToolCall, parse_arguments
from tracerank.readers.values import part_text, said_of, text_of

_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
HOSTED_CALLS = ("web_search_call", "file_search_call", "mcp_call")
TELLING_TYPES = frozenset((*_CALLS, *_OUTPUTS, *HOSTED_CALLS))
"""Types that no other format gives its items."""
_OPENED, _FOUND = ("open_page", "open"), ("find_in_page", "find")
_FAILED = ("failed", "incomplete")


def read_item(builder: Assembly, item: object) -> bool:
    """Add what one item says to the dialogue; whether it is a call that researches."""
    if not isinstance(item, Mapping):
        return False
    kind = item.get("type")
    if kind in ("message", None):
        _read_message(builder, item)
    elif kind in HOSTED_CALLS:
        return builder.call(_hosted_call(kind, item))
    elif kind in _CALLS:
        arguments = parse_arguments(item.get("arguments", item.get("input")))
        return builder.call(ToolCall(_text(item.get("name")), arguments), item.get("call_id", item.get("id")))
    elif kind in _OUTPUTS:
        builder.returned(item.get("call_id"), item.get("output"))
    return False


def web_call(action: object, results: object = None, *, is_error: bool = False) -> ToolCall:
    """A hosted web search, page or find by its action; logs without actions are of searches."""
    fields: Mapping[str, Any] = action if isinstance(action, Mapping) else {}
    kind, url = fields.get("type"), fields.get("url")
    if kind in (*_OPENED, *_FOUND):
        page = (Result(url=url),) if not is_error and canonical_url(url) is not None else ()
        if kind in _OPENED:
            return ToolCall("open_page", {"url": url}, results=page, kind="open")
        return ToolCall("find_in_page", {"url": url, "pattern": fields.get("pattern")}, results=page, kind="find")
    queries = fields.get("queries")
    asked = queries if isinstance(queries, list) and queries else fields.get("query")
    shown = () if is_error else tuple(_sources(fields.get("sources"), results))
    return ToolCall("web_search", {"query": asked}, results=shown, kind="search")


def cited_in(part: object) -> tuple[Result, ...]:
    """The web pages and files that a part of an answer cites."""
    if not isinstance(part, Mapping):
        return ()
    annotations = part.get("annotations", part.get("citations"))
    return (*cited_results(part_text(dict(part)), annotations), *_cited_files(annotations))


def _cited_files(annotations: object) -> Iterator[Result]:
    for annotation in annotations if isinstance(annotations, list) else ():
        if isinstance(annotation, Mapping) and annotation.get("type") == "file_citation":
            name, identity = annotation.get("filename"), annotation.get("file_id")
            if isinstance(identity, str) and identity:
                yield Result(title=name if isinstance(name, str) else None, doc_id=identity)


def _read_message(builder: Assembly, item: Mapping[str, Any]) -> None:
    content = item.get("content")
    if item.get("role") == "user":
        builder.ask(text_of(content))
    elif item.get("role") == "assistant":
        parts = content if isinstance(content, list) else ()
        cited = [result for part in parts for result in cited_in(part)]
        builder.say(said_of(content), cited, is_final=item.get("phase") != "commentary")


def _hosted_call(kind: str, item: Mapping[str, Any]) -> ToolCall:
    is_error = item.get("status") in _FAILED or bool(item.get("error"))
    results = item.get("results")
    if kind == "web_search_call":
        return web_call(item.get("action"), results, is_error=is_error)
    if kind == "file_search_call":
        # Without the list that must be asked for, only citations tell what was found.
        found = None if isinstance(results, list) and not is_error else ()
        return ToolCall(FILE_SEARCH, {"queries": item.get("queries")}, results, is_error, results=found, kind="search")
    arguments = parse_arguments(item.get("arguments"))
    return ToolCall(_text(item.get("name")), arguments, item.get("output"), is_error)


def _sources(sources: object, results: object) -> Iterator[Result]:
    """The listed addresses; sources that are services, not pages, have none."""
    for block in blocks_of(results if isinstance(results, list) else None) or blocks_of(
        sources if isinstance(sources, list) else None
    ):
        yield from (result for result in block if result.url is not None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_ITEM_FIELDS = (
    *("output", "items", "response_items", "input_list", "history", "messages", "conversation", "trajectory"),
    *("rollout", "data", "response", "input"),
)
# Inside a JSON string quotes are escaped, so that no page can look like this.
_TELLING = re.compile(rf'"type"\s{{0,3}}:\s{{0,3}}"(?:{"|".join(sorted(TELLING_TYPES))})"')
_JSON_FIELDS = ("output", "items", "input", "response", "data", "input_list")


class OpenAIResponsesReader:
    """One rollout a record: the items of a response, or of all turns of a run."""

    name = "openai-responses"

    def recognises(self, record: Record) -> bool:
        """By an item that only this API has; a response that failed may have none."""
        if not isinstance(record, Mapping):
            return False
        return any(
            (holder.get("object") == "response" and isinstance(holder.get("output"), list))
            or any(lists_any(holder.get(name), _TELLING, _is_item) for name in _ITEM_FIELDS)
            for holder in _holders(record)
        )

    def parse(self, record: Record, source: str) -> Parsed:
        """The items as a rollout; the answer is extracted from the last message."""
        plain = decoded(record, *_JSON_FIELDS)
        items = _items(plain)
        # A list under 'input' was read as items: its first user message is the question, not its last.
        fields = {name: value for name, value in plain.items() if name != "input" or isinstance(value, str)}
        if items is None:
            reason = f"no items: expected a list of response items in one of {', '.join(_ITEM_FIELDS)}"
            reject(reason, asked_question(fields), sample_id_of(fields))
        builder = Assembly()
        for item in items:
            read_item(builder, item)
        dialogue = builder.dialogue()
        return parsed_dialogue(fields, source, dialogue, question=asked_question(fields, dialogue.asked))


def _holders(record: Record) -> tuple[Record, ...]:
    """The record and what it wraps: a response, or the body of a batch line's response."""
    response = record.get("response")
    if not isinstance(response, Mapping):
        return (record,)
    body = response.get("body")
    return (record, response, body) if isinstance(body, Mapping) else (record, response)


def _items(record: Record) -> list[Any] | None:
    """All items in order: the given ones before those of the response, where both are logged."""
    for holder in reversed(_holders(record)):
        for name in _ITEM_FIELDS:
            items = holder.get(name)
            if isinstance(items, list) and (name == "output" or any(isinstance(item, Mapping) for item in items)):
                given = next((inner for one in (holder, record) if isinstance(inner := one.get("input"), list)), [])
                return items if items is given else [*given, *items]
    return None


def _is_item(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    kind = item.get("type")
    if kind != "message":
        return isinstance(kind, str) and kind in TELLING_TYPES
    content = item.get("content")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and part.get("type") == "output_text" for part in content
    )
