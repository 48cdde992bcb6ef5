"""What the features say about small pools, and what they must not depend on."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tests.builders import pool_of, random_pools, ranked, rollout
from tracerank.evidence.text import TextLines
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA, Rollout
from tracerank.selectors.features.compute import MOST_ROLLOUTS, FeatureTable, feature_table
from tracerank.selectors.features.table import FAMILIES, FEATURES, NAMES, POOL
from tracerank.selectors.features.view import view_of
from tracerank.selectors.features.votes import _pairs as pairs_of

EIFFEL = "The Eiffel Tower is a wrought-iron tower in Paris, France."
COLOSSEUM = "The Colosseum is an amphitheatre in Rome."
WHERE = "In which city is the Eiffel Tower?"


def table_of(*rollouts: Rollout, question: str = WHERE) -> FeatureTable:
    return feature_table(question, pool_of(*rollouts, question=question).rollouts)


def value(table: FeatureTable, row: int, name: str) -> float:
    return float(table.values[row, NAMES.index(name)])


def answered(pool: Pool) -> list[Rollout]:
    return [each for each in pool.rollouts if each.answer and each.problem is None]


def test_every_feature_has_a_name_of_its_own_and_a_meaning() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(feature.meaning and feature.family in FAMILIES for feature in FEATURES)


def test_equal_answers_are_one_form_and_abstentions_have_no_row() -> None:
    table = table_of(rollout("Paris"), rollout("paris."), rollout("I don't know"), rollout("Rome"))
    assert table.rollouts == ((0, 1), (3,))
    assert value(table, 0, "vote_share") == pytest.approx(2 / 3)
    assert value(table, 0, "abstained") == pytest.approx(1 / 4)


def test_nobody_who_answers_makes_an_empty_table() -> None:
    assert table_of(rollout("unknown")).values.shape == (0, len(NAMES))


def test_an_answer_is_found_in_own_evidence_and_in_that_of_others() -> None:
    table = table_of(rollout("Paris", ranked("eiffel", COLOSSEUM, EIFFEL)), rollout("Rome", ranked("rome", EIFFEL)))
    paris, rome = 0, 1
    assert value(table, paris, "own_found") == 1
    assert value(table, paris, "own_rank") == 0.5
    assert value(table, paris, "others_found") == 1
    assert value(table, rome, "own_found") == 0
    assert value(table, rome, "others_found") == 1
    assert value(table, paris, "own_window") > 0.5
    assert value(table, paris, "shared_found") == 1
    assert value(table, rome, "in_own_queries") == 1


def test_accents_possessives_and_articles_do_not_hide_an_answer() -> None:
    text = "Björk’s album was made in the Hague by the Beatles."
    table = table_of(rollout("Bjork", ranked("x", text)), rollout("The Beatles", ranked("x", text)))
    assert [value(table, row, "own_found") for row in (0, 1)] == [1, 1]


def test_an_answer_is_not_found_inside_a_longer_word() -> None:
    assert value(table_of(rollout("Ro", ranked("x", COLOSSEUM))), 0, "own_found") == 0


def test_support_is_missing_without_evidence_and_for_yes_and_no() -> None:
    alone = table_of(rollout("Paris"), rollout("Rome"))
    assert np.isnan(value(alone, 0, "own_found"))
    assert np.isnan(value(alone, 0, "texts_share"))
    polar = table_of(rollout("yes", ranked("x", "Yes is a band.")), question="Is Yes a band?")
    assert np.isnan(value(polar, 0, "own_found"))


def test_yes_does_not_fit_a_question_that_asks_who() -> None:
    table = table_of(rollout("yes"), rollout("Gustave Eiffel"), question="Who built the Eiffel Tower?")
    assert value(table, 0, "misfit") == 1
    assert value(table, 1, "misfit") == 0
    assert value(table, 0, "kind_chance") < value(table, 1, "kind_chance") - 2


def test_a_year_is_likelier_than_a_name_when_a_year_is_asked_for() -> None:
    table = table_of(rollout("1889"), rollout("Gustave Eiffel"), question="In what year was the tower finished?")
    assert value(table, 0, "kind_chance") > value(table, 1, "kind_chance") + 2


def test_evidence_can_say_that_an_answer_is_of_the_asked_kind() -> None:
    texts = ("Oslo is a large city.", "Gustave is a name.")
    table = table_of(rollout("Oslo", ranked("x", *texts)), rollout("Gustave", ranked("x", *texts)))
    assert [value(table, row, "kind_stated") for row in (0, 1)] == [1, 0]


def test_kin_are_forms_with_more_or_fewer_of_the_same_words() -> None:
    table = table_of(rollout("John Travolta"), rollout("John Joseph Travolta"), rollout("Al Pacino"), question="Who?")
    assert value(table, 0, "kin_votes") == pytest.approx(2 / 3)
    assert value(table, 0, "is_shortest") == 1
    assert value(table, 1, "is_shortest") == 0
    assert value(table, 0, "subset_of") == pytest.approx(1 / 3)
    assert value(table, 2, "kin_votes") == pytest.approx(1 / 3)


def test_stated_confidence_is_shared_by_group_and_missing_when_nobody_states_any() -> None:
    sure, unsure = replace(rollout("Paris"), confidence=0.9), replace(rollout("Rome"), confidence=0.3)
    table = table_of(sure, unsure)
    assert value(table, 0, "confidence_share") == pytest.approx(0.75)
    assert value(table, 1, "confidence_relative") == pytest.approx(-0.3)
    assert np.isnan(value(table_of(rollout("Paris")), 0, "confidence"))


def test_the_order_and_the_ids_of_the_rollouts_change_nothing() -> None:
    for pool in random_pools(WEBQA, 20, seed=3):
        kept = answered(pool)
        order = Random(1).sample(range(len(kept)), len(kept))
        shuffled = [replace(kept[place], sample_id=100 + place) for place in order]
        here, there = (feature_table(pool.question.text, each) for each in (kept, shuffled))
        rows = {places: row for row, places in enumerate(here.rollouts)}
        for row, places in enumerate(there.rollouts):
            same = rows[tuple(sorted(order[place] for place in places))]
            np.testing.assert_allclose(here.values[same], there.values[row], atol=1e-5)


def test_labels_and_sources_change_nothing() -> None:
    for pool in random_pools(WEBQA, 10, seed=4):
        kept = answered(pool)
        other = [replace(each, label=1.0, source="agent-7.jsonl:3") for each in kept]
        np.testing.assert_array_equal(
            feature_table(pool.question.text, kept).values, feature_table(pool.question.text, other).values
        )


def test_lines_that_are_kept_between_subsets_give_the_same_values() -> None:
    lines = TextLines()
    for pool in random_pools(WEBQA, 10, seed=5):
        kept = answered(pool)
        for subset in (kept, kept[:2]):
            kept_lines = feature_table(pool.question.text, subset, lines).values
            np.testing.assert_array_equal(kept_lines, feature_table(pool.question.text, subset).values)


def test_pool_features_are_constant_within_a_pool() -> None:
    places = [place for place, feature in enumerate(FEATURES) if feature.scope == POOL]
    for pool in random_pools(WEBQA, 20, seed=6):
        values = feature_table(pool.question.text, answered(pool)).values[:, places]
        assert (values == values[:1]).all()


def test_hostile_texts_are_only_text() -> None:
    odd = ("\x00" * 50, "(((((", "𝕻𝖆𝖗𝖎𝖘 " * 9_000, "\\d+ [a-z", "'" * 500)
    table = table_of(*(rollout(text, ranked(text, text)) for text in odd), question="?" * 400)
    assert not np.isinf(table.values).any()


def test_pairs_of_forms_are_counted_as_word_by_word() -> None:
    answers = ["a b", "b a", "a a b", "a", "b b", "c", "a b c", "the b c", "New York", "York New York", "York", "ab"]
    forms = view_of("Q?", [rollout(answer) for answer in answers]).forms
    f1, inside, subset = pairs_of(forms)
    for i, one in enumerate(forms):
        for j, other in enumerate(forms):
            common = (Counter(one.words) & Counter(other.words)).total()
            assert f1[i, j] == 2 * common / (len(one.words) + len(other.words))
            assert subset[i, j] == (common == len(one.words))
            assert inside[i, j] == (one.line in other.line)


def test_a_crowd_of_rollouts_is_cut_and_the_table_says_so() -> None:
    crowd = [rollout("Paris" if place % 2 else "Rome") for place in range(MOST_ROLLOUTS + 1)]
    table = feature_table("Capital?", crowd)
    assert table.votes.tolist() == [MOST_ROLLOUTS // 2, MOST_ROLLOUTS // 2]
    assert table.note == "only the first 2,000 answers were looked at"
    assert feature_table("Capital?", crowd[:-1]).note is None
