"""Runs of the OpenAI Agents SDK: a result's ``new_items``, or a saved run state.

Their raw items are those of the Responses API and are read in ``openai_responses.py``; a run saved with
``to_input_list`` holds nothing else and has that API's reader. Exported trace spans are not read here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracerank.readers.assemble import Assembly, parsed_dialogue, stated_answer
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.formats.openai_responses import read_item
from tracerank.readers.sources.record_fields import decoded, question_of, sample_id_of

# A saved state keeps what it sends to the model apart from the whole run, which handoffs may shorten.
_ITEM_FIELDS = ("new_items", "session_items", "generated_items")
_INPUT_FIELDS = ("input", "original_input")


class OpenAIAgentsReader:
    """One rollout a record: the items that a run produced."""

    name = "openai-agents"

    def recognises(self, record: Record) -> bool:
        """By items that wrap a raw item."""
        if not isinstance(record, Mapping):
            return False
        columns = (record.get(name) for name in _ITEM_FIELDS)
        is_column = any(isinstance(one, str) and one[:1] == "[" and '"raw_item":' in one for one in columns)
        return is_column or _items(record) is not None

    def parse(self, record: Record, source: str) -> Parsed:
        """The run as a rollout; a structured final output says the answer outright."""
        plain = decoded(record, *_ITEM_FIELDS)
        given = next((value for name in _INPUT_FIELDS if (value := plain.get(name))), None)
        fields = {name: value for name, value in plain.items() if name not in _INPUT_FIELDS}
        items = _items(plain)
        if items is None:
            reason = f"no items: expected a list of run items in one of {', '.join(_ITEM_FIELDS)}"
            reject(reason, question_of({**fields, "input": given}), sample_id_of(fields))
        builder = Assembly()
        if isinstance(given, str):
            builder.ask(given)
        for item in (*(given if isinstance(given, list) else ()), *_raw_items(items)):
            read_item(builder, item)
        dialogue = builder.dialogue()
        stated = plain.get("final_output")
        if isinstance(stated, Mapping) and (answer := stated_answer(stated)) is not None:
            dialogue = replace(dialogue, final=answer)
        return parsed_dialogue(fields, source, dialogue)


def _items(record: Record) -> list[Any] | None:
    for name in _ITEM_FIELDS:
        items = record.get(name)
        if isinstance(items, list) and any(
            isinstance(item, Mapping) and isinstance(item.get("raw_item"), Mapping) for item in items
        ):
            return items
    return None


def _raw_items(items: list[Any]) -> Iterator[Mapping[str, Any]]:
    for item in items:
        raw = item.get("raw_item") if isinstance(item, Mapping) else None
        if isinstance(raw, Mapping):
            # What the tool returned itself; the raw item holds Python's spelling of it as text.
            output = item.get("output")
            yield {**raw, "output": output} if isinstance(output, list | dict) and "output" in raw else raw
