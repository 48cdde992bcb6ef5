"""What an unsure pool lacks, in any language, within bounds."""

import json
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import pool_of, ranked, rollout
from tracerank.evidence.gaps import NO_QUERIES, NO_TEXTS, gaps
from tracerank.evidence.names import MAX_NAMES, names_in
from tracerank.methods import load_method
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.missing import ANSWER, QUESTION, Missing, Repeated, UnsearchedName

ASKED = "Which city did the composer of Orfeo and teacher of Heinrich Schütz die in?"


def looked(pool: Pool, sample: int = 0) -> Missing:
    """The gaps of a pool in which a rollout was chosen."""
    return gaps(pool, Decision(pool.question.id, pool.rollouts[sample].answer, sample))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (ASKED, ["Orfeo", "Heinrich Schütz"]),
        ("Were Scott Derrickson and Ed Wood of the same nationality?", ["Scott Derrickson and Ed Wood"]),
        ('Who wrote "the old man and the sea"?', ["the old man and the sea"]),
        ('Who wrote "Old Man and the sea" then?', ["Old Man and the sea"]),
        ("When was the Battle of the Somme fought?", ["Battle of the Somme"]),
        ("Who designed the MOS Technology 6502 8-bit CPU?", ["MOS Technology 6502 8-bit CPU"]),
        ("When did Steven A. Cohen join the U.S. Army?", ["Steven A. Cohen", "U.S. Army"]),
        ("Is Ludwig van Beethoven's father older?", ["Ludwig van Beethoven"]),
        ("Кто написал роман Война и мир?", ["Война"]),
        ("《红楼梦》的作者出生在哪里？", ["红楼梦"]),
        ("映画「羅生門」の監督とスティーヴン・スピルバーグの関係は？", ["羅生門", "スティーヴン・スピルバーグ"]),
        ("من كتب هذا الكتاب؟", []),
        ("what is the capital of france", []),
        ("The", []),
        ("He saw The Beatles, and It too. The Who came.", ["The Beatles"]),
        ("He ran the Ministry of the and Peace", ["Ministry of the and Peace"]),
        ("He ran the Ministry of the and for Peace", ["Ministry", "Peace"]),  # too many small words
        ("WHO WROTE THE OLD MAN AND THE SEA", ["WROTE THE OLD MAN AND THE SEA"]),
        ("WHO WROTE THE OLD MAN AND THE SEA THERE", []),  # all in capitals
        ("he met Ann{0} Ben{1}, now Cas{0} Dan{1}z".format("n" * 57, "n" * 16), [f"Ann{'n' * 57} Ben{'n' * 16}"]),
        ("i saw " * 333 + "A" + " B", ["A"]),  # of 2,000 characters
        (" ".join(f'"n {number:02}"' for number in range(14)), [f"n {number:02}" for number in range(12)]),
        ("", []),
    ],
)
def test_names_are_what_writing_marks(text: str, names: list[str]) -> None:
    found = names_in(text)
    assert [name for name in found if name != "Кто"] == names
    assert all(name in text for name in found)


def test_a_rival_that_no_text_has_is_named_with_those_who_gave_it() -> None:
    seen = pool_of(
        rollout("Venice", ranked("composer Orfeo", "Monteverdi, composer of Orfeo, died in Venice.")),
        rollout("Venice", ranked("composer Orfeo", "Monteverdi, composer of Orfeo, died in Venice.")),
        rollout("Mantua", ranked("where did Monteverdi die Mantua", "Monteverdi was born in Cremona.")),
        rollout("Dresden", ranked("Heinrich Schütz teacher", "Schütz studied with Monteverdi.")),
        question=ASKED,
    )
    found = looked(seen).unsupported
    assert [(one.answer, one.rollouts, one.is_chosen, one.was_asked) for one in found] == [
        ("Mantua", (2,), False, True),
        ("Dresden", (3,), False, False),
    ]
    assert [one.nearest for one in found] == [0, 0]


