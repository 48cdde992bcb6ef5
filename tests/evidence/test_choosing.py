"""Which meaning is chosen: what a vote, a text, an order or a wording may and may not do to a choice."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import pool_of, ranked, rollout
from tracerank.evidence.model import Logistic
from tracerank.evidence.selector import choose
from tracerank.evidence.table import evidence_table
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Rollout, Search

QUESTION = "Which city did the composer of the opera Orfeo die in?"
ANSWERS = ("Venice", "Mantua", "Cremona", "The composer died in Venice.", "It was Mantua.", "yes", "1643")
TEXTS = (
    "The composer Claudio Monteverdi died in Venice in 1643.",
    "Orfeo is an early opera by Claudio Monteverdi, first given in Mantua.",
    "Monteverdi was born in Cremona, a city of violin makers.",
    "Mantua is a city. The opera Orfeo was heard there.",
    "A city is a large place where people live.",
)
QUERIES = ("Orfeo opera composer", "Claudio Monteverdi death", "Mantua city", "where did the composer die")


@st.composite
def searching(draw: st.DrawFn) -> Rollout:
    """A rollout of the question above."""
    queries = draw(st.lists(st.sampled_from(QUERIES), max_size=2))
    searches = [ranked(query, *draw(st.lists(st.sampled_from(TEXTS), max_size=3, unique=True))) for query in queries]
    return rollout(draw(st.sampled_from(ANSWERS)), *searches)


pools = st.lists(searching(), min_size=1, max_size=9).map(lambda found: pool_of(*found, question=QUESTION))


def probability(pool: Pool, sample: int) -> float:
    return load_selector().decide(pool).scores[sample]


@settings(max_examples=60, deadline=None)
@given(pools, st.data())
def test_one_more_vote_never_lowers_a_probability(pool: Pool, data: st.DataObject) -> None:
    again = data.draw(st.sampled_from(pool.rollouts))
    copies = (again, replace(again, searches=()))
    for copy in copies:
        more = Pool(pool.question, (*pool.rollouts, replace(copy, sample_id=len(pool))))
        assert probability(more, again.sample_id) >= probability(pool, again.sample_id) - 1e-9


@settings(max_examples=60, deadline=None)
@given(pools, st.data())
def test_evidence_that_holds_an_answer_and_no_rival_never_lowers_its_probability(
    pool: Pool, data: st.DataObject
) -> None:
    helped = data.draw(st.sampled_from([one for one in pool.rollouts if one.answer in ANSWERS[:3]] or pool.rollouts))
    if helped.answer not in ANSWERS[:3]:
        return
    text = data.draw(st.sampled_from(("It was {}.", "The composer of Orfeo died in the city of {}.", "{}")))
    search = Search("another look", (Evidence(text.format(helped.answer), rank=1),))
    told = replace(helped, searches=(*helped.searches, search))
    after = Pool(pool.question, tuple(told if one is helped else one for one in pool.rollouts))
    assert probability(after, helped.sample_id) >= probability(pool, helped.sample_id) - 1e-9


@settings(max_examples=40, deadline=None)
@given(pools, st.integers(0, 99))
def test_neither_order_nor_names_of_rollouts_change_what_is_returned(pool: Pool, seed: int) -> None:
    mixed = list(pool.rollouts)
    Random(seed).shuffle(mixed)
    other = Pool.of(pool.question, [replace(one, sample_id=100 + place) for place, one in enumerate(mixed)])
    first, second = load_selector().decide(pool), load_selector().decide(other)
    assert first.answer == second.answer
    assert first.confidence == pytest.approx(second.confidence, abs=1e-9)
    assert sorted(first.scores.values()) == pytest.approx(sorted(second.scores.values()), abs=1e-9)


def test_sentences_around_an_answer_do_not_change_the_meaning_that_is_chosen() -> None:
    texts = ranked("Orfeo composer", *TEXTS[:2])
    plain = ["Venice", "Mantua", "Mantua", "Venice", "Venice"]
    wordy = ["The composer died in Venice.", "Mantua", "It was in **Mantua**.", "Final answer: Venice", "Venice"]
    chosen = [
        load_selector().decide(pool_of(*(rollout(a, texts) for a in said), question=QUESTION))
        for said in (plain, wordy)
    ]
    assert chosen[0].group == chosen[1].group == (0, 3, 4)


def test_few_votes_overturn_many_only_with_support_that_these_lack() -> None:
    likes_names = Logistic({"kind_lift": 50.0, "kind_log_probability": 50.0})
    alone = [rollout("Venice"), *(rollout("something in the north") for _ in range(4))]
    table = evidence_table(QUESTION, alone)
    chosen = choose(likes_names, table)
    assert chosen.row == 0  # alphabetically
    assert chosen.probabilities.sum() == pytest.approx(1)
    supported = [rollout("Venice", ranked("Orfeo", TEXTS[0])), *alone[1:]]
    assert choose(likes_names, evidence_table(QUESTION, supported)).row == 1
    fewer = evidence_table(QUESTION, [rollout("Venice"), *alone[1:3]])
    assert choose(likes_names, fewer).row == 1


def test_a_majority_that_gets_stronger_does_not_lose_what_the_weak_gave_it() -> None:
    near = Logistic({"log_votes": 1.0, "kind_log_probability": 0.6, "kind_lift": 0.6})
    many = rollout("something in the north")
    said = [rollout("Venice"), rollout("Mantua", ranked("Orfeo", TEXTS[1])), *[many] * 5]
    tables = [evidence_table(QUESTION, [*said, *[many] * more]) for more in range(40)]
    found = [round(float(choose(near, table).probabilities[1]), 9) for table in tables]
    assert found == sorted(found)
    assert found[0] < found[-1]
