"""``fit``: from labelled pools to the folder of the selector that is surely best on them, or of what ships.

report = fit(tr.iter_pools("labelled.jsonl"), "mine")
print(report.conclusion())
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from tracerank.errors import UsageError
from tracerank.evaluation.labels import AUTO, Labelling
from tracerank.evidence.confidence import shipped_confidence
from tracerank.fitting.calibrate import best_calibration, cases_of, subsets_of
from tracerank.fitting.candidates import SHIPPED, candidates_for
from tracerank.fitting.folder import README, REPORT, FitReport
from tracerank.fitting.nested import NestedValidation
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import is_draft, write_json, write_text
from tracerank.votes.base import Decision, decide_stream
from tracerank.votes.folders import ABOUT, CONFIDENCE, FITTED_ON, fitted_on, remember_fitted

FORMAT = "tracerank-fit/3"
FOLDS = 5
OWN = (REPORT, README, ABOUT, CONFIDENCE, FITTED_ON)
"""What a fit writes; a folder with anything else is refused."""


def fit(
    pools: Iterable[Pool],
    output: str | Path,
    *,
    labels: str | Labelling = AUTO,
    folds: int = FOLDS,
    seed: int = 0,
    force: bool = False,
    on_step: Callable[[str], object] = lambda text: None,
) -> FitReport:
    """Compare the candidates by nested cross-validation, and write the winner's folder.

    A folder with a finished fit is refused unless ``force`` is set.
    """
    labelling = labels if isinstance(labels, Labelling) else Labelling(labels)
    folder = Path(output)
    clear_folder(folder, force)
    learned, left_out = labelled_pools(pools, labelling)
    on_step("reading evidence")
    validation = NestedValidation(learned, candidates_for(learned, seed), folds, seed, on_step)
    comparison = validation.run()
    on_step("confidence")
    cases = cases_of(_held_out(validation, comparison.winner, seed))
    calibrated = best_calibration(cases) if cases.is_enough else None
    selector = validation.candidates[comparison.winner].fit(range(len(learned)))
    # Written first: without it the selector's own questions would count as new ones.
    known = fitted_on(SHIPPED) if comparison.winner == SHIPPED else None
    remember_fitted(folder, (pool.question.text for pool in learned), known)
    selector.save(folder)
    if calibrated is not None and calibrated.calibration is not None:
        calibrated.calibration.save(folder)
    sizes = list(map(len, learned))
    values = {
        "format": FORMAT,
        "winner": comparison.winner,
        "picked": comparison.final,
        "picks": list(comparison.picks),
        "rows": [asdict(row) for row in comparison.rows.values()],
        "confidence": None if calibrated is None else calibrated.record(),
        "questions": validation.questions,
        "pools": len(learned),
        "rollouts": [min(sizes), max(sizes)],
        "left_out": dict(left_out),
        "labels": dict(labelling.record()),
        "folds": folds,
        "seed": seed,
    }
    report = FitReport(values)
    write_text(folder / README, report.card())
    write_json(folder / REPORT, values)  # last: its presence means that the folder is complete
    return report


def labelled_pools(pools: Iterable[Pool], labelling: Labelling) -> tuple[list[Pool], Counter[str]]:
    """Pools with a label on every rollout, and the number of others by reason."""
    kept, left_out = list[Pool](), Counter[str]()
    for pool in labelling.pools(pools):
        right = [correctness(rollout, pool.question.references) for rollout in pool.rollouts]
        if right and None not in right:
            rollouts = (replace(rollout, label=label) for rollout, label in zip(pool.rollouts, right, strict=True))
            kept.append(Pool.of(pool.question, rollouts))
        else:
            left_out["some answers without a label" if any(right) else "no label"] += 1
    if not kept:
        raise UsageError(
            f"none of {left_out.total():,} questions is labelled; give pools with labels, or with references to "
            "compare answers with"
        )
    return kept, left_out


def _held_out(validation: NestedValidation, winner: str, seed: int) -> Iterator[tuple[Pool, Decision]]:
    """The winner's decisions on folds that it was not fitted on, with the confidence that ships."""
    shipped = shipped_confidence()
    for train, held_out in validation.parts:
        selector = validation.candidates[winner].fit(train)
        cut = (subset for index in held_out for subset in subsets_of(validation.pools[index], seed))
        yield from ((pool, shipped.calibrate(pool, decision)) for pool, decision in decide_stream(selector, cut))


def clear_folder(folder: Path, force: bool) -> None:
    """Remove what an interrupted fit has left, or by force a finished one; refuses any other contents."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a folder")
    if not all(name in OWN or is_draft(name) for name in os.listdir(folder)):
        raise UsageError(f"{folder}: is not empty and holds no fit; choose another folder")
    if (folder / REPORT).exists() and not force:
        raise UsageError(f"{folder}: holds a fit; choose another folder, or replace it with --force")
    for name in OWN:
        (folder / name).unlink(missing_ok=True)
