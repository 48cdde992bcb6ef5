"""When each rule stops, by hand, and what it says."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.errors import UsageError
from tracerank.stopping.rules import (
    BetaRule,
    ExpectedGain,
    FixedK,
    State,
    WindowRule,
)

AGREED = State(4, (4,), 0.9, agrees=True, run=4)
SPLIT = State(4, (2, 2), 0.4, agrees=True, run=1)


def test_the_lead_is_the_published_one() -> None:
    # 1 - I_0.5(a + 1, b + 1), as Adaptive-Consistency has it.
    assert State(1, (1,)).lead == pytest.approx(0.75)
    assert State(4, (4,)).lead == pytest.approx(1 - 0.5**5)
    assert State(4, (2, 2)).lead == pytest.approx(0.5)
    assert State(5, (3, 1, 1)).lead == pytest.approx(0.8125)


def test_the_beta_rule_stops_at_its_threshold() -> None:
    assert not BetaRule(0.9).verdict(AGREED, 4)
    assert BetaRule(0.99).verdict(AGREED, 4)
    assert BetaRule(0.9).verdict(State(3), 4)
    assert "96.9%" in BetaRule(0.9).verdict(AGREED, 4).reason


def test_a_fixed_number_and_a_target_are_what_they_say() -> None:
    assert FixedK(4).verdict(replace(AGREED, rollouts=3), 5)
    assert not FixedK(4).verdict(AGREED, 4)
    assert not ExpectedGain(target=0.9).verdict(AGREED, 6)
    assert ExpectedGain(target=0.95).verdict(AGREED, 6)


def test_a_window_must_be_whole_and_of_one_meaning() -> None:
    rule = WindowRule(2)
    assert not rule.verdict(AGREED, 4)
    assert rule.verdict(replace(AGREED, rollouts=5), 4)
    assert rule.verdict(SPLIT, 4)


def test_gain_stops_where_answers_agree_and_goes_on_where_they_split() -> None:
    rule = ExpectedGain(within=0.05)
    assert not rule.verdict(AGREED, 6)
    assert rule.verdict(SPLIT, 6)
    assert "confidence 90%" in rule.verdict(AGREED, 6).reason
    assert "no more than is asked for" in rule.verdict(AGREED, 6).reason


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
    st.booleans(),
    st.booleans(),
    st.integers(1, 30),
)
def test_gain_is_a_share_that_falls_with_confidence_and_rises_with_what_is_left(
    votes: list[int], sure: float, agrees: bool, changed: bool, left: int
) -> None:
    state = State(sum(votes), tuple(sorted(votes, reverse=True)), sure, agrees, changed)
    rule = ExpectedGain()
    gain, more = rule.gain(state, left), rule.gain(state, left + 1)
    assert 0 <= gain <= more <= 1
    assert rule.gain(replace(state, confidence=sure / 2), left) >= gain


def test_a_lower_price_or_a_smaller_loss_never_stops_earlier() -> None:
    for state in (AGREED, SPLIT):
        for name in ("price", "within"):
            found = [bool(ExpectedGain(**{name: value}).verdict(state, 6)) for value in (0.0, 0.01, 0.05, 0.5)]
            assert found == sorted(found, reverse=True)
    assert "than its price" in ExpectedGain(price=0.01).verdict(SPLIT, 6).reason


def test_where_nothing_is_known_it_goes_on_and_says_so() -> None:
    assert ExpectedGain().verdict(State(3), 6).reason == "no rollout has answered yet"
    silent = replace(AGREED, confidence=None)
    assert ExpectedGain(target=0.1).verdict(silent, 6)
    assert "no calibrated confidence" in ExpectedGain().verdict(silent, 6).reason


@pytest.mark.parametrize("wrong", [{"price": 0.1, "within": 0.1}, {"within": -1.0}, {"target": 2.0}])
def test_one_wish_between_0_and_1_is_taken(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="one of within, price and target"):
        ExpectedGain(**wrong)
