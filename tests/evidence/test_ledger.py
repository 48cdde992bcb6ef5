"""A table that grows by one rollout is the table of all of them: nothing that is remembered goes stale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import ranked, rollout
from tests.evidence.test_choosing import QUESTION, searching
from tracerank.evidence.table import TableBuilder, evidence_table
from tracerank.pools.types import Rollout
from tracerank.selectors.features import view

rollouts = st.lists(searching(), min_size=1, max_size=9)


def agree(question: str, found: list[Rollout]) -> None:
    ledger = TableBuilder(question)
    for count, one in enumerate(found, start=1):
        ledger.add(one)
        grown, afresh = ledger.table(), evidence_table(question, found[:count])
        assert grown.rollouts == afresh.rollouts
        assert grown.votes.tolist() == afresh.votes.tolist()
        np.testing.assert_array_equal(grown.values, afresh.values)


@settings(max_examples=60, deadline=None)
@given(rollouts)
def test_every_step_equals_a_fresh_start(found: list[Rollout]) -> None:
    agree(QUESTION, found)


def test_answers_that_join_groups_and_change_their_spelling_do_so_late_as_well() -> None:
    said = ["venice", "Mantua", "It was in Venice, I think.", "Venice", "Venice", "I don't know.", "VENICE", "mantua"]
    agree(QUESTION, [rollout(answer, ranked("Orfeo", f"{answer} is a city.")) for answer in said])


def test_where_texts_tell_what_is_asked_they_are_looked_at_again() -> None:
    texts = ("オルフェオの作曲家はヴェネツィアで死んだ。", "ヴェネツィアは都市である。", "作曲家はマントヴァにいた。")
    found = [
        rollout(answer, ranked("作曲家", text))
        for answer, text in zip(("ヴェネツィア", "マントヴァ") * 2, (*texts, texts[0]), strict=True)
    ]
    agree("オルフェオの作曲家はどの都市で死んだか。", found)


def test_texts_beyond_the_limit_are_not_looked_at_in_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "MOST_TEXTS", 3)
    found = [rollout("Venice", ranked("Orfeo", *(f"text {n} {m} of Venice" for m in range(2)))) for n in range(4)]
    agree(QUESTION, found)
