"""How sure a decision is: agreement in meaning and evidence, for any method that decides."""

import json
from math import log
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracerank as tr
from tests.builders import pool, pool_of, ranked, rollout
from tests.evidence.test_choosing import QUESTION, TEXTS, pools
from tracerank.errors import CheckpointError
from tracerank.evidence.confidence import (
    Calibration,
    agreement,
    grounds,
    read_confidence,
    set_level,
    shipped_confidence,
    standing_in,
)
from tracerank.evidence.level import Level, estimate_level, log_odds, read_ahead
from tracerank.evidence.model import Logistic
from tracerank.evidence.table import evidence_table
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.votes.base import LABELS, POOLS, Decision
from tracerank.votes.folders import CONFIDENCE, SHIPPED, folder_of


def confidence_of(found: Pool, method: str = "evidence") -> float | None:
    """Without labels and without other pools: the rank score."""
    decision = tr.load_method(method).decide(found)
    assert (decision.confidence, decision.basis) == (None, None)
    return decision.rank_score


def test_confidence_grows_with_agreement_and_evidence() -> None:
    split = [confidence_of(pool(*answers)) or 0 for answers in (("a", "b", "c"), ("a", "a", "b"), ("a", "a", "a"))]
    assert split == sorted(split)
    bare = pool_of(*(rollout("Venice", ranked("Orfeo", TEXTS[4])) for _ in range(3)), question=QUESTION)
    told = pool_of(*(rollout("Venice", ranked("Orfeo", TEXTS[0])) for _ in range(3)), question=QUESTION)
    assert (confidence_of(told) or 0) > (confidence_of(bare) or 0)


def test_answers_in_other_words_agree() -> None:
    plain = pool_of(*(rollout(answer) for answer in ("Venice", "Venice", "Venice")), question=QUESTION)
    wordy = pool_of(*(rollout(answer) for answer in ("Venice", "It was Venice.", "Venice, Italy")), question=QUESTION)
    for method in ("majority", "evidence"):
        assert confidence_of(wordy, method) == pytest.approx(confidence_of(plain, method), abs=0.1)


@settings(max_examples=30, deadline=None)
@given(pools, st.data())
def test_who_agrees_with_the_returned_answer_makes_it_no_less_sure(found: Pool, data: st.DataObject) -> None:
    selector = load_selector()
    before = selector.decide(found)
    again = next(one for one in found.rollouts if one.sample_id == before.sample_id)
    more = Pool(found.question, (*found.rollouts, tr.Rollout(len(found), again.answer, again.searches)))
    after = selector.decide(more)
    if after.answer == before.answer and before.rank_score is not None:
        assert after.rank_score is not None
        assert after.rank_score >= before.rank_score - 1e-9


def test_the_same_meaning_is_as_sure_whoever_returns_it() -> None:
    found = pool_of(rollout("Venice"), rollout("Venice"), rollout("Mantua"), question=QUESTION)
    assert confidence_of(found, "majority") == pytest.approx(confidence_of(found))


def test_the_share_counts_rollouts_that_failed_or_abstained() -> None:
    sure, unsure = (
        pool_of(*[rollout("Venice")] * 2),
        pool_of(*[rollout("Venice")] * 2, rollout(None), rollout("unknown")),
    )
    assert (confidence_of(sure) or 0) > (confidence_of(unsure) or 1)


def test_with_other_pools_the_rank_score_becomes_a_confidence_that_follows_their_agreement() -> None:
    found = pool_of(*map(rollout, ("Venice", "Mantua", "Venice")), question=QUESTION)
    known = [[pool("a", "a", "b" if number < wrong else "a") for number in range(20)] for wrong in (20, 0)]
    levels = list(map(estimate_level, known))
    for name in ("evidence", "majority"):
        made = []
        for level in levels:
            method = tr.load_method(name)
            set_level(method, level)
            made.append(method.decide(found))
        assert [one.basis for one in made] == [POOLS, POOLS]
        assert (made[0].confidence or 1) < (made[1].confidence or 0)
        assert [one.confidence for one in made] == [one.rank_score for one in made]


def test_grounds_compare_with_what_is_usual_where_there_is_evidence() -> None:
    features = {"chain_recall": 0.5, "kind_lift": 5.0}
    assert grounds(features, has_evidence=True) == pytest.approx({"evidence": 0.05, "kind": 0.8})
    assert grounds(features, has_evidence=False) == {"evidence": 0.0, "kind": 0.0}


def test_the_standing_of_an_answer_is_that_of_its_meaning_among_all_rollouts() -> None:
    answers = [
        rollout("Venice", ranked("Orfeo", TEXTS[0])),
        rollout("It was Venice."),
        rollout("Mantua"),
        rollout(None),
    ]
    found = pool_of(*answers, question=QUESTION)
    table = evidence_table(QUESTION, found.rollouts[:3])
    for sample, agreed in ((0, 1.5 / 4), (2, 0.5 / 4)):
        standing = standing_in(found, Decision("q", answers[sample].answer, sample))
        expected = grounds(table.named(table.row_of(sample) or 0), has_evidence=True)
        assert standing == pytest.approx({"agreement": log_odds(agreed), **expected, "level": 0.0, "score_lead": 0.0})
    assert standing_in(found, Decision("q", "Oslo", 3)) is None


def test_log_odds_are_bounded_at_a_fiftieth() -> None:
    assert [log_odds(share) for share in (0.5, 0.0, 1.0)] == pytest.approx([0.0, -log(49), log(49)])


