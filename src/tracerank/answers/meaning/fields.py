"""Answers that are JSON objects, as agents with a schema give them: two are the same if each of their fields is."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracerank.answers.equivalence import NO_GROUP

ASIDES = frozenset((
    *("analysis", "chain_of_thought", "citations", "confidence", "evidence", "explanation", "rationale", "reason"),
    *("reasoning", "sources", "steps", "thought", "thoughts", "why"),
))  # fmt: skip
"""Fields beside the answer, by their names in small letters."""
ANSWER_FIELDS = frozenset(("answer", "final_answer", "exact_answer", "short_answer"))
"""An object with one of these is read as that field alone."""

Grouping = Callable[[Sequence[str | None], str], Sequence[int]]


def objects_in(answers: Sequence[str | None]) -> list[Mapping[str, Any] | None] | None:
    """The fields of the answers, without asides; None: not all of them are objects, or they name their answer."""
    found: list[Mapping[str, Any] | None] = []
    for answer in answers:
        text = None if answer is None else answer.strip()
        if text and not (text[0] == "{" and text[-1] == "}"):
            return None
        try:
            value = json.loads(text) if text else None
        except (ValueError, RecursionError):
            return None
        own = {name: each for name, each in value.items() if name.lower() not in ASIDES} if value else None
        if own is not None and not ANSWER_FIELDS.isdisjoint(map(str.lower, own)):
            return None
        found.append(own)
    return found if any(found) else None


def grouped_by_fields(
    objects: Sequence[Mapping[str, Any] | None], question: str, grouping: Grouping
) -> tuple[int, ...]:
    """A group number per object; ``NO_GROUP`` where no field says anything."""
    names = dict.fromkeys(name for one in objects for name in one or ())
    about = question if len(names) == 1 else ""  # of several fields each answers a part of it
    columns = [_column([None if one is None else one.get(name) for one in objects], about, grouping) for name in names]
    numbers: dict[tuple[int, ...], int] = {}
    rows = zip(*columns, strict=True)
    return tuple(NO_GROUP if {*row} == {NO_GROUP} else numbers.setdefault(row, len(numbers)) for row in rows)


def _column(values: Sequence[Any], question: str, grouping: Grouping) -> Sequence[int]:
    """Equal numbers for values of a field that are the same: texts by their meaning, others as they are."""
    if all(value is None or isinstance(value, str) for value in values):
        return grouping(values, question)
    seen: dict[str, int] = {}
    texts = [None if value is None else json.dumps(value, sort_keys=True) for value in values]
    return [NO_GROUP if text is None else seen.setdefault(text, len(seen)) for text in texts]
