"""Means over sets and the marks on top of docs/quality.md; ``studies/quality/summary.py``."""

from collections.abc import Sequence

import numpy as np
import pytest

from studies.quality.figures import STRONGEST
from studies.quality.methods import CONTAINMENT, MAJORITY, OVER_VOTES, SHIPPED
from studies.quality.summary import WITH_QUERIES, marks_table, mean_gains, means_table, summary
from studies.quality.tables import Gain
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.labels import CONTAINS, EM


def gain_on(name: str, string: Sequence[float], k: int = 2, rule: str = EM, over: str = CONTAINMENT) -> Gain:
    differences = np.stack([string, string], axis=1).astype(np.float64)
    bounds = intervals(100 * differences)
    return Gain(name, rule, k, SHIPPED, over, differences, bounds.low, bounds.high)


def compared(name: str, string: Sequence[float], k: int = 2) -> list[Gain]:
    """The same gain by every rule and over both votes."""
    return [gain_on(name, string, k, rule, over) for rule in (EM, CONTAINS) for _, over in OVER_VOTES]


def everywhere(values: Sequence[float], ks: Sequence[int]) -> list[Gain]:
    sets = (*WITH_QUERIES, "hotpot_agent+")
    return [gain for name in sets for k in ks for gain in compared(name, values, k)]


def test_every_set_weighs_the_same_whatever_its_questions() -> None:
    gains = [*compared("search_r1", [0.0] * 30), *compared("fireact", [1.0, 0.0])]
    found = mean_gains(gains, WITH_QUERIES, (2,))[EM, CONTAINMENT]
    assert found.sets == 2
    assert found.mean.tolist() == [25, 25]
    assert found.low[0] == 0
    assert found.high[0] == 50


def test_budgets_are_averaged_within_a_set_first() -> None:
    gains = [*compared("search_r1", [0.0]), *compared("fireact", [1.0]), *compared("fireact", [0.0], 3)]
    assert mean_gains(gains, WITH_QUERIES, (2, 3))[EM, CONTAINMENT].mean.tolist() == [25, 25]


def test_each_rule_and_vote_has_its_own_mean() -> None:
    gains = [
        gain_on("search_r1", [figure], rule=rule, over=over)
        for figure, (rule, over) in enumerate((rule, over) for rule in (EM, CONTAINS) for _, over in OVER_VOTES)
    ]
    found = mean_gains(gains, WITH_QUERIES, (2,))
    assert {pair: mean.mean[0] for pair, mean in found.items()} == {
        (EM, CONTAINMENT): 0,
        (EM, STRONGEST): 100,
        (CONTAINS, CONTAINMENT): 200,
        (CONTAINS, STRONGEST): 300,
    }


def test_sets_that_were_not_asked_for_do_not_count() -> None:
    assert mean_gains(compared("hotpot_agent+", [1.0]), WITH_QUERIES, (2,)) == {}


def test_a_budget_that_no_set_has_makes_no_row() -> None:
    rows = list(means_table(everywhere([0.1, 0.1], (2, 4))))
    assert [row for row in rows if row.startswith("| K=4 |")]
    assert not [row for row in rows if "K=3 |" in row or "K=10" in row]


@pytest.mark.parametrize(("gain", "reached"), [(0.05, "yes"), (0.03, "**no**")])
def test_a_mark_is_reached_from_its_least_gain_on(gain: float, reached: str) -> None:
    rows = list(marks_table(everywhere([gain] * 20, (2, 3, 4))))
    mark = next(row for row in rows if "exact match: at least +4 over vote (a)" in row)
    assert mark.endswith(f"| {reached} |")


def test_a_gain_that_may_be_luck_reaches_no_mark() -> None:
    rows = list(marks_table(everywhere([1.0, -0.9], (2, 3, 4))))
    mark = next(row for row in rows if "exact match: at least +4 over vote (a)" in row)
    assert "+5.0" in mark
    assert mark.endswith("| **no** |")


def test_a_set_that_is_surely_below_the_vote_is_named() -> None:
    gains = [*everywhere([0.1] * 20, (2,)), gain_on("fireact", [-0.2] * 20, 3)]
    rows = [row for row in marks_table(gains) if "exact match: no set below" in row]
    assert "fireact K=3 string -20.0" in rows[0]
    assert rows[0].endswith("| **no** |")
    assert rows[1].endswith("| yes |")


def test_lexical_marks_are_against_majority() -> None:
    gains = [gain_on("lexical:base", [0.03] * 9, k, over=MAJORITY) for k in (4, 16)]
    rows = [row for row in marks_table(gains) if row.startswith("| lexical")]
    assert [row.rpartition(" | ")[2] for row in rows] == ["**no** |", "yes |"]


def test_nothing_finished_makes_no_summary() -> None:
    assert summary([]) == []
