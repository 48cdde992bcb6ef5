"""Rows of a table come in the order of its names, and a standing has the row that it is asked for and no other."""

import numpy as np

from tests.builders import ranked, rollout
from tests.evidence.test_choosing import QUESTION
from tracerank.evidence.table import COLUMNS, evidence_table, standing_table
from tracerank.selectors.meaning.table import MEANING_FEATURES

FOUND = [
    rollout(answer, ranked("Orfeo", f"{answer} is a city where a composer died."))
    for answer in ("Venice", "Mantua", "Venice", "I don't know.", "Rome")
]


def test_what_is_counted_is_what_the_table_names_in_its_order() -> None:
    assert MEANING_FEATURES.names == COLUMNS


def test_the_standing_of_a_rollout_is_its_row_of_the_whole_table() -> None:
    whole = evidence_table(QUESTION, FOUND)
    for place in (0, 1, 4):
        alone = standing_table(QUESTION, FOUND, place)
        assert alone.rollouts == whole.rollouts
        assert alone.votes.tolist() == whole.votes.tolist()
        for row, members in enumerate(whole.rollouts):
            expected = whole.values[row] if place in members else np.zeros_like(whole.values[row])
            np.testing.assert_array_equal(alone.values[row], expected)


def test_who_abstains_stands_nowhere_and_counts_as_one_who_saw_texts() -> None:
    assert not standing_table(QUESTION, FOUND, 3).values.any()
    texts = ranked("Orfeo", "Venice is a city.")
    seen = [rollout("Venice", texts), rollout("I don't know.", texts)]
    others = evidence_table(QUESTION, seen).values[0, COLUMNS.index("others_found")]
    assert others == 1.0
    assert evidence_table(QUESTION, seen[:1]).values[0, COLUMNS.index("others_found")] == 0.0