def test_the_nearest_text_holds_the_largest_share_of_an_answer_by_the_rarity_of_its_words() -> None:
    texts = ("Ada was there.", "Ada met a king.", "The king of Leeds.")
    seen = pool_of(rollout("Ada King Leeds Byron", ranked("q", *texts)), question="Who was it?")
    rarity = {"ada": log(5 / 3), "king": log(5 / 3), "leeds": log(5 / 2), "byron": log(5)}
    held = rarity["king"] + rarity["leeds"] + 0.2
    [found] = looked(seen).unsupported
    assert found.nearest == pytest.approx(held / (sum(rarity.values()) + 0.4))
    assert found.is_chosen


@pytest.mark.parametrize(
    ("answer", "is_missing"),
    [("Ada", True), ("Ada sang", False), ("Ada Byron sang", True), ("sang", False), ("sang 3 times", True)],
)
def test_only_a_number_or_what_is_mostly_a_name_is_called_unsupported(answer: str, is_missing: bool) -> None:
    seen = pool_of(rollout(answer, ranked("q", "A text without it.")), question="What about it?")
    assert bool(looked(seen).unsupported) == is_missing


def test_words_in_another_order_and_yes_and_no_are_not_called_unsupported() -> None:
    seen = pool_of(
        rollout("15 May 1990", ranked("q", "It opened on May 15, 1990, in Bern.")),
        rollout("no", ranked("q", "It opened.")),
        question="When did it open?",
    )
    assert looked(seen).unsupported == ()


def test_a_name_of_the_question_that_nobody_looked_up_is_a_missing_hop() -> None:
    repeated = "composer of Orfeo, teacher of Heinrich Schütz, which city die in"
    seen = pool_of(
        rollout("Venice", ranked(repeated, "Some page."), ranked("Orfeo composer", "Orfeo is an opera.")),
        rollout("Mantua", ranked(repeated, "Some page."), ranked("orfeo", "Orfeo is an opera.")),
        question=ASKED,
    )
    assert [one for one in looked(seen).unasked if one.where == QUESTION] == [
        UnsearchedName("Heinrich Schütz", QUESTION)
    ]
    page = rollout("Venice", ranked(repeated, "Heinrich Schutz (1585 to 1672) was a composer."))
    both = pool_of(*seen.rollouts, page, question=ASKED)
    assert not [one for one in looked(both).unasked if one.where == QUESTION]  # a page about it was seen


def test_a_query_that_repeats_a_question_of_one_name_looks_it_up() -> None:
    seen = pool_of(rollout("1607", ranked("when did Orfeo open", "x")), question="When did Orfeo open?")
    assert looked(seen).unasked == ()


def test_a_supported_answer_that_nobody_looked_up_is_named_where_there_is_a_rival() -> None:
    begins = "Claudio Monteverdi, a composer of operas and madrigals, is known above all for his first works. "
    text = f"{begins}He lived in Mantua and Venice."
    one = rollout("Venice", ranked("Monteverdi life", text))
    other = rollout("Mantua", ranked("Monteverdi life", text), ranked("Mantua history", text))
    assert [gap.phrase for gap in looked(pool_of(one, other, question=ASKED)).unasked if gap.where == ANSWER] == [
        "Venice"
    ]
    assert not [gap for gap in looked(pool_of(one, one, question=ASKED)).unasked if gap.where == ANSWER]


def test_a_query_that_all_asked_in_any_order_of_words_is_repeated() -> None:
    seen = pool_of(
        rollout("a", ranked("Orfeo composer", "x")),
        rollout("b", ranked("the composer of Orfeo", "x"), ranked("Monteverdi", "y")),
        rollout(None, ranked("composer Orfeo", "x")),
        question=ASKED,
    )
    assert looked(seen).repeated == (Repeated("Orfeo composer", 3, 3),)