def test_a_level_needs_ten_pools_and_counts_abstentions_as_disagreement() -> None:
    pools = [pool("Paris", "paris", "unknown", None), *[pool("Paris")] * 30]
    assert estimate_level(pools * 9) is None
    level = estimate_level([pools[0]] * 10)
    assert level is not None
    assert (level.agreement, level.error, level.pools) == (pytest.approx(1 / 6), 0.0, 10)
    middle, low, high = level.accuracy
    assert 0 < low < middle < high < 1
    assert read_ahead([pools[0]] * 3)[0] is None
    assert len(list(read_ahead(iter([pools[0]] * 300))[1])) == 300


def test_the_share_of_right_rollouts_is_estimated_with_an_interval_that_errors_widen() -> None:
    sure, unsure = Level(0.5, 0.0, 1_000), Level(0.5, 0.1, 40)
    assert sure.accuracy == pytest.approx((0.4975, 0.3593, 0.6361), abs=1e-4)
    assert unsure.accuracy == pytest.approx((0.4975, 0.2530, 0.7432), abs=1e-4)
    assert unsure.record() == {
        "agreement": 0.5, "pools": 40,
        **dict(zip(("accuracy", "low", "high"), unsure.accuracy, strict=True)),
    }  # fmt: skip
    assert "about 50% of the rollouts are right [36, 64]" in sure.sentence
    assert "(50%, 1,000 questions)" in sure.sentence
    assert Level(0.0, 0.0, 10).accuracy[1] > 0
    assert Level(1.0, 0.0, 10).accuracy[2] < 1


def test_a_level_is_the_mean_of_the_first_200_pools_with_two_rollouts_and_its_standard_error() -> None:
    alike, apart = pool("Paris", "paris"), pool("Paris", "Rome")
    level = estimate_level([pool("Paris"), *[alike, apart] * 10])
    assert level is not None
    assert (level.agreement, level.error, level.pools) == (0.5, pytest.approx((0.25 / 19) ** 0.5), 20)
    many = estimate_level([*[alike] * 200, *[apart] * 100])
    assert many is not None
    assert (many.agreement, many.pools) == (1.0, 200)


def test_an_abstention_has_no_confidence() -> None:
    nobody = pool_of(rollout("I could not find it."), rollout("I don't know."), question=QUESTION)
    assert confidence_of(nobody) is None
    assert confidence_of(nobody, "majority") is None


def test_a_written_answer_and_an_empty_pool_stay_as_they_are() -> None:
    found, sure = pool("a", "b"), shipped_confidence()
    for decision in (Decision("q", "written", None), Decision("q", None, None)):
        assert sure.calibrate(found, decision) is decision


def test_what_is_saved_is_what_is_read(tmp_path: Path) -> None:
    made = Calibration(Logistic({"agreement": 0.7, "score_lead": 0.1}, -0.2), {"form": "x"}, is_own=True)
    made.save(tmp_path)
    assert read_confidence(tmp_path) == made
    assert read_confidence(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "damage",
    [
        {"weights": {"unknown": 1.0}},
        {"bias": 0.5},
        {"weights": {"agreement": float("nan")}, "checksum": None},
        {"bias": None},
        {"training": None},
        {"format": "other/1"},
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(damage: dict[str, object], tmp_path: Path) -> None:
    about = json.loads((folder_of(SHIPPED) / CONFIDENCE).read_text(encoding="utf-8"))
    (tmp_path / CONFIDENCE).write_text(json.dumps(about | damage), encoding="utf-8")
    with pytest.raises(CheckpointError, match=CONFIDENCE):
        read_confidence(tmp_path)


def test_a_folder_with_a_confidence_of_its_own_tells_it(tmp_path: Path) -> None:
    load_selector().save(tmp_path)
    found = pool_of(rollout("Venice"), rollout("Mantua"), rollout("Venice"), question=QUESTION)
    assert load_selector(tmp_path).decide(found) == load_selector().decide(found)
    Calibration(Logistic({}), is_own=True).save(tmp_path)
    own = load_selector(tmp_path)
    assert (own.decide(found).confidence, own.decide(found).basis) == (0.5, LABELS)
    set_level(own, Level(0.9, 0.01, 100))
    assert own.decide(found).confidence == 0.5
    assert own.of_form("longest").decide(found).confidence == 0.5
    assert own.decide(found).scores == load_selector().decide(found).scores


def test_agreement_says_more_where_rollouts_seldom_agree() -> None:
    assert agreement(1, 1, 0.3) == pytest.approx(log_odds(0.3)), "one rollout has only what is usual"
    gained = [agreement(5, 16, level) - log_odds(level) for level in (0.05, 0.3, 0.6)]
    assert gained == sorted(gained, reverse=True)
    assert gained[0] > 1 > 0 > gained[2]
    assert agreement(10, 16, 0.3) > agreement(5, 8, 0.3) > agreement(4, 8, 0.3)


def test_the_scores_of_the_method_count_where_they_are_weighed() -> None:
    found = pool_of(rollout("Venice"), rollout("Mantua"), question=QUESTION)
    decision = Decision("q", "Venice", 0, {0: 3.0, 1: 1.0})
    standing = standing_in(found, decision)
    assert standing is not None
    assert standing["score_lead"] == 2.0
    weights = ({"agreement": 1.0}, {"agreement": 1.0, "score_lead": 1.0})
    plain, weighed = (Calibration(Logistic(each)) for each in weights)
    assert weighed.model.probability(standing) > plain.model.probability(standing)
