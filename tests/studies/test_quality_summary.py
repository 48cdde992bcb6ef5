"""Means over the real sets by exact match; ``studies/quality/summary.py``."""

from collections.abc import Sequence

import numpy as np

from studies.quality.figures import STRONGEST
from studies.quality.methods import ABSTENTIONS_OUT, SHIPPED
from studies.quality.summary import OVER, WITH_QUERIES, mean_gains, means_table
from studies.quality.tables import Gain
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.labels import CONTAINS, EM


def gain_on(name: str, string: Sequence[float], k: int = 2, rule: str = EM, over: str = ABSTENTIONS_OUT) -> Gain:
    differences = np.stack([string, string], axis=1).astype(np.float64)
    bounds = intervals(100 * differences)
    return Gain(name, rule, k, SHIPPED, over, differences, bounds.low, bounds.high)


def compared(name: str, string: Sequence[float], k: int = 2) -> list[Gain]:
    """The same gain by every rule and over both votes."""
    return [gain_on(name, string, k, rule, over) for rule in (EM, CONTAINS) for over in OVER]


def everywhere(values: Sequence[float], ks: Sequence[int]) -> list[Gain]:
    sets = (*WITH_QUERIES, "hotpot_agent+")
    return [gain for name in sets for k in ks for gain in compared(name, values, k)]


def test_every_set_weighs_the_same_whatever_its_questions() -> None:
    gains = [*compared("search_r1", [0.0] * 30), *compared("fireact", [1.0, 0.0])]
    found = mean_gains(gains, WITH_QUERIES, (2,))[EM, ABSTENTIONS_OUT]
    assert found.sets == 2
    assert found.mean.tolist() == [25, 25]
    assert found.low[0] == 0
    assert found.high[0] == 50


def test_budgets_are_averaged_within_a_set_first() -> None:
    gains = [*compared("search_r1", [0.0]), *compared("fireact", [1.0]), *compared("fireact", [0.0], 3)]
    assert mean_gains(gains, WITH_QUERIES, (2, 3))[EM, ABSTENTIONS_OUT].mean.tolist() == [25, 25]


def test_each_rule_and_vote_has_its_own_mean() -> None:
    gains = [
        gain_on("search_r1", [figure], rule=rule, over=over)
        for figure, (rule, over) in enumerate((rule, over) for rule in (EM, CONTAINS) for over in OVER)
    ]
    found = mean_gains(gains, WITH_QUERIES, (2,))
    assert {pair: mean.mean[0] for pair, mean in found.items()} == {
        (EM, ABSTENTIONS_OUT): 0,
        (EM, STRONGEST): 100,
        (CONTAINS, ABSTENTIONS_OUT): 200,
        (CONTAINS, STRONGEST): 300,
    }


def test_sets_that_were_not_asked_for_do_not_count() -> None:
    assert mean_gains(compared("hotpot_agent+", [1.0]), WITH_QUERIES, (2,)) == {}


def test_a_budget_that_no_set_has_makes_no_row() -> None:
    rows = list(means_table(everywhere([0.1, 0.1], (2, 4))))
    assert [row for row in rows if row.startswith("| K=4 |")]
    assert not [row for row in rows if "K=3 |" in row or "K=10" in row]
