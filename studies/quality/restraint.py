"""What the selector overturns, with each family of agents left out: ``python -m studies.quality.restraint CACHE``.

Writes ``studies/results/restraint.csv``: by family and the column that weighs most for the choice, how often a
plurality was overturned, how often it was right, and how often what was chosen instead is; then by family and K the
gain in points over the vote by meaning, ties of which count as a fair draw. A column may only stay if it passes.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from studies import RESULTS
from studies.quality.ground import EVIDENT, FAMILIES, Cut, ground
from tracerank.evaluation.bootstrap import intervals
from tracerank.evidence.fit import fit_model
from tracerank.evidence.model import Logistic
from tracerank.evidence.selector import choose
from tracerank.evidence.table import FEATURES, VOTES

FIELDS = ("family", "k", "column", "times", "plurality_right", "chosen_right", "gain", "low", "high")
ALL = "all"


def model_without(cuts: Mapping[str, Sequence[Cut]], left_out: str) -> Logistic:
    """The recipe of what ships without a family."""
    kept = [family for family in EVIDENT if family != left_out]
    return fit_model([cut.table for family in kept for cut in cuts[family] if cut.has_answers])


def rows_of(family: str, cuts: Sequence[Cut], model: Logistic) -> Iterator[tuple[object, ...]]:
    overturned: dict[str, list[tuple[float, float]]] = defaultdict(list)
    gains: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cut in cuts:
        if cut.agent or not cut.has_answers:
            continue
        votes, right = cut.table.table.votes, cut.table.right
        is_largest = votes == votes.max()
        row = choose(model, cut.table.table).row
        gains[cut.k][cut.question].append(right[row] - right[is_largest].mean())
        if not is_largest[row] and is_largest.sum() == 1:
            top = int(votes.argmax())
            overturned[_column(model, cut, row, top)].append((right[top], right[row]))
    for column, pairs in sorted(overturned.items()):
        before, after = np.array(pairs).mean(axis=0)
        yield family, "", column, len(pairs), round(before, 3), round(after, 3), "", "", ""
    for k, by_question in sorted(gains.items()):
        means = np.array([np.mean(values) for values in by_question.values()])
        bounds = intervals(means[:, None])
        figures = (round(100 * float(each), 2) for each in (means.mean(), bounds.low[0], bounds.high[0]))
        yield family, k, ALL, len(means), "", "", *figures


def _column(model: Logistic, cut: Cut, row: int, other: int) -> str:
    own, rival = cut.table.table.named(row), cut.table.table.named(other)
    named = [feature.name for feature in FEATURES if feature.family != VOTES]
    return max(named, key=lambda name: model.weights[name] * (own[name] - rival[name]))


def main(arguments: Sequence[str]) -> None:
    cuts = ground(Path(arguments[0]))
    models = {family: model_without(cuts, family) for family in FAMILIES}
    with open(RESULTS / "restraint.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        for family, own in cuts.items():
            for row in rows_of(family, own, models[family]):
                table.writerow(row)
                print(*row, sep=", ")


if __name__ == "__main__":
    main(sys.argv[1:])
