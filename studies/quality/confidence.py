"""Calibration of the confidence, families of agents left out: ``python -m studies.quality.confidence CACHE``.

Writes ``studies/results/confidence.csv``: by agent and K what is right, what the confidence says on the basis of the
agent's unlabelled pools, and scoring rules beside those of the share of votes. Families of ``ground.py`` are each left
out of both fits; agents of ``sets.py``, which are in no fit, have what ships. ``level_of`` ten: the level is estimated
from ten random pools; the mean over draws.
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np

from studies import RESULTS
from studies.quality.ground import FAMILIES, Cut, cuts_of, ground, read_cuts, write_cuts
from studies.quality.sets import UNSEEN, chat, real
from studies.shipped_weights.confidence import Run, all_runs, fit_runs, runs_of
from tracerank.evaluation.calibration import reliability
from tracerank.evidence.confidence import shipped_confidence
from tracerank.evidence.model import Logistic, sigmoid
from tracerank.evidence.selector import EvidenceSelector
from tracerank.methods import load_selector

FIELDS = (
    *("agent", "k", "level_of", "level", "answered", "right", "confidence", "brier", "votes_brier", "ece", "auroc"),
    "votes_auroc",
)
TEN, DRAWS, MIN_ANSWERED = 10, 20, 50
CHAT = "chat agent, 1.5B"


def unseen_cuts(folder: Path, name: str) -> list[Cut]:
    """Pools of an agent that is in no fit, from the cache or made."""
    file = folder / f"unseen-{name.replace(' ', '-')}.npz"
    if not file.exists():
        pools = chat(folder) if name == CHAT else real(name, folder)
        write_cuts(file, [cut for pool in pools for cut in cuts_of(name, pool)])
    return read_cuts(file)


def judged_runs(cache: Path) -> Iterator[tuple[Run, Logistic]]:
    """Each run with the model of the confidence that was fitted without it."""
    runs = all_runs(ground(cache, FAMILIES))
    for family in dict.fromkeys(run.family for run in runs):
        model = fit_runs([run for run in runs if run.family != family])
        yield from ((run, model) for run in runs if run.family == family)
    selector = load_selector()
    assert isinstance(selector, EvidenceSelector)
    for name in (*UNSEEN, CHAT):
        for run in runs_of(name, unseen_cuts(cache, name), selector.model):
            yield run, shipped_confidence().model


def row(run: Run, model: Logistic, levels: Sequence[float], level_of: str) -> tuple[object, ...]:
    """The mean over levels that were estimated."""
    figures, weights = [], np.array(list(model.weights.values()))
    for level in levels:
        said = np.array(list(map(sigmoid, (run.rows(level) @ weights + model.bias).tolist())))
        found, votes = reliability(said, run.right), reliability(run.share, run.right)
        figures.append(
            (found.accuracy, found.confidence, found.brier, votes.brier, found.ece, found.auroc, votes.auroc)
        )
    means = (round(float(value), 3) for value in np.mean(np.array(figures, np.float64), axis=0))
    return run.family, run.k, level_of, round(float(np.mean(levels)), 3), len(run.right), *means


def main(arguments: Sequence[str]) -> None:
    with open(RESULTS / "confidence.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        for run, model in judged_runs(Path(arguments[0])):
            if len(run.right) < MIN_ANSWERED:
                continue
            rng = Random(run.family)
            few = [float(np.mean(rng.sample(run.agreements, TEN))) for _ in range(DRAWS)]
            for levels, level_of in (([run.level], "all"), (few, "ten")):
                found = row(run, model, levels, level_of)
                table.writerow(found)
                print(*found, sep=", ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
