"""Mean gains over the real sets by exact match and by containment. Decides and fits nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from studies.quality.figures import STRONGEST, Figures
from studies.quality.methods import ABSTENTIONS_OUT, SHIPPED
from studies.quality.pools import BUDGETS
from studies.quality.tables import Gain, with_interval
from studies.shipped_weights.real_pools import MAY_TRAIN
from tracerank.evaluation.bootstrap import LEVEL, resampled_means
from tracerank.evaluation.labels import CONTAINS, EM

WITH_QUERIES = ("search_r1", "hotpot_agent", *MAY_TRAIN)
SEARCHED_AGAIN = ("search_r1", "hotpot_agent+", *MAY_TRAIN)
"""The same agents; one of them logged no evidence, and is shown what its queries find."""
SMALL, LARGE = (2, 3, 4), (8, 10)
OVER = {ABSTENTIONS_OUT: "vote (a)", STRONGEST: "vote (b)"}
STRING, GROUP = 0, 1


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of gains over sets, each weighing the same, in points."""

    sets: int
    mean: Figures
    """String, group."""
    low: Figures
    high: Figures

    def cell(self, of: int) -> str:
        return with_interval(self.mean[of], self.low[of], self.high[of])

    def __str__(self) -> str:
        return f"{self.cell(STRING)} / {self.cell(GROUP)}"


Compared = tuple[str, str]
"""Rule of labels and the vote that the shipped selector is compared with."""
COMPARED: tuple[Compared, ...] = tuple((rule, over) for rule in (EM, CONTAINS) for over in OVER)


def mean_gains(gains: Sequence[Gain], sets: Sequence[str], ks: Sequence[int]) -> dict[Compared, Mean]:
    """Of the shipped selector: over the budgets of a set, then over sets; questions are resampled within sets."""
    columns = [of_set for name in sets if (of_set := _differences(gains, name, ks)) is not None]
    if not columns:
        return {}
    resampled = np.mean([resampled_means(values, seed) for seed, values in enumerate(columns)], axis=0)
    tail = (1 - LEVEL) / 2
    means, (low, high) = np.mean([v.mean(axis=0) for v in columns], axis=0), np.quantile(resampled, (tail, 1 - tail), 0)
    places = {pair: slice(2 * place, 2 * place + 2) for place, pair in enumerate(COMPARED)}
    return {pair: Mean(len(columns), means[at], low[at], high[at]) for pair, at in places.items()}


def _differences(gains: Sequence[Gain], name: str, ks: Sequence[int]) -> Figures | None:
    """(questions, string and group of each comparison) in points; None: the set has none of these budgets."""
    own = [gain for gain in gains if gain.set == name and gain.ours == SHIPPED and gain.k in ks]
    found = [[g.differences for g in own if (g.rule, g.over) == pair] for pair in COMPARED]
    return 100 * np.hstack([np.mean(by_k, axis=0) for by_k in found]) if all(found) else None


def means_table(gains: Sequence[Gain]) -> Iterator[str]:
    """The shipped selector over both votes by K, by both rules of labels."""
    words = {EM: "exact match", CONTAINS: "containment"}
    headings = [f"{words[rule]}, over {OVER[over]}" for rule, over in COMPARED]
    yield "| shipped default, string / group | sets | " + " | ".join(headings) + " |"
    yield "|---" * (len(headings) + 2) + "|"
    for sets, note in ((WITH_QUERIES, ""), (SEARCHED_AGAIN, ", hotpot_agent+")):
        for ks in (*((k,) for k in BUDGETS), SMALL, LARGE):
            found = mean_gains(gains, sets, ks)
            if found:
                count = found[COMPARED[0]].sets
                yield f"| {_budgets(ks)}{note} | {count} | " + " | ".join(map(str, found.values())) + " |"


def _budgets(ks: Sequence[int]) -> str:
    return f"K={ks[0]}" if len(ks) == 1 else f"K={ks[0]} to {ks[-1]}"