def test_a_query_asks_for_a_name_by_two_thirds_of_its_words() -> None:
    question = "When was the Nobel Prize Medal in Physics won by Marie?"

    def is_asked(query: str) -> bool:
        found = looked(pool_of(rollout("1903", ranked(query, "x")), question=question)).unasked
        return "Nobel Prize Medal in Physics" not in [one.phrase for one in found]

    assert [is_asked(query) for query in ("nobel physics", "nobel physics medal", "nobel prize medal physics")] == [
        False, True, True,
    ]  # fmt: skip


def test_a_query_that_four_of_five_asked_is_repeated_and_one_of_three_of_five_is_not() -> None:
    def repeated(asking: int, searching: int) -> list[int]:
        queries = ["Orfeo composer"] * asking + ["Monteverdi", "Venice", "Mantua"][: searching - asking]
        found = looked(pool_of(*(rollout("a", ranked(query, "x")) for query in queries), question=ASKED))
        return [one.rollouts for one in found.repeated]

    assert [repeated(*each) for each in ((4, 5), (3, 5), (2, 2), (1, 1))] == [[4], [], [2], []]


def test_of_many_repeated_queries_the_five_commonest_are_named_and_of_a_long_one_its_beginning() -> None:
    often = [ranked(f"query of {name}", "x") for name in "bcdefg"] + [ranked("long " * 200, "x")]
    four = [rollout("a", *often) for _ in range(4)]
    found = looked(pool_of(*four, rollout("a", often[-1]), question=ASKED)).repeated
    assert [(one.query, one.rollouts) for one in found] == [
        (("long " * 100), 5), *((f"query of {name}", 4) for name in "bcde"),
    ]  # fmt: skip


def test_queries_beyond_the_limit_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracerank.evidence.gaps.MAX_QUERIES", 2)
    searches = [ranked(f"query of {name}", "x") for name in ("Rome", "Oslo", "Bern")]
    found = looked(pool_of(rollout("a", *searches), rollout("a", *searches), question=ASKED)).repeated
    assert [one.query for one in found] == ["query of Rome", "query of Oslo"]


def test_bare_answers_lack_nothing_that_can_be_told_and_say_so() -> None:
    found = looked(pool_of(rollout("Venice"), rollout("Mantua"), question=ASKED))
    assert not found
    assert found.note == f"{NO_TEXTS}; {NO_QUERIES}"


def test_answers_in_scripts_without_spaces_are_found_in_texts() -> None:
    seen = pool_of(
        rollout("北京", ranked("红楼梦 作者", "曹雪芹后来住在北京。")),
        rollout("南京", ranked("红楼梦 作者", "曹雪芹是作家。")),
        question="《红楼梦》的作者去世于哪座城市？",
    )
    found = looked(seen)
    assert [one.answer for one in found.unsupported] == ["南京"]
    assert found.repeated


def test_gaps_are_plain_values_the_same_each_time_and_change_no_decision() -> None:
    seen = pool_of(*(rollout(f"Answer {n}", ranked(f"query {n}", "text")) for n in range(20)), question=ASKED)
    decision = load_method().decide(seen)
    found = gaps(seen, decision)
    assert found == gaps(seen, decision)
    assert decision.missing is None
    assert len(found.unsupported) == 6
    assert json.loads(json.dumps(found.record()))["unsupported"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.lists(st.text(max_size=60), min_size=1, max_size=4), st.text(max_size=200))
def test_no_text_breaks_it(question: str, answers: list[str], text: str) -> None:
    seen = pool_of(*(rollout(answer or "x", ranked(text, text)) for answer in answers), question=question or "?")
    found = looked(seen)
    json.dumps(found.record())
    assert len(names_in(question)) <= MAX_NAMES


def test_endless_text_is_bounded() -> None:
    flood = "Aa " * 200_000 + '"' * 100_000
    searches = [ranked(f"{flood[:2000]} {number}", flood[:3000]) for number in range(50)]
    seen = pool_of(rollout(flood[:5000], *searches), rollout("Rome", *searches), question=flood)
    assert len(names_in(flood)) <= MAX_NAMES
    looked(seen)
