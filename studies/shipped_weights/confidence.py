"""The confidence that ships: ``python -m studies.shipped_weights.confidence CACHE FOLDER`` writes confidence.json.

Fitted on what the selector's recipe returns on the tables of ``studies.quality.ground``, each family decided by a model
that was fitted without it. A run is a family, or one model of it, at one K; its level is how often two of its rollouts
agree.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from studies.quality.ground import FAMILIES, TTS, Cut, ground
from studies.quality.restraint import model_without
from tracerank.evidence.confidence import AGREEMENT, EVIDENCE, KIND, LEVEL, Calibration, agreement, grounds
from tracerank.evidence.level import log_odds
from tracerank.evidence.model import Logistic, fit_logistic
from tracerank.evidence.selector import choose

USED = (AGREEMENT, EVIDENCE, KIND, LEVEL)
"""Scores mean another thing in every method."""
L2, FAMILY_WEIGHT, TTS_SHARE = 3.0, 400.0, 0.25
"""Penalty of the weights of standardised columns; what all cases of a family weigh; each model of one set counts for a
quarter of a family."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Run:
    """The decisions of one agent at one K."""

    family: str
    """Left out as a whole when what is fitted without it is judged on it."""
    k: int
    level: float
    agreements: Sequence[float]
    """Of each pool; the level is their mean."""
    votes: Floats
    """The number of rollouts that agree with each answer that was returned."""
    grounds: Floats
    """[decisions, evidence and kind]"""
    right: Floats

    @property
    def share(self) -> Floats:
        return self.votes / self.k

    def rows(self, level: float | None = None) -> Floats:
        """[decisions, ``USED``], at another level than the agent's own if one is given."""
        taken = self.level if level is None else level
        first = [agreement(votes, self.k, taken) for votes in self.votes.tolist()]
        return np.column_stack([first, self.grounds, np.full(len(first), log_odds(taken))])


def agreement_of(cut: Cut) -> float:
    """The probability that two of its rollouts mean the same."""
    votes = cut.table.table.votes
    return float((votes * (votes - 1)).sum()) / (cut.k * (cut.k - 1))


def runs_of(family: str, cuts: Iterable[Cut], model: Logistic) -> list[Run]:
    """The runs of a family, decided by a model that was fitted without it."""
    by_run: dict[tuple[str, int], list[Cut]] = defaultdict(list)
    for cut in cuts:
        if cut.k > 1:
            by_run[cut.agent, cut.k].append(cut)
    runs = []
    for (agent, k), own in by_run.items():
        agreements = list(map(agreement_of, own))
        votes, reasons, right = [], [], []
        for cut in own:
            if cut.has_answers:
                table = cut.table.table
                row = choose(model, table).row
                votes.append(float(table.votes[row]))
                reasons.append(list(grounds(table.named(row), cut.has_evidence).values()))
                right.append(cut.table.right[row])
        name = f"{family} {agent or 'mixed'}" if family == TTS else family
        level = float(np.mean(agreements))
        runs.append(Run(name, k, level, agreements, np.array(votes), np.array(reasons), np.array(right)))
    return runs


def all_runs(cuts: Mapping[str, Sequence[Cut]]) -> list[Run]:
    return [run for name in FAMILIES for run in runs_of(name, cuts[name], model_without(cuts, name))]


def fit_runs(runs: Sequence[Run]) -> Logistic:
    """One model of all runs; those of a family share its weight."""
    count: dict[str, int] = defaultdict(int)
    for run in runs:
        count[run.family] += 1
    rows, right = np.concatenate([run.rows() for run in runs]), np.concatenate([run.right for run in runs])
    parts = [
        FAMILY_WEIGHT * (TTS_SHARE if TTS in run.family else 1.0) / count[run.family] / len(run.right) for run in runs
    ]
    weights = np.repeat(parts, [len(run.right) for run in runs])
    center = np.average(rows, axis=0, weights=weights)
    scale = np.sqrt(np.average((rows - center) ** 2, axis=0, weights=weights))
    inputs = np.column_stack([(rows - center) / scale, np.ones(len(rows))])
    found = fit_logistic(inputs, right, weights, np.append(np.full(len(USED), L2), 1e-3))
    raw = found[:-1] / scale
    return Logistic(dict(zip(USED, raw.tolist(), strict=True)), float(found[-1] - raw @ center))


def main(arguments: Sequence[str]) -> None:
    cache, out = Path(arguments[0]), Path(arguments[1])
    runs = all_runs(ground(cache, FAMILIES))
    about = {"families": sorted({run.family for run in runs}), "cases": sum(len(run.right) for run in runs)}
    confidence = Calibration(fit_runs(runs), training=about)
    confidence.save(out)
    print(f"{out}: {confidence.model}")


if __name__ == "__main__":
    main(sys.argv[1:])
