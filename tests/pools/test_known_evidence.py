"""Equal evidence is made once, and only what is equal to the last type counts as equal."""

from typing import Any

import pytest

from tracerank.errors import MalformedRollout
from tracerank.pools import canonical
from tracerank.pools.canonical import KNOWN_CHARACTERS, KNOWN_EVIDENCE, record_to_parsed
from tracerank.pools.types import Evidence


def read(*evidence: dict[str, Any]) -> tuple[Evidence, ...]:
    row = record_to_parsed({"question_id": "q", "answer": "a", "searches": [{"evidence": list(evidence)}]})
    return row.rollout.searches[0].evidence


def test_what_many_rollouts_saw_is_made_once() -> None:
    (first,), (again, other) = read({"text": "A  b", "rank": 1}), read({"text": "A  b", "rank": 1}, {"text": "A  b"})
    assert again is first
    assert (first.text, first.rank) == ("A b", 1)
    assert (other.text, other.rank) == ("A b", None)


def test_a_known_text_excuses_no_wrong_field() -> None:
    read({"text": "A", "rank": 1})
    for wrong in (True, 1.0, "1"):
        with pytest.raises(MalformedRollout, match=r"searches\[0\].evidence\[0\].rank"):
            read({"text": "A", "rank": wrong})


def test_memory_is_bounded() -> None:
    read(*({"text": f"text {number}"} for number in range(3 * KNOWN_EVIDENCE)))
    assert len(canonical._KNOWN) <= KNOWN_EVIDENCE
    one, two = (read({"text": "x", "title": "t" * KNOWN_CHARACTERS})[0] for _ in range(2))
    assert one == two
    assert one is not two
