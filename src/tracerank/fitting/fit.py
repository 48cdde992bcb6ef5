"""``fit``: from labelled pools to the folder of the selector that is surely best on them, or of what ships.

report = fit(tr.iter_pools("labelled.jsonl"), "mine")
print(report.conclusion())
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.labels import AUTO, Labelling
from tracerank.evidence.confidence import shipped_confidence
from tracerank.fitting.calibrate import best_calibration, cases_of, subsets_of
from tracerank.fitting.candidates import SHIPPED, candidates_for
from tracerank.fitting.folder import FORMAT, README, REPORT, FitReport, write_records
from tracerank.fitting.nested import NestedValidation
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import is_draft, write_json, write_text
from tracerank.votes.base import Decision, decide_stream
from tracerank.votes.folders import ABOUT, CONFIDENCE, FITTED_ON, fitted_on, remember_fitted

FOLDS = 5
RECORDS = "records"
OWN = (REPORT, README, ABOUT, CONFIDENCE, FITTED_ON, RECORDS)
"""What a fit writes; a folder with anything else is refused."""


def fit(
    pools: Iterable[Pool],
    output: str | Path,
    *,
    labels: str | Labelling = AUTO,
    folds: int = FOLDS,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    on_step: Callable[[str], object] = lambda text: None,
) -> FitReport:
    """Compare the candidates by nested cross-validation, and write the winner's folder.

    ``settings`` describe the input; a finished folder with the same settings is returned as it is, one with others is
    refused unless ``force`` is set.
    """
    labelling = labels if isinstance(labels, Labelling) else Labelling(labels)
    folder = Path(output)
    identity = json.loads(json.dumps({**(settings or {}), "labels": labelling.name, "folds": folds, "seed": seed}))
    if (finished := _finished(folder, identity, force)) is not None:
        return FitReport(finished, is_new=False)
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
    write_records(folder / RECORDS, comparison, learned, labelling.record(), identity)
    sizes = list(map(len, learned))
    values = {
        "format": FORMAT,
        "winner": comparison.winner,
        "picked": comparison.final,
        "picks": list(comparison.picks),
        "rows": [asdict(row) for row in comparison.rows],
        "confidence": None if calibrated is None else calibrated.record(),
        "questions": comparison.questions,
        "pools": len(learned),
        "rollouts": [min(sizes), max(sizes)],
        "left_out": dict(left_out),
        "labels": dict(labelling.record()),
        "settings": identity,
    }
    report = FitReport(values, is_new=True)
    write_text(folder / README, report.card())
    write_json(folder / REPORT, values)
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


def _finished(folder: Path, settings: Mapping[str, Any], force: bool) -> dict[str, Any] | None:
    """The report of the same fit in the folder; refuses other contents, and removes those of another fit by force."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a folder")
    if not all(name in OWN or is_draft(name) for name in os.listdir(folder)):
        raise UsageError(f"{folder}: is not empty and holds no fit; choose another folder")
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        report = None
    if isinstance(report, dict) and report.get("format") == FORMAT and not force:
        if report.get("settings") == settings:
            return report
        raise UsageError(
            f"{folder}: holds a fit on other files or settings; choose another folder, or replace it with --force"
        )
    for name in OWN:  # of another fit, or of one that was interrupted
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return None
