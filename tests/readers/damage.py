"""A reader and a sound record: whatever happens to the record, it parses or is refused, and quickly."""

import json
import time
from contextlib import suppress
from random import Random
from typing import Any

from tests.readers.mutations import mutated
from tracerank.errors import MalformedRollout
from tracerank.readers.base import Reader

SECONDS = 1.0
"""What a record may take."""


def reads_or_refuses(reader: Reader, damaged: Any) -> None:
    """Fails when a record raises anything but MalformedRollout, or gives a question that cannot be grouped."""
    reader.recognises(damaged)
    try:
        parsed = reader.parse(damaged, "log.jsonl:1")
    except MalformedRollout:
        return
    assert parsed.question.id or not parsed.question.text


def survives(reader: Reader, record: dict[str, Any], chance: Random) -> None:
    """Fails when a damaged copy of the record raises anything but MalformedRollout, or takes long."""
    try:
        damaged = json.loads(mutated(record, chance))
    except (ValueError, RecursionError):
        return  # no longer JSON that can be read: the business of records.py
    start = time.process_time()
    if isinstance(damaged, dict):
        reader.recognises(damaged)
    with suppress(MalformedRollout):
        reader.parse(damaged, "f:1")
    assert time.process_time() - start < SECONDS
