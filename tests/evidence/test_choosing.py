"""Which meaning is chosen: what a vote, a text, an order or a wording may and may not do to a choice."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import pool_of, ranked, rollout
from tracerank.evidence.model import Logistic
from tracerank.evidence.selector import NO_EVIDENCE, choose
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
    assert first.rank_score == pytest.approx(second.rank_score, abs=1e-9)
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


def test_the_kind_of_an_answer_breaks_ties_and_overturns_nothing() -> None:
    likes_names = Logistic({"log_votes": 0.1, "kind_lift": 50.0})
    for votes, row in ((1, 1), (2, 0)):
        table = evidence_table(QUESTION, [rollout("Venice"), *[rollout("something in the north")] * votes])
        chosen = choose(likes_names, table)
        assert chosen.row == row  # alphabetically
        assert chosen.probabilities.argmax() == row
        assert chosen.probabilities.sum() == pytest.approx(1)


def test_one_page_that_one_rollout_saw_does_not_overturn_three_to_one() -> None:
    page = ranked("Orfeo", "The composer of the early opera Orfeo died in the city of Cremona.")
    for votes, answer in ((1, "Cremona"), (3, "Venice"), (7, "Venice")):
        found = pool_of(*[rollout("Venice")] * votes, rollout("Cremona", page), question=QUESTION)
        assert load_selector().decide(found).answer == answer


def test_without_evidence_the_decision_is_the_vote_by_meaning_and_says_so() -> None:
    said = ["Venice", "Mantua", "It was Venice.", "1643", "yes", "Cremona", "Cremona", "in Venice"]
    decision = load_selector().decide(pool_of(*map(rollout, said), question=QUESTION))
    assert decision.group == (0, 2, 7)
    assert decision.note == NO_EVIDENCE
