"""What is counted of small pools, and what it must not depend on."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders import pool_of, random_pools, ranked, rollout
from tests.evidence.test_choosing import QUESTION
from tracerank.evidence import support
from tracerank.evidence.table import COLUMNS, FAMILIES, FEATURES, EvidenceTable, PoolEvidence, evidence_table
from tracerank.evidence.text import TextLines
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA, Rollout

EIFFEL = "The Eiffel Tower is a wrought-iron tower in Paris, France."
COLOSSEUM = "The Colosseum is an amphitheatre in Rome."
WHERE = "In which city is the Eiffel Tower?"


def table_of(*rollouts: Rollout, question: str = WHERE) -> EvidenceTable:
    return evidence_table(question, pool_of(*rollouts, question=question).rollouts)


def row_of(table: EvidenceTable, rollout: int) -> dict[str, float]:
    row = table.row_of(rollout)
    assert row is not None
    return table.named(row)


def answered(pool: Pool) -> list[Rollout]:
    return [each for each in pool.rollouts if each.answer and each.problem is None]


def test_columns_are_the_features_in_their_order() -> None:
    assert tuple(feature.name for feature in FEATURES) == COLUMNS
    assert {feature.family for feature in FEATURES} == set(FAMILIES)
    free = {feature.name for feature in FEATURES if not feature.direction}
    assert not free


def test_votes_are_counted_by_meaning_and_abstentions_have_no_row() -> None:
    table = table_of(rollout("Paris"), rollout("It is Paris."), rollout("I don't know"), rollout("Rome"))
    assert sorted(table.rollouts) == [(0, 1), (3,)]
    assert row_of(table, 0)["vote_share"] == pytest.approx(2 / 3)
    assert row_of(table, 0)["log_votes"] == pytest.approx(np.log(2))
    assert table.row_of(2) is None
    assert table_of(rollout("unknown")).values.shape == (0, len(COLUMNS))


def test_an_answer_is_found_in_own_evidence_by_the_words_around_it() -> None:
    table = table_of(rollout("Paris", ranked("eiffel", COLOSSEUM, EIFFEL)), rollout("Rome", ranked("rome", EIFFEL)))
    assert row_of(table, 0)["chain_recall"] == pytest.approx(2 / 3)  # eiffel and tower of city, eiffel, tower
    assert row_of(table, 1)["chain_recall"] == 0


def test_words_far_from_the_answer_are_not_around_it() -> None:
    text = f"The Eiffel Tower. {'filling ' * 60} Paris stands here. {'filling ' * 60}"
    assert row_of(table_of(rollout("Paris", ranked("x", text))), 0)["chain_recall"] == 0
    near = f"{'filling ' * 60} city Paris tower {'filling ' * 60}"
    assert row_of(table_of(rollout("Paris", ranked("x", near))), 0)["chain_recall"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(("answer", "text"), [("Bjork", "Björk’s album"), ("The Beatles", "by the Beatles, 1965")])
def test_accents_possessives_and_articles_do_not_hide_an_answer(answer: str, text: str) -> None:
    question = "Which album, and from 1965?"
    assert row_of(table_of(rollout(answer, ranked("x", text)), question=question), 0)["chain_recall"] > 0


def test_an_answer_is_not_found_inside_a_longer_word_and_yes_is_not_looked_for() -> None:
    question = "Where is the amphitheatre?"
    found = [row_of(table_of(rollout(each, ranked("x", COLOSSEUM)), question=question), 0) for each in ("Ro", "Rome")]
    assert [row["chain_recall"] for row in found] == [0, 1]
    polar = table_of(rollout("yes", ranked("x", "Yes is a band.")), question="Is Yes a band?")
    assert row_of(polar, 0)["chain_recall"] == 0


def test_an_answer_two_texts_away_is_reached_by_what_the_rollout_searched_for() -> None:
    question = "Where was the architect of the Colosseum's rival born?"
    first = "The architect of the rival of the Colosseum was Vitalis."
    second = "Vitalis was a quiet man from Capua."
    table = table_of(
        rollout("Capua", ranked("Colosseum rival architect", first), ranked("Vitalis", second)),
        rollout("Nola", ranked("Colosseum rival architect", first), ranked("Nola", "Nola is a town.")),
        question=question,
    )
    capua, nola = row_of(table, 0), row_of(table, 1)
    assert (capua["bridge_near"], nola["bridge_near"]) == (1, 0)
    assert capua["chain_recall"] > nola["chain_recall"]


@pytest.mark.parametrize(
    ("question", "polar", "name"),
    [
        ("Who built the Eiffel Tower?", 1, 0),
        ("Is it in Paris?", 0, 1),
        ("Is it in Paris or in Rome?", 1, 0),
        ("Given its age, is it in Paris?", 0, 0),  # the wording does not say
        ("", 0, 0),
    ],
)
def test_yes_and_no_fit_only_where_they_are_asked_for(question: str, polar: int, name: int) -> None:
    found = table_of(rollout("yes"), rollout("Gustave Eiffel"), question=question)
    assert [row_of(found, index)["polar_misfit"] for index in (0, 1)] == [polar, name]


def test_the_kind_that_is_asked_for_is_read_of_the_question() -> None:
    year = table_of(rollout("1889"), rollout("Gustave Eiffel"), question="In what year was the tower finished?")
    assert row_of(year, 0)["kind_lift"] > row_of(year, 1)["kind_lift"] + 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Eiffel Tower is in Lyon.", 2 / 3),
        ("Lyon is the city in which the Eiffel Tower is.", 1),
        ("Q: In which city is the Eiffel Tower? A: Lyon", 0),
        ("In which city is the Eiffel Tower? Lyon. In which city is the Eiffel Tower? It is Lyon.", 0),
        ("In which city is the Eiffel Tower? The city with the tower is Lyon.", 2 / 3),  # what is left counts
        ("Guess which city is Eiffel's: Lyon.", 2 / 3),  # half of the question
    ],
)
def test_the_question_repeated_beside_an_answer_is_no_support(text: str, expected: float) -> None:
    found = table_of(rollout("Lyon", ranked("x", text)), rollout("Paris"))
    assert row_of(found, 0)["chain_recall"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The Eiffel Tower of your question stands in Paris.", 2 / 3),
        ("The Eiffel Tower you mean stands in Paris.", 0),  # of eight words
        ("**Paris**\nIt stands there.", 2 / 3),
    ],
)
def test_of_a_long_answer_and_of_one_of_several_lines_the_core_is_looked_for(answer: str, expected: float) -> None:
    assert row_of(table_of(rollout(answer, ranked("x", EIFFEL))), 0)["chain_recall"] == pytest.approx(expected)


def test_against_three_times_its_votes_an_answer_has_only_texts_that_others_saw() -> None:
    page = ranked("tower", "The Eiffel Tower of the city is in Lyon.")
    for others, seen, expected in ((2, (), 1), (3, (), 0), (3, (page,), 1)):
        found = table_of(rollout("Lyon", page), *[rollout("Paris", *seen)] * others)
        assert row_of(found, 0)["chain_recall"] == expected


def test_copies_of_a_text_and_further_searches_for_it_change_nothing() -> None:
    page = "The Eiffel Tower is in Lyon."
    once = table_of(rollout("Lyon", ranked("tower", page)), rollout("Paris"))
    often = table_of(rollout("Lyon", ranked("tower", page, page), *[ranked("tower", page)] * 4), rollout("Paris"))
    np.testing.assert_array_equal(once.values, often.values)


def test_an_answer_that_others_searched_for_is_marked_as_their_step() -> None:
    table = table_of(rollout("Mantua"), rollout("Venice", ranked("Mantua city", EIFFEL)), question=QUESTION)
    assert [row_of(table, index)["searched_by_others"] for index in (0, 1)] == [1, 0]
    own = table_of(rollout("Mantua", ranked("Mantua city", EIFFEL)), rollout("Venice"), question=QUESTION)
    assert [row_of(own, index)["searched_by_others"] for index in (0, 1)] == [0, 0]


def test_labels_and_sources_change_nothing() -> None:
    for pool in random_pools(WEBQA, 10, seed=4):
        kept = answered(pool)
        other = [replace(each, label=1.0, source="agent-7.jsonl:3") for each in kept]
        here, there = (evidence_table(pool.question.text, each).values for each in (kept, other))
        np.testing.assert_array_equal(here, there)


def test_lines_that_are_kept_between_subsets_give_the_same_values() -> None:
    lines = TextLines()
    for pool in random_pools(WEBQA, 10, seed=5):
        kept = answered(pool)
        for subset in (kept, kept[:2]):
            shared = evidence_table(pool.question.text, subset, lines).values
            np.testing.assert_array_equal(shared, evidence_table(pool.question.text, subset).values)


FOUND = [
    rollout(answer, ranked("Orfeo", f"{answer} is a city where a composer died."))
    for answer in ("Venice", "Mantua", "Venice", "I don't know.", "Rome")
]


@pytest.mark.parametrize("index", [0, 1, 3, 4])
def test_a_table_of_one_meaning_has_its_row_and_zeros(index: int) -> None:
    whole, alone = evidence_table(QUESTION, FOUND), PoolEvidence(QUESTION, FOUND, TextLines()).table(only=index)
    assert alone.rollouts == whole.rollouts
    for row, members in enumerate(whole.rollouts):
        expected = whole.values[row] if index in members else np.zeros_like(whole.values[row])
        np.testing.assert_array_equal(alone.values[row], expected)


def test_texts_beyond_the_limit_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The composer of the opera Orfeo had to die in the city of Venice."
    found = [rollout("Venice", ranked("x", "nothing", text))]
    assert row_of(evidence_table(QUESTION, found), 0)["chain_recall"] == 1
    monkeypatch.setattr(support, "MAX_TEXTS", 1)
    assert row_of(evidence_table(QUESTION, found), 0)["chain_recall"] == 0
